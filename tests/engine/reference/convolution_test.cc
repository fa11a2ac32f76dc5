// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "tests/engine/reference/evaluation.h"
#include "tests/engine/reference/random_values.h"

namespace halyard::engine::ref_test {
namespace {

// A convolution in double precision on real numbers, by the definition with an explicit border:
// groups == 1 is Conv2d, groups == channels of x is depthwise. `filter(o, i, j, c)` is the weight.
struct Geometry {
    Window2d window;
    Shape x;
    int32_t filterH = 1;
    int32_t filterW = 1;
    int32_t channels = 1;
    int32_t multiplier = 0;  // 0: not depthwise
};

Shape filterShape(const Geometry& g) {
    return g.multiplier > 0 ? Shape{1, g.filterH, g.filterW, g.channels}
                            : Shape{g.channels, g.filterH, g.filterW, g.x[3]};
}

int32_t outputExtent(PaddingScheme scheme, int32_t input, int32_t filter, int32_t stride,
                     int32_t dilation, int32_t& before, int32_t after) {
    const int32_t reach = (filter - 1) * dilation + 1;
    if (scheme == PaddingScheme::SAME) {
        const int32_t output = (input + stride - 1) / stride;
        before = std::max(0, (output - 1) * stride + reach - input) / 2;
        return output;
    }
    if (scheme == PaddingScheme::VALID) {
        before = 0;
        after = 0;
    }
    return (input + before + after - reach) / stride + 1;
}

std::vector<double> convolve(const Geometry& g, const std::vector<double>& x,
                             const std::vector<double>& filter, const std::vector<double>& bias) {
    int32_t top = g.window.top;
    int32_t left = g.window.left;
    const int32_t rows = outputExtent(g.window.padding, g.x[1], g.filterH, g.window.strideH,
                                      g.window.dilationH, top, g.window.bottom);
    const int32_t columns = outputExtent(g.window.padding, g.x[2], g.filterW, g.window.strideW,
                                         g.window.dilationW, left, g.window.right);
    const auto at = [&](int32_t n, int32_t h, int32_t w, int32_t c) {
        const bool inside = h >= 0 && h < g.x[1] && w >= 0 && w < g.x[2];
        return inside ? x[offsetOf(g.x, {n, h, w, c})] : 0.0;
    };
    std::vector<double> result;
    for (int32_t n = 0; n < g.x[0]; ++n) {
        for (int32_t row = 0; row < rows; ++row) {
            for (int32_t column = 0; column < columns; ++column) {
                for (int32_t o = 0; o < g.channels; ++o) {
                    double sum = bias[static_cast<size_t>(o)];
                    for (int32_t i = 0; i < g.filterH; ++i) {
                        for (int32_t j = 0; j < g.filterW; ++j) {
                            const int32_t h = row * g.window.strideH + i * g.window.dilationH - top;
                            const int32_t w =
                                    column * g.window.strideW + j * g.window.dilationW - left;
                            if (g.multiplier > 0) {
                                sum += at(n, h, w, o / g.multiplier) *
                                       filter[offsetOf(filterShape(g), {0, i, j, o})];
                                continue;
                            }
                            for (int32_t c = 0; c < g.x[3]; ++c) {
                                sum += at(n, h, w, c) *
                                       filter[offsetOf(filterShape(g), {o, i, j, c})];
                            }
                        }
                    }
                    result.push_back(sum);
                }
            }
        }
    }
    return result;
}

Geometry randomGeometry(RandomValues& random, bool depthwise) {
    Geometry g;
    g.filterH = random.integer(1, 4);
    g.filterW = random.integer(1, 4);
    g.window.strideH = random.integer(1, 3);
    g.window.strideW = random.integer(1, 3);
    g.window.dilationH = random.integer(1, 2);
    g.window.dilationW = random.integer(1, 3);
    const PaddingScheme schemes[] = {PaddingScheme::EXPLICIT, PaddingScheme::SAME,
                                     PaddingScheme::VALID};
    g.window.padding = schemes[random.integer(0, 2)];
    // More padding than filter now and then: windows that see nothing but the border.
    g.window.top = random.integer(0, 5);
    g.window.bottom = random.integer(0, 5);
    g.window.left = random.integer(0, 5);
    g.window.right = random.integer(0, 5);
    g.x = {random.integer(1, 2), (g.filterH - 1) * g.window.dilationH + random.integer(1, 5),
           (g.filterW - 1) * g.window.dilationW + random.integer(1, 5), random.integer(1, 5)};
    g.multiplier = depthwise ? random.integer(1, 3) : 0;
    g.channels = depthwise ? g.x[3] * g.multiplier : random.integer(1, 6);
    return g;
}

Result<Values> run(const Geometry& g, const std::vector<Values>& inputs, const TensorType& output) {
    return g.multiplier > 0
                   ? evaluate(DepthwiseConv2d{.window = g.window, .multiplier = g.multiplier},
                              inputs, output)
                   : evaluate(Conv2d{.window = g.window}, inputs, output);
}

void compareFloat(DataType type, bool depthwise) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 60; ++round) {
        const Geometry g = randomGeometry(random, depthwise);
        const Values x = random.values(typeOf(type, g.x));
        const Values filter = random.values(typeOf(type, filterShape(g)));
        const Values bias = random.values(typeOf(type, {g.channels}));
        ASSERT_TRUE(approximates(run(g, {x, filter, bias}, typeOf(type, {})),
                                 convolve(g, reals(x), reals(filter), reals(bias))));
    }
}

TEST(Conv2dRef, AgreesWithDoublePrecisionInFloat32) {
    compareFloat(DataType::FLOAT32, false);
}
TEST(Conv2dRef, AgreesWithDoublePrecisionInFloat16) {
    compareFloat(DataType::FLOAT16, false);
}
TEST(DepthwiseConv2dRef, AgreesWithDoublePrecisionInFloat32) {
    compareFloat(DataType::FLOAT32, true);
}
TEST(DepthwiseConv2dRef, AgreesWithDoublePrecisionInFloat16) {
    compareFloat(DataType::FLOAT16, true);
}

// The weights' type and whether they have a scale per channel.
void compareQuantized(DataType xType, DataType filterType, bool depthwise) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 60; ++round) {
        const Geometry g = randomGeometry(random, depthwise);
        TensorType xShape = random.quantization(xType, 0.02F);
        xShape.shape = g.x;
        const Values x = random.values(xShape);

        TensorType weights = random.quantization(filterType, 0.01F);
        weights.shape = filterShape(g);
        std::vector<float> scales(static_cast<size_t>(g.channels), weights.quantization.scale);
        if (filterType == DataType::QUANT8_SYMM_PER_CHANNEL) {
            for (float& scale : scales) {
                scale = random.real(0.001F, 0.02F);
            }
            weights.quantization = {.channelScales = scales, .channelDim = depthwise ? 3U : 0U};
        }
        const Values filter = random.values(weights);
        std::vector<double> realFilter = stored(filter);
        const size_t perChannel = realFilter.size() / scales.size();
        for (size_t i = 0; i < realFilter.size(); ++i) {
            const size_t channel = depthwise ? i % scales.size() : i / perChannel;
            realFilter[i] = static_cast<double>(scales[channel]) *
                            (realFilter[i] - weights.quantization.zeroPoint);
        }

        std::vector<int32_t> storedBias;
        std::vector<double> realBias;
        for (const float scale : scales) {
            storedBias.push_back(random.integer(-20000, 20000));
            realBias.push_back(storedBias.back() * (static_cast<double>(x.type.quantization.scale) *
                                                    static_cast<double>(scale)));
        }
        ASSERT_TRUE(approximates(run(g, {x, filter, ints({g.channels}, storedBias)},
                                     random.quantization(xType, 0.1F)),
                                 convolve(g, reals(x), realFilter, realBias)));
    }
}

TEST(Conv2dRef, IsWithinHalfAStepInQuant8) {
    compareQuantized(DataType::QUANT8_ASYMM, DataType::QUANT8_ASYMM, false);
}
TEST(Conv2dRef, IsWithinHalfAStepInQuant8Signed) {
    compareQuantized(DataType::QUANT8_ASYMM_SIGNED, DataType::QUANT8_ASYMM_SIGNED, false);
}
TEST(Conv2dRef, IsWithinHalfAStepWithAScalePerChannel) {
    compareQuantized(DataType::QUANT8_ASYMM, DataType::QUANT8_SYMM_PER_CHANNEL, false);
    compareQuantized(DataType::QUANT8_ASYMM_SIGNED, DataType::QUANT8_SYMM_PER_CHANNEL, false);
}
TEST(Conv2dRef, TakesWeightsOfTheOtherSign) {
    compareQuantized(DataType::QUANT8_ASYMM_SIGNED, DataType::QUANT8_ASYMM, false);
    compareQuantized(DataType::QUANT8_ASYMM, DataType::QUANT8_SYMM, false);
}
TEST(DepthwiseConv2dRef, IsWithinHalfAStepInEveryQuantisedType) {
    compareQuantized(DataType::QUANT8_ASYMM, DataType::QUANT8_ASYMM, true);
    compareQuantized(DataType::QUANT8_ASYMM_SIGNED, DataType::QUANT8_ASYMM_SIGNED, true);
    compareQuantized(DataType::QUANT8_ASYMM, DataType::QUANT8_SYMM_PER_CHANNEL, true);
    compareQuantized(DataType::QUANT8_ASYMM_SIGNED, DataType::QUANT8_SYMM_PER_CHANNEL, true);
}

// Values from torch.nn.functional.conv2d on integers (x = 0..24 as 5 x 5, filter = 1..4,
// dilation 2, padding 1, bias 0.5).
TEST(Conv2dRef, AgreesWithPyTorchOnADilatedFilter) {
    std::vector<float> x(25);
    std::iota(x.begin(), x.end(), 0.0F);
    const Window2d window = {.padding = PaddingScheme::EXPLICIT,
                             .top = 1,
                             .bottom = 1,
                             .left = 1,
                             .right = 1,
                             .dilationH = 2,
                             .dilationW = 2};
    EXPECT_TRUE(holds(
            evaluate(Conv2d{.window = window},
                     {floats({1, 5, 5, 1}, x), floats({1, 2, 2, 1}, {1, 2, 3, 4}),
                      floats({1}, {0.5F})},
                     typeOf(DataType::FLOAT32, {})),
            {24.5,  43.5, 50.5,  57.5,  24.5,  46.5,  82.5, 92.5, 102.5, 42.5, 76.5, 132.5, 142.5,
             152.5, 62.5, 106.5, 182.5, 192.5, 202.5, 82.5, 32.5, 49.5,  52.5, 55.5, 18.5}));
}

// NaN is a number like any other to a sum; RELU6 lets it through.
TEST(Conv2dRef, PassesNanThrough) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(holds(
            evaluate(Conv2d{.activation = Activation::RELU6},
                     {floats({1, 1, 2, 1}, {nan, 9}), floats({1, 1, 1, 1}, {1}), floats({1}, {0})},
                     typeOf(DataType::FLOAT32, {})),
            {std::numeric_limits<double>::quiet_NaN(), 6}));
}

TEST(Conv2dRef, ClampsFusedActivationsOnQuantisedValues) {
    const TensorType type = typeOf(DataType::QUANT8_ASYMM, {1, 1, 4, 1}, 0.1F, 100);
    const TensorType weight = typeOf(DataType::QUANT8_ASYMM, {1, 1, 1, 1}, 1.0F, 0);
    const auto activated = [&](Activation activation) {
        return evaluate(
                Conv2d{.activation = activation},
                {quantized(type, {60, 99, 130, 200}), quantized(weight, {1}), ints({1}, {0})},
                typeOf(DataType::QUANT8_ASYMM, {}, 0.1F, 100));
    };
    EXPECT_TRUE(holds(activated(Activation::NONE), {60, 99, 130, 200}));
    EXPECT_TRUE(holds(activated(Activation::RELU), {100, 100, 130, 200}));
    EXPECT_TRUE(holds(activated(Activation::RELU1), {90, 99, 110, 110}));
    EXPECT_TRUE(holds(activated(Activation::RELU6), {100, 100, 130, 160}));
}

// 2^31 - 1 plus 255 * 255 wraps to -2^31 + 65024, which the output clamps to its lowest value.
TEST(Conv2dRef, WrapsSumsOf32Bits) {
    const TensorType type = typeOf(DataType::QUANT8_ASYMM, {1, 1, 1, 1}, 1.0F, 0);
    EXPECT_TRUE(holds(evaluate(Conv2d(),
                               {quantized(type, {255}), quantized(type, {255}),
                                ints({1}, {std::numeric_limits<int32_t>::max()})},
                               typeOf(DataType::QUANT8_ASYMM, {}, 1.0F, 7)),
                      {0}));
}

TEST(Conv2dRef, AcceptsEmptyTensors) {
    const auto shapeOf = [](Shape x, Shape filter, const std::vector<float>& bias) {
        const Result<Values> result = evaluate(Conv2d(),
                                               {floats(x, {}), floats(filter, {}),
                                                floats({static_cast<int32_t>(bias.size())}, bias)},
                                               typeOf(DataType::FLOAT32, {}));
        return result.ok() ? result->type.shape.toString() : result.status().toString();
    };
    EXPECT_EQ(shapeOf({1, 3, 3, 0}, {0, 2, 2, 0}, {}), "[1, 2, 2, 0]");
    const std::vector<float> weights(4, 1.0F);
    EXPECT_TRUE(holds(
            evaluate(Conv2d(),
                     {floats({0, 3, 3, 1}, {}), floats({1, 2, 2, 1}, weights), floats({1}, {5})},
                     typeOf(DataType::FLOAT32, {})),
            {}));
}

// Without channels only the bias is left, and that at once, however large the filter is.
TEST(Conv2dRef, OfNoChannelsIsTheBias) {
    constexpr int32_t kHuge = 2'000'000'000;
    EXPECT_TRUE(holds(evaluate(Conv2d(),
                               {floats({1, kHuge, kHuge, 0}, {}), floats({1, kHuge, kHuge, 0}, {}),
                                floats({1}, {5})},
                               typeOf(DataType::FLOAT32, {})),
                      {5}));
}

TEST(Conv2dRef, DoesNotTakeSixteenBits) {
    const Values x = {typeOf(DataType::QUANT16_SYMM, {1, 1, 1, 1}, 1.0F), {0, 0}};
    const Result<Values> result =
            evaluate(Conv2d(), {x, x, ints({1}, {0})}, typeOf(DataType::QUANT16_SYMM, {}, 1.0F));
    EXPECT_TRUE(refused(result, "QUANT16_SYMM"));
}

// Output channels 0 and 1 see input channels 0 and 1, the others 2 and 3; from numpy.
TEST(Conv2dRef, KeepsGroupsApart) {
    const Values x = floats({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
    const Values filter =
            floats({4, 1, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
    const Values bias = floats({4}, {0, 0, 0, 1});
    EXPECT_TRUE(
            holds(evaluate(Conv2d{.groups = 2}, {x, filter, bias}, typeOf(DataType::FLOAT32, {})),
                  {44, 100, 240, 329}));
}

TEST(Conv2dRef, RequantisesEveryGroupByItsChannels) {
    const Values x =
            quantized(typeOf(DataType::QUANT8_ASYMM_SIGNED, {1, 1, 1, 2}, 0.5F, -1), {9, 19});
    TensorType filterType = typeOf(DataType::QUANT8_SYMM_PER_CHANNEL, {2, 1, 1, 1});
    filterType.quantization = {.channelScales = {0.5F, 0.25F}, .channelDim = 0};
    const Values filter = quantized(filterType, {4, 8});
    // 5 * 2 + 1 and 10 * 2 - 1, in steps of 0.5 above 2.
    EXPECT_TRUE(holds(evaluate(Conv2d{.groups = 2}, {x, filter, ints({2}, {4, -8})},
                               typeOf(DataType::QUANT8_ASYMM_SIGNED, {}, 0.5F, 2)),
                      {24, 40}));
}

Window2d strided(PaddingScheme padding, int32_t strideH, int32_t strideW) {
    return {.padding = padding, .strideH = strideH, .strideW = strideW};
}

Result<Values> transposed(const TransposeConv2d& node, const Values& x, const Values& filter,
                          const Values& bias, const std::vector<int32_t>& shape,
                          const TensorType& output) {
    std::optional<Values> outputShape;
    if (!shape.empty()) {
        outputShape = ints({4}, shape);
    }
    HALYARD_ASSIGN_OR_RETURN(std::vector<Values> outputs,
                             evaluateAll(node, {x, filter, bias, outputShape}, {output}));
    return std::move(outputs[0]);
}

// Scattered in numpy, pixel by pixel.
TEST(TransposeConv2dRef, SpreadsEveryPixel) {
    const TensorType output = typeOf(DataType::FLOAT32, {});
    const Values x = floats({1, 2, 2, 1}, {1, 2, 3, 4});
    const Values filter = floats({1, 3, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
    EXPECT_TRUE(holds(transposed({.window = strided(PaddingScheme::VALID, 2, 2)}, x, filter,
                                 floats({1}, {0.5F}), {1, 5, 5, 1}, output),
                      {1.5,  2.5,  5.5,  4.5,  6.5,  4.5,  5.5,  14.5, 10.5, 12.5, 10.5, 14.5, 36.5,
                       24.5, 30.5, 12.5, 15.5, 34.5, 20.5, 24.5, 21.5, 24.5, 55.5, 32.5, 36.5}));
    EXPECT_TRUE(holds(transposed({.window = strided(PaddingScheme::SAME, 2, 2)}, x, filter,
                                 floats({1}, {0}), {1, 4, 4, 1}, output),
                      {1, 2, 5, 4, 4, 5, 14, 10, 10, 14, 36, 24, 12, 15, 34, 20}));
}

TEST(TransposeConv2dRef, CutsOffExplicitPadding) {
    const TensorType output = typeOf(DataType::FLOAT32, {});
    const Values x = floats({1, 2, 2, 1}, {1, 2, 3, 4});
    const Values filter = floats({1, 3, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
    Window2d window = strided(PaddingScheme::EXPLICIT, 1, 1);
    window.top = window.bottom = window.left = window.right = 1;
    EXPECT_TRUE(holds(transposed({.window = window}, x, filter, floats({1}, {0}), {}, output),
                      {23, 33, 53, 63}));
    window = strided(PaddingScheme::EXPLICIT, 2, 1);
    window.top = 1;
    EXPECT_TRUE(holds(transposed({.window = window, .activation = Activation::RELU6}, x, filter,
                                 floats({1}, {-30}), {}, output),
                      {0, 0, 0, 0, 0, 2, 6, 0, 0, 1, 6, 0, 0, 6, 6, 6}));
}

TEST(TransposeConv2dRef, LeavesGapsWhereTheStrideIsLargerThanTheFilter) {
    EXPECT_TRUE(holds(transposed({.window = strided(PaddingScheme::EXPLICIT, 1, 3)},
                                 floats({1, 1, 2, 1}, {1, 2}), floats({1, 1, 1, 1}, {10}),
                                 floats({1}, {5}), {}, typeOf(DataType::FLOAT32, {})),
                      {15, 5, 5, 25}));
}

TEST(TransposeConv2dRef, SumsOverChannelsAndInHalves) {
    const std::vector<float> x = {1, 2, 3, 4};
    const std::vector<float> filter = {1, 2, 3, 4, 5, 6, 7, 8};
    const TransposeConv2d node = {.window = strided(PaddingScheme::EXPLICIT, 1, 2)};
    EXPECT_TRUE(holds(transposed(node, floats({1, 1, 2, 2}, x), floats({2, 1, 2, 2}, filter),
                                 floats({2}, {10, 20}), {}, typeOf(DataType::FLOAT32, {})),
                      {15, 37, 21, 43, 21, 59, 35, 73}));
    EXPECT_TRUE(holds(transposed(node, halves({1, 1, 2, 2}, x), halves({2, 1, 2, 2}, filter),
                                 halves({2}, {10, 20}), {}, typeOf(DataType::FLOAT16, {})),
                      {15, 37, 21, 43, 21, 59, 35, 73}));
}

// The middle element is 255 * 255 + 255 * 255 steps of 1/65025: one rounding gives 2, two that each
// clamp would not.
TEST(TransposeConv2dRef, RequantisesTheWholeSumOnce) {
    const Values x =
            quantized(typeOf(DataType::QUANT8_ASYMM, {1, 1, 2, 1}, 1.0F / 255), {255, 255});
    const Values filter =
            quantized(typeOf(DataType::QUANT8_ASYMM, {1, 1, 2, 1}, 1.0F / 255), {255, 255});
    const TransposeConv2d node = {.window = strided(PaddingScheme::EXPLICIT, 1, 1)};
    EXPECT_TRUE(holds(transposed(node, x, filter, ints({1}, {0}), {},
                                 typeOf(DataType::QUANT8_ASYMM, {}, 0.75F)),
                      {1, 3, 1}));
}

TEST(TransposeConv2dRef, TakesScalesPerChannel) {
    const Values x = quantized(typeOf(DataType::QUANT8_ASYMM, {1, 1, 1, 1}, 0.5F, 128), {130});
    TensorType filterType = typeOf(DataType::QUANT8_SYMM_PER_CHANNEL, {2, 1, 1, 1});
    filterType.quantization = {.channelScales = {0.5F, 2.0F}, .channelDim = 0};
    const TransposeConv2d node = {.window = strided(PaddingScheme::EXPLICIT, 1, 1)};
    EXPECT_TRUE(holds(transposed(node, x, quantized(filterType, {6, -3}), ints({2}, {0, 0}), {},
                                 typeOf(DataType::QUANT8_ASYMM, {}, 0.5F, 100)),
                      {106, 88}));
}

TEST(TransposeConv2dRef, AcceptsEmptyTensors) {
    const TensorType output = typeOf(DataType::FLOAT32, {});
    const TransposeConv2d node = {.window = strided(PaddingScheme::EXPLICIT, 1, 1)};
    EXPECT_TRUE(holds(transposed(node, floats({0, 2, 2, 1}, {}), floats({1, 1, 1, 1}, {1}),
                                 floats({1}, {5}), {}, output),
                      {}));
    EXPECT_TRUE(holds(transposed(node, floats({1, 1, 2, 0}, {}), floats({1, 1, 1, 0}, {}),
                                 floats({1}, {5}), {}, output),
                      {5, 5}));
}
}  // namespace
}  // namespace halyard::engine::ref_test
