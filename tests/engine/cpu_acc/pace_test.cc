// SPDX-License-Identifier: Apache-2.0
//
// Tuned kernels look at the checkpoint often, however large a node is and however little of its
// work is one element of the output. Work is counted, not timed.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/backends/cpu/gemm/weights.h"
#include "engine/graph/recurrence.h"
#include "tests/engine/counting_condition.h"
#include "tests/engine/cpu_acc/tuned.h"
#include "tests/engine/reference/large_node.h"

namespace halyard::engine::cpu_test {
namespace {

using cpu::kMostDepthwiseTerms;
using cpu::kMostTerms;
using ref_test::b8;
using ref_test::f32;
using ref_test::i32;
using ref_test::ints;
using ref_test::kindsOf;
using ref_test::LargeNode;
using ref_test::q8;
using Inputs = std::vector<std::optional<Values>>;

// Multiply-adds of a product between two looks, at most, and elements that are read or written:
// a few milliseconds.
constexpr int64_t kProducts = int64_t{1} << 26;
constexpr int64_t kElements = int64_t{1} << 22;
constexpr int32_t kMany = 1 << 23;
constexpr int32_t kSide = 1 << 11;  // two of them are half as many
constexpr size_t kLooksOfMany = kMany / kElements;

// A bit for each of the inputs [first, end).
uint64_t bits(size_t first, size_t end) {
    return (uint64_t{1} << end) - (uint64_t{1} << first);
}

// Of a sequence of `steps` for `batch`, or of one step where there are none.
Inputs lstmInputs(int32_t steps, int32_t batch, int32_t units, size_t count) {
    Inputs inputs(count);
    inputs[lstm::kX] = f32(steps == 0 ? Shape{batch, units} : Shape{steps, batch, units});
    inputs[lstm::kOutputState] = f32({batch, units});
    inputs[lstm::kCellState] = f32({batch, units});
    for (const size_t weights : {lstm::kInputToForgetWeights, lstm::kInputToCellWeights,
                                 lstm::kInputToOutputWeights, lstm::kRecurrentToForgetWeights,
                                 lstm::kRecurrentToCellWeights, lstm::kRecurrentToOutputWeights}) {
        inputs[weights] = f32({units, units});
    }
    for (const size_t bias : {lstm::kForgetGateBias, lstm::kCellGateBias, lstm::kOutputGateBias}) {
        inputs[bias] = f32({units});
    }
    return inputs;
}

uint64_t lstmWeights() {
    uint64_t weights = bits(0, lstm::kAux);
    for (const size_t input : {lstm::kX, lstm::kOutputState, lstm::kCellState}) {
        weights &= ~(uint64_t{1} << input);
    }
    return weights;
}

LargeNode quantizedLstm(int32_t batch, int32_t units) {
    const auto s8 = [](DataType type, Shape shape, float scale) {
        return Values{.type = typeOf(type, shape, scale), .bytes = {}};
    };
    Inputs inputs(lstm::kAux);
    for (size_t i = lstm::kInputToForgetWeights; i <= lstm::kRecurrentToOutputWeights; ++i) {
        if (i != lstm::kRecurrentToInputWeights) {
            inputs[i] = s8(DataType::QUANT8_SYMM, {units, units}, 0.005F);
        }
    }
    for (const size_t bias : {lstm::kForgetGateBias, lstm::kCellGateBias, lstm::kOutputGateBias}) {
        inputs[bias] = i32({units});
    }
    inputs[lstm::kX] = s8(DataType::QUANT8_ASYMM_SIGNED, {batch, units}, 0.02F);
    inputs[lstm::kOutputState] = s8(DataType::QUANT8_ASYMM_SIGNED, {batch, units}, 0.008F);
    inputs[lstm::kCellState] = s8(DataType::QUANT16_SYMM, {batch, units}, 0x1p-11F);
    const TensorType state = inputs[lstm::kOutputState]->type;
    const std::vector<TensorType> outputs = {state, inputs[lstm::kCellState]->type, state};
    return {.name = "QuantizedLstm",
            .node = QuantizedLstm{.hiddenScale = 0.008F},
            .inputs = std::move(inputs),
            .outputs = outputs,
            .fewestLooks = 6,
            .constants = lstmWeights()};
}

LargeNode quantized16BitLstm(int32_t batch, int32_t units) {
    const TensorType x = typeOf(DataType::QUANT8_ASYMM, {batch, units}, 1.0F / 128, 128);
    const TensorType cell = typeOf(DataType::QUANT16_SYMM, {batch, units}, 1.0F / 2048);
    Inputs inputs(15);
    inputs[0] = Values{.type = x, .bytes = {}};
    for (size_t i = 1; i < 9; ++i) {
        inputs[i] = q8({units, units});
    }
    for (size_t i = 9; i < 13; ++i) {
        inputs[i] = i32({units});
    }
    inputs[13] = Values{.type = cell, .bytes = {}};
    inputs[14] = inputs[0];
    return {.name = "Quantized16BitLstm",
            .node = Quantized16BitLstm(),
            .inputs = std::move(inputs),
            .outputs = {cell, x},
            .fewestLooks = 8,
            .constants = bits(1, 13)};
}

std::vector<LargeNode> cases() {
    const std::vector<TensorType> quant8 = {q8({}).type};
    const std::vector<TensorType> int32 = {i32({}).type};
    const std::vector<TensorType> bool8 = {b8({}).type};
    const Shape row = {kMany};
    const Shape image = {1, kSide, kSide, 2};
    const Values noPaddings = ints({2, 2}, {0, 0, 0, 0});
    const Window2d same = {.padding = PaddingScheme::SAME};
    // Multiply-adds.
    constexpr int64_t kOfFeatureMap = int64_t{64} * 64 * 128 * 9 * 64;
    constexpr int64_t kOfPixel = int64_t{128} * kMostTerms;
    constexpr int32_t kDepth = kMostTerms / 9;
    return {
            {"Conv2d",
             Conv2d{.window = same},
             {f32({1, 64, 64, 128}), f32({64, 3, 3, 128}), f32({64})},
             {},
             kOfFeatureMap / kProducts,
             bits(1, 3)},
            {"Conv2dOfOnePixel",
             Conv2d(),
             {q8({1, 3, 3, kDepth}), q8({128, 3, 3, kDepth}), i32({128})},
             quant8,
             kOfPixel / kProducts,
             bits(1, 3)},
            {"Conv2dOfGroups",
             Conv2d{.window = same, .groups = 2},
             {q8({1, 64, 64, 128}), q8({128, 3, 3, 64}), i32({128})},
             quant8,
             kOfFeatureMap / kProducts,
             bits(1, 3)},
            {"FullyConnected",
             FullyConnected(),
             {q8({2, kMostTerms}), q8({128, kMostTerms}), i32({128})},
             quant8,
             2 * kOfPixel / kProducts,
             bits(1, 3)},
            {"DepthwiseConv2d",
             DepthwiseConv2d{.window = same},
             {f32(image), f32({1, 3, 3, 2}), f32({2})},
             {},
             kLooksOfMany,
             bits(1, 3)},
            {"DepthwiseConv2dOfTwoPixels",
             DepthwiseConv2d{.window = same},
             {q8({1, 1, 2, kMostDepthwiseTerms / 2}), q8({1, 1, 2, kMostDepthwiseTerms / 2}),
              i32({kMostDepthwiseTerms / 2})},
             quant8,
             2,
             bits(1, 3)},
            {"TransposeConv2d",
             TransposeConv2d{
                     .window = {.padding = PaddingScheme::EXPLICIT, .strideH = 2, .strideW = 2}},
             {f32({1, 32, 32, 256}), f32({128, 4, 4, 256}), f32({128}), std::nullopt},
             {},
             int64_t{32} * 32 * 256 * 16 * 128 / kProducts,
             bits(1, 3)},
            {"BatchMatmul", BatchMatmul(), {f32({1, 1 << 16}), f32({1 << 16, 256})}},
            {"BatchMatmulOfBytes",
             BatchMatmul(),
             {q8({1024, 512}), q8({512, 1024})},
             quant8,
             int64_t{512} * 1024 * 1024 / kProducts},
            {"Lstm", Lstm(), lstmInputs(0, 256, 512, lstm::kAux),
             std::vector<TensorType>(4, f32({}).type), 6, lstmWeights()},
            {"LstmSequence", LstmSequence{.timeMajor = true},
             lstmInputs(256, 1, 512, std::size(LstmSequence::kInputs)),
             std::vector<TensorType>(3, f32({}).type), 256, lstmWeights()},
            quantizedLstm(256, 512),
            quantized16BitLstm(256, 512),
            {"Concat", Concat{.axis = 0}, {f32(row), f32(row)}},
            {"Pack", Pack(), {f32(row), f32(row)}},
            {"Split", Split(), {f32({2, kMany})}, {f32({}).type, f32({}).type}},
            {"Slice", Slice(), {f32(row), ints({1}, {0}), ints({1}, {-1})}},
            {"StridedSlice",
             StridedSlice{.endMask = 1},
             {f32(row), ints({1}, {0}), ints({1}, {0}), ints({1}, {1})}},
            {"Pad", Pad(), {f32({1}), ints({1, 2}, {0, kMany})}},
            {"Reshape", Reshape(), {f32(row), ints({1}, {-1})}},
            {"Squeeze", Squeeze(), {f32(row), ints({0}, {})}},
            {"ExpandDims", ExpandDims(), {f32(row)}},
            {"Transpose", Transpose(), {f32({2 * kSide, kSide}), ints({2}, {1, 0})}},
            {"DepthToSpace", DepthToSpace{.block = 2}, {f32({1, kSide, kSide / 2, 4})}},
            {"SpaceToDepth", SpaceToDepth{.block = 2}, {f32(image)}},
            {"BatchToSpace", BatchToSpace(), {f32({4, kSide, kSide / 2, 1}), ints({2}, {2, 2})}},
            {"SpaceToBatch", SpaceToBatch(), {f32(image), ints({2}, {2, 2}), noPaddings}},
            {"Tile", Tile(), {f32({1}), ints({1}, {kMany})}},
            {"Reverse", Reverse(), {f32(row), ints({1}, {0})}},
            {"ChannelShuffle", ChannelShuffle{.groups = 2, .axis = 0}, {f32(row)}},
            {"Gather", Gather(), {f32({1, kMany}), ints({1}, {0})}},
            {"GatherByManyIndices", Gather(), {f32({1}), i32(row)}},
            {"Activate", Activate(), {f32(row)}},
            {"ActivateBytes", Activate(), {q8(row)}, quant8},
            {"Pool2d", Pool2d{.filterH = 2, .filterW = 2}, {f32(image)}},
            {"Pool2dOfOnePixel",
             Pool2d{.filterH = 256, .filterW = 256},
             {q8({1, 256, 256, 128})},
             quant8},
            {"Unary", Unary(), {f32(row)}},
            {"Binary", Binary(), {f32(row), f32({1})}},
            {"BinaryOfBytes", Binary(), {q8(row), q8({1})}, quant8},
            {"Compare", Compare(), {f32(row), f32({1})}, bool8},
            {"Select", Select(), {b8(row), f32(row), f32(row)}},
            {"ArgMinMax", ArgMinMax(), {f32(row)}, int32},
            {"ArgMinMaxOfColumns", ArgMinMax(), {f32({kSide, 2 * kSide})}, int32},
            {"Dequantize", Dequantize(), {q8(row)}},
            {"Quantize", Quantize(), {f32(row)}, quant8},
            {"Cast", Cast(), {f32(row)}, int32},
            {"Reduce", Reduce(), {f32(row), ints({1}, {0})}},
            {"ReduceBytes", Reduce(), {q8(row), ints({1}, {0})}, quant8},
            {"ReduceColumns", Reduce(), {f32({2 * kSide, kSide}), ints({1}, {0})}},
            {"Resize", Resize{.height = kSide, .width = 2 * kSide}, {f32({1, 2, 2, 1})}},
            {"Softmax", Softmax{.axis = 0}, {f32(row)}},
            {"SoftmaxOfShortRows", Softmax{.axis = 1}, {f32({kMany / 8, 8})}},
            {"LogSoftmax", LogSoftmax{.axis = 0}, {f32(row)}},
            {"L2Normalize", L2Normalize{.axis = 0}, {f32(row)}},
            {"L2NormalizeShortRows", L2Normalize(), {f32({kMany / 8, 8})}},
            {"LayerNormalize", LayerNormalize{.axis = 0}, {f32(row)}},
            {"LayerNormalizeShortRows", LayerNormalize(), {f32({kMany / 8, 8})}},
    };
}

class TunedPace : public testing::TestWithParam<LargeNode> {
  protected:
    static Status run(const StopCondition& stop) {
        const LargeNode& param = GetParam();
        return evaluateTuned(param.node, param.allInputs(), param.allOutputs(),
                             {.set = cpu::availableInstructionSets().back(),
                              .constantInputs = param.constants,
                              .stop = &stop})
                .status();
    }
};

TEST_P(TunedPace, IsKept) {
    const CountingCondition never;
    const Status whole = run(never);
    ASSERT_TRUE(whole.ok()) << whole.toString();
    const size_t fewest = GetParam().fewestLooks;
    EXPECT_GE(never.asked(), fewest == 0 ? kLooksOfMany : fewest);
    // Told to stop in the middle, it does no more.
    const CountingCondition half(never.asked() / 2);
    const Status stopped = run(half);
    EXPECT_EQ(stopped.code(), StatusCode::UNAVAILABLE) << stopped.toString();
    EXPECT_LE(half.asked(), never.asked() / 2 + 2) << "what looks once more says why it stops";
}

INSTANTIATE_TEST_SUITE_P(Kernels, TunedPace, testing::ValuesIn(cases()),
                         [](const auto& param) { return param.param.name; });

TEST(TunedPace, IsTriedOnEveryKindOfNode) {
    const std::set<std::string_view> kernels = {
#define HALYARD_TUNED_KERNEL(Descriptor) #Descriptor,
#include "engine/backends/cpu/kernels/kernels.inc"
#undef HALYARD_TUNED_KERNEL
    };
    EXPECT_EQ(kindsOf(cases()), kernels);
}

// Sums too long for one unit are left to the reference, which polls within a sum.
TEST(TunedPace, LeavesLongSumsToTheReference) {
    const auto refused = [](const NodeDescriptor& node, Inputs inputs) {
        for (std::optional<Values>& input : inputs) {
            input->bytes.resize(*input->type.byteSize());
        }
        const Status status =
                evaluateTuned(node, inputs, {q8({}).type}, {.constantInputs = bits(1, 3)}).status();
        return std::string(status.message());
    };
    constexpr int32_t kTerms = kMostTerms + 1;
    EXPECT_EQ(refused(FullyConnected(), {q8({1, kTerms}), q8({1, kTerms}), i32({1})}),
              "sums at most 1048576 products");
    EXPECT_EQ(refused(Conv2d(), {q8({1, 1, kTerms, 1}), q8({1, 1, kTerms, 1}), i32({1})}),
              "sums at most 1048576 products");
    EXPECT_EQ(refused(Conv2d{.groups = 2},
                      {q8({1, 1025, 1024, 2}), q8({2, 1025, 1024, 1}), i32({2})}),
              "sums at most 1048576 products");
    EXPECT_EQ(
            refused(DepthwiseConv2d(), {q8({1, 4097, 4096, 1}), q8({1, 4097, 4096, 1}), i32({1})}),
            "multiplies at most 16777216 weights with a spatial position");
}

}  // namespace
}  // namespace halyard::engine::cpu_test
