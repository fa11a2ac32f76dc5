// SPDX-License-Identifier: Apache-2.0
//
// Regions of feature maps and boxes, which the graph has or only the run.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "tests/engine/gpu_acc/on_device.h"

namespace halyard::engine::gpu_test {
namespace {

using ref_test::floats;
using ref_test::ints;
using ref_test::kNan;

TensorType coordinatesFor(DataType type, const Shape& shape) {
    return isFloat(type) ? typeOf(type, shape) : typeOf(DataType::QUANT16_ASYMM, shape, 0.125F, 0);
}

// Numbers that the type has, or the nearest to them.
Values stored(const TensorType& type, const std::vector<float>& numbers) {
    if (type.type == DataType::FLOAT32) {
        return floats(type.shape, numbers);
    }
    if (type.type == DataType::FLOAT16) {
        return ref_test::halves(type.shape, numbers);
    }
    std::vector<int32_t> elements;
    for (const float number : numbers) {
        elements.push_back(static_cast<int32_t>(std::round(number / type.quantization.scale)));
    }
    return ref_test::quantized(type, elements);
}

// Boxes with their corners in [least, most] of either axis.
Values randomBoxes(RandomValues& random, DataType type, int32_t count, float least, float most) {
    std::vector<float> corners;
    for (int32_t i = 0; i < count; ++i) {
        float box[] = {random.real(least, most), random.real(least, most), random.real(least, most),
                       random.real(least, most)};
        for (const int axis : {0, 1}) {
            if (box[axis] > box[axis + 2]) {
                std::swap(box[axis], box[axis + 2]);
            }
        }
        corners.insert(corners.end(), box, box + 4);
    }
    return stored(coordinatesFor(type, {count, 4}), corners);
}

Values randomBatches(RandomValues& random, int32_t count, int32_t batches) {
    std::vector<int32_t> all(static_cast<size_t>(count));
    std::ranges::generate(all, [&] { return random.integer(0, batches - 1); });
    return ints({count}, all);
}

TEST(GpuAccRegions, AlignsAsTheReference) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : kReals) {
        for (int round = 0; round < 4; ++round) {
            const RoiAlign node = {.height = random.integer(1, 4),
                                   .width = random.integer(1, 4),
                                   .heightRatio = random.real(0.5F, 2.0F),
                                   .widthRatio = random.real(0.5F, 2.0F),
                                   .samplesH = random.integer(0, 3),
                                   .samplesW = random.integer(0, 3)};
            const TensorType x = randomType(random, type, {2, 9, 11, 5});
            // Also beyond the feature map, on either side where numbers can be negative.
            const float least = isFloat(type) ? -15.0F : 0.0F;
            ASSERT_TRUE(agreesWithControlInputs(
                    node,
                    {randomValues(random, x), randomBoxes(random, type, 20, least, 40.0F),
                     randomBatches(random, 20, 2)},
                    {randomType(random, type, {})}, 2e-5))
                    << toString(NodeDescriptor(node)) << " of " << x.toString();
        }
    }
}

TEST(GpuAccRegions, EndsWithRegionsFarLargerThanTheFeatureMap) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    const Values x = randomValues(random, typeOf(DataType::FLOAT32, {1, 5, 6, 2}));
    const Values boxes = floats({4, 4}, {-1e9F, -1e9F, 1e9F, 1e9F, -1e37F, -1e37F, 1e37F, 1e37F,  //
                                         -1000, -300, 2000, 7, 5.5F, 4.5F, 1e6F, 1e5F});
    for (const RoiAlign& node : {RoiAlign(), RoiAlign{.height = 3, .width = 7}}) {
        ASSERT_TRUE(
                agreesWithControlInputs(node, {x, boxes, ints({4}, {0, 0, 0, 0})}, {x.type}, 1e-5));
    }
}

TEST(GpuAccRegions, PoolsAsTheReference) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : kReals) {
        for (int round = 0; round < 3; ++round) {
            const RoiPool node = {.height = random.integer(1, 5),
                                  .width = random.integer(1, 5),
                                  .heightRatio = random.real(0.5F, 2.0F),
                                  .widthRatio = random.real(0.5F, 2.0F)};
            const TensorType x = randomType(random, type, {2, 9, 11, 5});
            const float most = 8.75F * std::min(node.heightRatio, node.widthRatio);
            ASSERT_TRUE(agreesWithControlInputs(
                    node,
                    {randomValues(random, x), randomBoxes(random, type, 20, 0.0F, most),
                     randomBatches(random, 20, 2)},
                    {x}))
                    << toString(NodeDescriptor(node)) << " of " << x.toString();
        }
    }
}

TEST(GpuAccRegions, NamesTheFirstRegionThatIsMalformed) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    const Values x = randomValues(random, typeOf(DataType::FLOAT32, {2, 5, 6, 3}));
    const auto check = [&](const std::vector<float>& box, int32_t batch) {
        std::vector<float> boxes = {0, 0, 1, 1, 0, 0, 4, 4, 1, 1, 2, 2, 3, 3, 1, 1};
        std::ranges::copy(box, boxes.begin() + 4);
        const std::vector<std::optional<Values>> inputs = {x, floats({4, 4}, boxes),
                                                           ints({4}, {0, batch, 1, 0})};
        ASSERT_TRUE(agreesWithControlInputs(RoiAlign(), inputs, {x.type}));
        ASSERT_TRUE(agreesWithControlInputs(RoiPool(), inputs, {x.type}));
    };
    const float infinity = std::numeric_limits<float>::infinity();
    check({0, 0, 4, 4}, 2);
    check({0, 0, 4, 4}, -1);
    check({3, 0, 2, 4}, 0);
    check({0, 3, 2, 2}, 0);
    check({0, 0, kNan, 2}, 0);
    check({0, 0, 1, infinity}, 0);
    check({0, 0, 1, 6}, 0);   // beyond, where maxima are taken
    check({-1, 0, 1, 1}, 0);  // the same
    EXPECT_EQ(refusal(RoiAlign{.samplesH = 129}, {x, floats({1, 4}, {0, 0, 1, 1}), ints({1}, {0})},
                      {x.type}),
              "takes no more than 128 samples of a bin");
    ASSERT_TRUE(
            agreesWithControlInputs(RoiAlign(), {x, floats({0, 4}, {}), ints({0}, {})}, {x.type}));
}

TEST(GpuAccRegions, MovesBoxesAsTheReference) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : kReals) {
        // Corners are differences of numbers as large as the feature map.
        const std::optional<double> tolerance =
                type == DataType::FLOAT32 ? std::optional(1e-4) : std::nullopt;
        const TensorType deltas = randomType(random, type, {20, 12}, 0.01F);
        const Values images = stored(coordinatesFor(type, {3, 2}), {64, 80, 50, 40, 30, 60});
        ASSERT_TRUE(agreesWithControlInputs(
                BoxTransform(),
                {randomBoxes(random, type, 20, 0.0F, 70.0F), randomValues(random, deltas),
                 randomBatches(random, 20, 3), images},
                {coordinatesFor(type, {})}, tolerance))
                << deltas.toString();
    }
    const auto check = [](const std::vector<float>& box, int32_t batch) {
        ASSERT_TRUE(agreesWithControlInputs(BoxTransform(),
                                            {floats({1, 4}, box), floats({1, 4}, {0, 0, 0, 0}),
                                             ints({1}, {batch}), floats({1, 2}, {8, 8})},
                                            {ref_test::kFloat}));
    };
    check({1, 1, 1, 1}, 0);
    check({1, 1, 2, 2}, 1);
    check({1, 1, 2, 2}, -1);
    check({1, 1, 0, 2}, 0);
    check({1, 1, 2, kNan}, 0);
}

TEST(GpuAccRegions, FindsKeypointsAsTheReference) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : kReals) {
        for (const int32_t size : {2, 9}) {
            const TensorType x = randomType(random, type, {6, size, size, 4});
            // Where the surface is nearly flat, a last bit moves its peak.
            ASSERT_TRUE(agreesWithControlInputs(
                    HeatmapMaxKeypoint(),
                    {randomValues(random, x), randomBoxes(random, type, 6, 0.0F, 60.0F)},
                    {randomType(random, type, {}), coordinatesFor(type, {})}, 1e-4))
                    << x.toString();
        }
    }
    const Values x = randomValues(random, typeOf(DataType::FLOAT32, {2, 4, 4, 1}));
    ASSERT_TRUE(agreesWithControlInputs(
            HeatmapMaxKeypoint(), {x, floats({2, 4}, {0, 0, 1, 1, 2, 2, 1, 3})}, {x.type, x.type}));
}

}  // namespace
}  // namespace halyard::engine::gpu_test
