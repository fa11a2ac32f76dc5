// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/engine/reference/evaluation.h"

namespace halyard::engine::ref_test {
namespace {

// ---- L2Normalize --------------------------------------------------------------------------------

const std::vector<float> kVectors = {3, 4, 0, 0, 0, 0, 1, 2, -2};

TEST(L2NormalizeRef, DividesByTheLength) {
    EXPECT_TRUE(holds(evaluate(L2Normalize(), {floats({3, 3}, kVectors)}, kFloat),
                      {0.6, 0.8, 0, 0, 0, 0, 1.0 / 3, 2.0 / 3, -2.0 / 3}, 1e-6));
    EXPECT_TRUE(holds(evaluate(L2Normalize{.axis = 0}, {floats({3, 3}, kVectors)}, kFloat),
                      {0.948683298, 0.894427191, 0, 0, 0, 0, 0.316227766, 0.447213595, -1}, 1e-6));
    EXPECT_TRUE(
            holds(evaluate(L2Normalize(), {halves({1, 2}, {3, 4})}, typeOf(DataType::FLOAT16, {})),
                  {0.6, 0.8}, 1e-3));
}

TEST(L2NormalizeRef, TakesQuantisedElements) {
    // 3, 4, 0; zeros; 1, 2, -2; and one whose squares go beyond int32's reach of a byte's.
    const Values x = quantized(typeOf(DataType::QUANT8_ASYMM, {4, 3}, 0.5F, 100),
                               {106, 108, 100, 100, 100, 100, 102, 104, 96, 0, 100, 100});
    EXPECT_TRUE(holds(
            evaluate(L2Normalize(), {x}, typeOf(DataType::QUANT8_ASYMM, {}, 1.0F / 128.0F, 128)),
            {205, 230, 128, 128, 128, 128, 171, 213, 43, 0, 128, 128}));
    const Values s =
            quantized(typeOf(DataType::QUANT8_ASYMM_SIGNED, {1, 3}, 0.5F, -28), {-22, -20, -28});
    EXPECT_TRUE(holds(evaluate(L2Normalize(), {s},
                               typeOf(DataType::QUANT8_ASYMM_SIGNED, {}, 1.0F / 128.0F, 0)),
                      {77, 102, 0}));
}

TEST(L2NormalizeRef, PassesNanOn) {
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(holds(evaluate(L2Normalize(), {floats({2, 2}, {1, kNan, 3, 4})}, kFloat),
                      {kNan, kNan, 0.6, 0.8}, 1e-6));
}

// ---- LocalResponseNormalize: numpy, in double precision -----------------------------------------

TEST(LocalResponseNormalizeRef, SumsTheNeighboursSquares) {
    const Values x = floats({1, 6}, {1, -2, 3, 0.5F, 4, -1});
    LocalResponseNormalize node = {.radius = 1, .bias = 2.0F, .alpha = 0.5F, .beta = 0.75F};
    EXPECT_TRUE(
            holds(evaluate(node, {x}, kFloat),
                  {0.323661181, -0.384900179, 0.596076399, 0.0668571868, 0.679693767, -0.171438369},
                  1e-6));
    node.radius = 0;
    EXPECT_TRUE(
            holds(evaluate(node, {x}, kFloat),
                  {0.502973372, -0.707106781, 0.736946969, 0.284086636, 0.711311764, -0.502973372},
                  1e-6));
    node.radius = std::numeric_limits<int32_t>::max();
    EXPECT_TRUE(
            holds(evaluate(node, {x}, kFloat),
                  {0.116252729, -0.232505458, 0.348758186, 0.0581263644, 0.465010915, -0.116252729},
                  1e-6));
}

// The first of two axes, so that neighbours are two elements apart.
TEST(LocalResponseNormalizeRef, GoesAlongItsAxis) {
    const LocalResponseNormalize node = {
            .radius = 1, .bias = 1.0F, .alpha = 1.0F, .beta = 1.0F, .axis = 0};
    EXPECT_TRUE(holds(
            evaluate(node, {halves({3, 2}, {1, 0, 2, 4, 0, 2})}, typeOf(DataType::FLOAT16, {})),
            {1.0 / 6, 0, 2.0 / 6, 4.0 / 21, 0, 2.0 / 21}, 1e-3));
}

// ---- InstanceNormalize: numpy, in double precision ----------------------------------------------

TEST(InstanceNormalizeRef, TakesEveryChannelOfEveryFeatureMapAlone) {
    const std::vector<float> featureMaps = {0, 1, 2, -3, 4, 5, -6, 7, 1, 1, 1, 1, 1, 1, 1, 1};
    const std::vector<double> expected = {0.5,        -0.281106988, 1.56900679,  -2.36405896,
                                          2.63801358, 1.80184498,   -2.70702037, 2.84332096,
                                          0.5,        0.5,          0.5,         0.5,
                                          0.5,        0.5,          0.5,         0.5};
    const InstanceNormalize node = {.gamma = 2.0F, .beta = 0.5F, .epsilon = 1e-3F};
    EXPECT_TRUE(holds(evaluate(node, {floats({2, 2, 2, 2}, featureMaps)}, kFloat), expected, 2e-6));
    EXPECT_TRUE(holds(
            evaluate(node, {halves({2, 2, 2, 2}, featureMaps)}, typeOf(DataType::FLOAT16, {})),
            expected, 2e-3));
}

TEST(InstanceNormalizeRef, AcceptsNoFeatureMaps) {
    EXPECT_TRUE(holds(evaluate(InstanceNormalize(), {floats({0, 2, 2, 1}, {})}, kFloat), {}));
}

// ---- LayerNormalize: numpy, in double precision -------------------------------------------------

const std::vector<float> kLayers = {1, 2, 4, -3, 0.5, 0.25, -1, 2};
const std::vector<float> kGamma = {1, -2, 0.5, 3};
const std::vector<float> kBeta = {0.1F, 0, -1, 2};
const std::vector<double> kNormal = {0,
                                     0.3849001794597505,
                                     1.1547005383792515,
                                     -1.539600717839002,
                                     0.053074489243427524,
                                     -0.15922346773028256,
                                     -1.220713252598833,
                                     1.3268622310856881};

TEST(LayerNormalizeRef, MakesEachRowNormal) {
    const std::vector<double> expected = {0.1,
                                          -0.769800358919501,
                                          -0.42264973081037427,
                                          -2.618802153517006,
                                          0.15307448924342754,
                                          0.31844693546056513,
                                          -1.6103566262994164,
                                          5.980586693257065};
    const LayerNormalize node = {.epsilon = 0.25F};
    EXPECT_TRUE(holds(
            evaluate(node, {floats({2, 4}, kLayers), floats({4}, kGamma), floats({1, 4}, kBeta)},
                     kFloat),
            expected, 2e-6));
    EXPECT_TRUE(
            holds(evaluate(node, {halves({2, 4}, kLayers), halves({4}, kGamma), halves({4}, kBeta)},
                           typeOf(DataType::FLOAT16, {})),
                  expected, 3e-3));
    EXPECT_TRUE(holds(evaluate(node, {floats({2, 4}, kLayers)}, kFloat), kNormal, 2e-6));
}

TEST(LayerNormalizeRef, TakesAllAxesFromOneOnTogether) {
    EXPECT_TRUE(holds(
            evaluate(LayerNormalize{.epsilon = 0.25F, .axis = 1}, {floats({1, 2, 4}, kLayers)},
                     kFloat),
            {0.13810244863779614, 0.629133377127738, 1.6111952341076217, -1.8260212653219712,
             -0.10741301560717478, -0.23017074772966023, -0.8439594083420875, 0.629133377127738},
            2e-6));
}

TEST(LayerNormalizeRef, AcceptsNoRows) {
    EXPECT_TRUE(holds(evaluate(LayerNormalize(), {floats({0, 4}, {})}, kFloat), {}));
    EXPECT_TRUE(holds(evaluate(LayerNormalize(), {floats({4, 0}, {})}, kFloat), {}));
}

}  // namespace
}  // namespace halyard::engine::ref_test
