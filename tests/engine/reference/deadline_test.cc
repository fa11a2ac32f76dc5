// SPDX-License-Identifier: Apache-2.0
//
// A node stops at its deadline, however large it is.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/base/checkpoint.h"
#include "tests/engine/reference/evaluation.h"
#include "tests/engine/reference/large_node.h"

namespace halyard::engine::ref_test {
namespace {

// Enough elements for the deadline to be looked at more than once.
constexpr int32_t kMany = 1 << 19;

std::vector<LargeNode> cases() {
    const std::vector<TensorType> quant8 = {q8({}).type};
    const std::vector<TensorType> int32 = {i32({}).type};
    const std::vector<TensorType> bool8 = {b8({}).type};
    const Shape row = {kMany};
    const Shape image = {1, 1024, 512, 1};
    const Shape deepImage = {1, 512, 256, 4};
    const Pool2d maximum = {.function = Pool2d::Function::MAX, .filterH = 2, .filterW = 2};
    const Pool2d global = {.filterH = 1024, .filterW = 1024};
    const Values noPaddings = ints({2, 2}, {0, 0, 0, 0});
    const std::vector<TensorType> detections = {f32({}).type, f32({}).type, i32({}).type,
                                                i32({}).type};
    Values otherScale = q8(row);
    otherScale.type.quantization.scale = 0.5F;
    Values halfImage = f16(image);
    return {
            {"Activate", Activate(), {f32(row)}},
            {"ActivateQuantized", Activate(), {q8(row)}, quant8},
            {"Binary", Binary(), {f32(row), f32({1})}},
            {"BinaryInt", Binary(), {i32(row), i32({1})}, int32},
            {"BinaryQuantized", Binary(), {q8(row), q8({1})}, quant8},
            {"Concat", Concat{.axis = 0}, {f32(row), f32(row)}},
            {"ConcatOfShortRows", Concat{.axis = 1}, {f32({kMany, 1}), f32({kMany, 1})}},
            {"ConcatRequantized", Concat{.axis = 0}, {otherScale, otherScale}, quant8},
            {"Conv2d", Conv2d(), {f32(image), f32({1, 2, 2, 1}), f32({1})}},
            {"Conv2dQuantized", Conv2d(), {q8(image), q8({1, 2, 2, 1}), i32({1})}, quant8},
            {"Conv2dWithoutDepth", Conv2d(), {f32({1, 1024, 512, 0}), f32({1, 1, 1, 0}), f32({1})}},
            {"DepthwiseConv2d", DepthwiseConv2d(), {f32(image), f32({1, 2, 2, 1}), f32({1})}},
            {"Dequantize", Dequantize(), {q8(row)}},
            {"FullyConnected", FullyConnected(), {f32({1024, 32}), f32({1024, 32}), f32({1024})}},
            {"FullyConnectedWithoutLength",
             FullyConnected(),
             {f32({1024, 0}), f32({1024, 0}), f32({1024})}},
            {"Pad", Pad(), {f32({1}), ints({1, 2}, {0, kMany})}},
            {"PoolMaximum", maximum, {f32(image)}},
            {"PoolQuantized", maximum, {q8(image)}, quant8},
            {"PoolMean", Pool2d{.filterH = 9, .filterW = 9}, {f32({1, 256, 256, 1})}},
            {"PoolGlobal", global, {f32({4, 1024, 1024, 1})}},
            {"Quantize", Quantize(), {f32(row)}, quant8},
            {"Reduce", Reduce(), {f32(row), ints({1}, {0})}},
            {"ReduceOfShortRows", Reduce(), {f32({kMany, 1}), ints({1}, {1})}},
            {"ReduceQuantized", Reduce(), {q8(row), ints({1}, {0})}, quant8},
            {"Reshape", Reshape(), {f32(row), ints({1}, {-1})}},
            {"SoftmaxOfALongRow", Softmax{.axis = 0}, {f32(row)}},
            {"SoftmaxOfShortRows", Softmax{.axis = 1}, {f32({kMany, 1})}},
            {"SoftmaxQuantized", Softmax{.axis = 0}, {q8(row)}, quant8},
            {"Transpose", Transpose(), {f32({1024, 512}), ints({2}, {1, 0})}},
            {"ArgMinMax", ArgMinMax(), {f32(row)}, int32},
            {"ArgMinMaxOfShortRows", ArgMinMax{.axis = 1}, {f32({kMany, 1})}, int32},
            {"BatchToSpace", BatchToSpace(), {f32({4, 512, 256, 1}), ints({2}, {2, 2})}},
            {"BinaryOfReals",
             Binary{.function = Binary::Function::DIV},
             {q8(row), q8({1})},
             quant8},
            {"BoxWithNmsLimit",
             BoxWithNmsLimit{.scoreThreshold = -1},
             {f32({800, 2}), f32({800, 8}), i32({800})},
             detections},
            {"BoxWithNmsLimitOfNoClass",
             BoxWithNmsLimit(),
             {f32({kMany, 2}), f32({kMany, 8}), i32({kMany})},
             detections},
            {"BoxTransform", BoxTransform(), {f32({1, 4}), f32({1, kMany}), i32({1}), f32({1, 2})}},
            {"Cast", Cast(), {f32(row)}, int32},
            {"CastToTheSame", Cast(), {f32(row)}},
            {"ChannelShuffle", ChannelShuffle{.groups = 2, .axis = 0}, {f32(row)}},
            {"Compare", Compare(), {f32(row), f32({1})}, bool8},
            {"CompareInt", Compare(), {i32(row), i32({1})}, bool8},
            {"DepthToSpace", DepthToSpace{.block = 2}, {f32(deepImage)}},
            {"DetectionPostprocess",
             DetectionPostprocess{.iouThreshold = 1},
             {f32({1, kMany, 2}), f32({1, kMany, 4}), f32({kMany, 4})},
             detections},
            {"DetectionPostprocessRegular",
             DetectionPostprocess{.regular = true,
                                  .maxDetections = 800,
                                  .detectionsPerClass = 800,
                                  .scoreThreshold = -1,
                                  .iouThreshold = 1},
             {f32({1, 800, 2}), f32({1, 800, 4}), f32({800, 4})},
             detections},
            {"ExpandDims", ExpandDims(), {f32(row)}},
            {"Fill", Fill(), {ints({1}, {kMany}), f32({1})}},
            {"Gather", Gather(), {f32({1, kMany}), ints({1}, {0})}},
            {"GatherByManyIndices", Gather(), {f32({1}), i32(row)}},
            {"GenerateProposals",
             GenerateProposals{.iouThreshold = 1},
             {f32({1, 512, 1024, 1}), f32({1, 512, 1024, 4}), f32({1, 4}), f32({1, 2})},
             {f32({}).type, f32({}).type, i32({}).type}},
            {"HeatmapMaxKeypoint",
             HeatmapMaxKeypoint(),
             {f32({1, 1024, 1024, 1}), f32({1, 4})},
             {f32({}).type, f32({}).type}},
            {"InstanceNormalize", InstanceNormalize(), {f32(image)}},
            {"L2Normalize", L2Normalize{.axis = 0}, {f32(row)}},
            {"L2NormalizeOfShortRows", L2Normalize(), {f32({kMany, 1})}},
            {"L2NormalizeQuantized", L2Normalize{.axis = 0}, {q8(row)}, quant8},
            {"LayerNormalize", LayerNormalize{.axis = 0}, {f32(row)}},
            {"LayerNormalizeOfShortRows", LayerNormalize(), {f32({kMany, 1})}},
            {"LocalResponseNormalize", LocalResponseNormalize{.radius = kMany}, {f32({1024})}},
            {"LogSoftmax", LogSoftmax{.axis = 0}, {f32(row)}},
            {"Pack", Pack(), {f32(row), f32(row)}},
            {"PadMirrored",
             Pad{.mode = Pad::Mode::SYMMETRIC},
             {f32(row), ints({1, 2}, {kMany, 0})}},
            {"PoolL2", Pool2d{.function = Pool2d::Function::L2}, {f32(image)}},
            {"ReduceSum", Reduce{.function = Reduce::Function::SUM}, {f32(row), ints({1}, {0})}},
            {"Reverse", Reverse(), {f32(row), ints({1}, {0})}},
            {"RoiAlign",
             RoiAlign{.height = 512, .width = 1024},
             {f32({1, 2, 2, 1}), f32({1, 4}), i32({1})}},
            {"RoiAlignOfManySamples",
             RoiAlign{.samplesH = 1024, .samplesW = 512},
             {f32({1, 2, 2, 1}), f32({1, 4}), i32({1})}},
            {"ResizeBilinear", Resize{.height = 512, .width = 1024}, {f32({1, 2, 2, 1})}},
            {"ResizeNearest",
             Resize{.function = Resize::Function::NEAREST, .height = 512, .width = 1024},
             {f32({1, 2, 2, 1})}},
            {"RoiPool",
             RoiPool{.height = 512, .width = 1024},
             {f32({1, 2, 2, 1}), f32({1, 4}), i32({1})}},
            {"Select", Select(), {b8(row), f32(row), f32(row)}},
            {"SelectRequantized", Select(), {b8(row), otherScale, otherScale}, quant8},
            {"Slice", Slice(), {f32(row), ints({1}, {0}), ints({1}, {-1})}},
            {"SpaceToBatch", SpaceToBatch(), {f32(image), ints({2}, {2, 2}), noPaddings}},
            {"SpaceToDepth", SpaceToDepth{.block = 2}, {f32(image)}},
            {"Split", Split(), {f32({2, kMany})}, {f32({}).type, f32({}).type}},
            {"SplitIntoShortRows",
             Split{.axis = 1},
             {f32({kMany, 2})},
             {f32({}).type, f32({}).type}},
            {"Squeeze", Squeeze(), {f32(row), ints({0}, {})}},
            {"StridedSlice",
             StridedSlice{.endMask = 1},
             {f32(row), ints({1}, {0}), ints({1}, {0}), ints({1}, {1})}},
            {"Tile", Tile(), {f32({1}), ints({1}, {kMany})}},
            {"TopK", TopK{.k = 2}, {f32(row)}, {f32({}).type, i32({}).type}},
            {"TopKOfShortRows", TopK(), {f32({kMany, 1})}, {f32({}).type, i32({}).type}},
            {"TransposeConv2d",
             TransposeConv2d{.window = {.padding = PaddingScheme::EXPLICIT}},
             {f32(image), f32({1, 2, 2, 1}), f32({1})}},
            {"TransposeConv2dWithoutDepth",
             TransposeConv2d{.window = {.padding = PaddingScheme::EXPLICIT}},
             {f32({1, 1024, 512, 0}), f32({1, 1, 1, 0}), f32({1})}},
            {"BatchMatmul", BatchMatmul(), {f32({1024, 32}), f32({32, 1024})}},
            {"BatchMatmulInt", BatchMatmul(), {i32({1024, 32}), i32({32, 1024})}, int32},
            {"BatchMatmulQuantized", BatchMatmul(), {q8({1024, 32}), q8({32, 1024})}, quant8},
            {"BatchMatmulWithoutLength", BatchMatmul(), {f32({1024, 0}), f32({0, 1024})}},
            {"HashtableLookup",
             HashtableLookup(),
             {i32(row), i32({1}), f32({1, 1})},
             {f32({}).type, q8({}).type}},
            {"LshProjection", LshProjection(), {f32({1, 1}), i32(row)}, int32},
            {"LshProjectionOfManyFunctions",
             LshProjection{.type = LshProjection::Type::DENSE},
             {f32({kMany, 1}), i32({1})},
             int32},
            {"LshProjectionOfNoBits", LshProjection(), {f32({kMany, 0}), i32({1})}, int32},
            {"RandomMultinomial",
             RandomMultinomial{.samples = kMany},
             {f32({1, 2}), ints({2}, {1, 2})},
             int32},
            {"RandomMultinomialOfManyClasses",
             RandomMultinomial(),
             {f32({1, kMany}), ints({2}, {1, 2})},
             int32},
            {"Rnn",
             Rnn(),
             {f32({1024, 32}), f32({32, 32}), f32({32, 32}), f32({32}), f32({1024, 32})},
             {f32({}).type, f32({}).type}},
            {"RnnSequence",
             RnnSequence{.timeMajor = true},
             {f32({4096, 2, 32}), f32({4, 32}), f32({4, 4}), f32({4}), f32({2, 4})},
             {f32({}).type, f32({}).type}},
            {"RnnSequenceOfNoUnits",
             RnnSequence{.timeMajor = true},
             {f32({kMany, 1, 1}), f32({0, 1}), f32({0, 0}), f32({0}), f32({1, 0})},
             {f32({}).type, f32({}).type}},
            {"Svdf",
             Svdf(),
             {f32({1024, 32}), f32({32, 32}), f32({32, 1}), f32({32}), f32({1024, 32})},
             {f32({}).type, f32({}).type}},
            {"Unary", Unary(), {f32(row)}},
            {"UnaryInt", Unary(), {i32(row)}, int32},
            {"WideningOfHalves",
             Conv2d(),
             {halfImage, f16({1, 1, 1, 1}), f16({1})},
             {halfImage.type}},
    };
}

class EveryKind : public testing::TestWithParam<LargeNode> {
  protected:
    // Runs the node until the checkpoint says that it must stop.
    static Status run(const Checkpoint& checkpoint) {
        const LargeNode& param = GetParam();
        return evaluateAll(param.node, param.allInputs(), param.allOutputs(), checkpoint).status();
    }
};

TEST_P(EveryKind, StopsInTheMiddleOfANode) {
    const Status whole = run(Checkpoint());
    ASSERT_TRUE(whole.ok()) << whole.toString();
    const std::atomic<bool> cancelled = true;
    EXPECT_EQ(run(Checkpoint(std::nullopt, &cancelled)).code(), StatusCode::UNAVAILABLE);
    const Status late = run(Checkpoint(std::chrono::steady_clock::now()));
    EXPECT_EQ(late.code(), StatusCode::DEADLINE_EXCEEDED);
    EXPECT_EQ(late.message(), "the deadline passed while it ran");
}

INSTANTIATE_TEST_SUITE_P(Deadline, EveryKind, testing::ValuesIn(cases()),
                         [](const auto& param) { return param.param.name; });

TEST(Deadline, IsTriedOnEveryKindOfNode) {
    // Rank writes one number. Lstm runs the step that lstm_test.cc stops in LstmSequence; the
    // quantised LSTMs, whose loops are of the same kind, are not tried.
    std::set<std::string_view> tried = kindsOf(cases());
    tried.merge(std::set<std::string_view>{"Rank", "Lstm", "LstmSequence", "QuantizedLstm",
                                           "Quantized16BitLstm"});
    const std::set<std::string_view> kernels = {
#define HALYARD_REFERENCE_KERNEL(Descriptor) #Descriptor,
#include "engine/reference/kernels.inc"
#undef HALYARD_REFERENCE_KERNEL
    };
    EXPECT_EQ(tried, kernels);
}

TEST(Deadline, StopsAHugeNode) {
    // 10^13 products: hours.
    const Shape image = {1, 1000, 1000, 8};
    const Shape filter = {8, 400, 400, 8};
    const std::vector<std::optional<Values>> inputs = {
            floats(image, std::vector<float>(static_cast<size_t>(*image.elementCount()))),
            floats(filter, std::vector<float>(static_cast<size_t>(*filter.elementCount()))),
            floats({8}, std::vector<float>(8))};
    const auto soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
    const Conv2d node = {.window = {.padding = PaddingScheme::SAME}};
    EXPECT_EQ(evaluateAll(node, inputs, {f32({}).type}, Checkpoint(soon)).status().code(),
              StatusCode::DEADLINE_EXCEEDED);
}

}  // namespace
}  // namespace halyard::engine::ref_test
