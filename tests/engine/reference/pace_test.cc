// SPDX-License-Identifier: Apache-2.0
//
// A kernel looks at the checkpoint at least once in 2^20 operations, however few elements its
// output has: here the work lies in one element, one row or one block that is copied. Work is
// counted, not timed.

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/graph/recurrence.h"
#include "tests/engine/counting_condition.h"
#include "tests/engine/reference/evaluation.h"
#include "tests/engine/reference/large_node.h"

namespace halyard::engine::ref_test {
namespace {

// Operations of every case, at least.
constexpr int32_t kHuge = 1 << 22;
constexpr int32_t kSide = 1 << 11;
constexpr size_t kFewestQuestions = kHuge >> 20;

using Inputs = std::vector<std::optional<Values>>;

// Without input gate, peepholes and whatever else may be left out. `x` and `units`: sizes.
LargeNode lstmCase(const std::string& name, int32_t x, int32_t units) {
    Inputs inputs(lstm::kAux);
    inputs[lstm::kX] = f32({1, x});
    for (const size_t gate :
         {lstm::kInputToForgetWeights, lstm::kInputToCellWeights, lstm::kInputToOutputWeights}) {
        inputs[gate] = f32({units, x});
    }
    for (const size_t gate : {lstm::kRecurrentToForgetWeights, lstm::kRecurrentToCellWeights,
                              lstm::kRecurrentToOutputWeights}) {
        inputs[gate] = f32({units, 1});
    }
    for (const size_t gate : {lstm::kForgetGateBias, lstm::kCellGateBias, lstm::kOutputGateBias}) {
        inputs[gate] = f32({units});
    }
    if (units > 1) {
        inputs[lstm::kProjectionWeights] = f32({1, units});
    }
    inputs[lstm::kOutputState] = f32({1, 1});
    inputs[lstm::kCellState] = f32({1, units});
    return {name, Lstm(), inputs, std::vector<TensorType>(4, f32({}).type)};
}

LargeNode quantizedLstmCase(const std::string& name, int32_t x, int32_t units) {
    const auto q8s = [](Shape shape) { return zeros(DataType::QUANT8_ASYMM_SIGNED, shape, 0.01F); };
    const auto weights = [](Shape shape) { return zeros(DataType::QUANT8_SYMM, shape, 0x1p-8F); };
    Inputs inputs(lstm::kAux);
    inputs[lstm::kX] = q8s({1, x});
    for (const size_t gate :
         {lstm::kInputToForgetWeights, lstm::kInputToCellWeights, lstm::kInputToOutputWeights}) {
        inputs[gate] = weights({units, x});
    }
    for (const size_t gate : {lstm::kRecurrentToForgetWeights, lstm::kRecurrentToCellWeights,
                              lstm::kRecurrentToOutputWeights}) {
        inputs[gate] = weights({units, 1});
    }
    for (const size_t gate : {lstm::kForgetGateBias, lstm::kCellGateBias, lstm::kOutputGateBias}) {
        inputs[gate] = i32({units});
    }
    if (units > 1) {
        inputs[lstm::kProjectionWeights] = weights({1, units});
    }
    inputs[lstm::kOutputState] = q8s({1, 1});
    inputs[lstm::kCellState] = zeros(DataType::QUANT16_SYMM, {1, units}, 0x1p-12F);
    return {name,
            QuantizedLstm{.hiddenScale = 0.007F},
            inputs,
            {q8s({}).type, inputs[lstm::kCellState]->type, q8s({}).type}};
}

LargeNode quantized16BitLstmCase() {
    const auto x = [](Shape shape) { return zeros(DataType::QUANT8_ASYMM, shape, 0x1p-7F, 128); };
    Inputs inputs = {x({1, kHuge})};
    for (int gate = 0; gate < 4; ++gate) {
        inputs.emplace_back(q8({1, kHuge}));
    }
    for (int gate = 0; gate < 4; ++gate) {
        inputs.emplace_back(q8({1, 1}));
    }
    for (size_t i = 1; i < inputs.size(); ++i) {
        inputs[i]->type.quantization.scale = 0x1p-8F;
    }
    for (int gate = 0; gate < 4; ++gate) {
        inputs.emplace_back(i32({1}));
    }
    inputs.emplace_back(zeros(DataType::QUANT16_SYMM, {1, 1}, 0x1p-11F));
    inputs.emplace_back(x({1, 1}));
    const std::vector<TensorType> outputs = {inputs[13]->type, inputs[14]->type};
    return {"Quantized16BitLstm", Quantized16BitLstm(), inputs, outputs};
}

std::vector<LargeNode> cases() {
    const Shape deep = {1, 1, 1, kHuge};
    const Shape wide = {1, kSide, kSide, 1};
    const std::vector<TensorType> quant8 = {q8({}).type};
    const std::vector<TensorType> int32 = {i32({}).type};
    const Pool2d pool = {.filterH = kSide, .filterW = kSide};
    const Window2d cut = {.padding = PaddingScheme::EXPLICIT,
                          .top = kSide - 1,
                          .bottom = kSide - 1,
                          .left = kSide - 1,
                          .right = kSide - 1};
    return {
            {"Conv2dOfManyTaps", Conv2d(), {f32(wide), f32(wide), f32({1})}},
            {"Conv2dOfADeepTap", Conv2d(), {f32(deep), f32(deep), f32({1})}},
            {"Conv2dQuantized", Conv2d(), {q8(deep), q8(deep), i32({1})}, quant8},
            {"Conv2dOfHalves", Conv2d(), {f16(deep), f16(deep), f16({1})}, {f16({}).type}},
            {"Conv2dOfManyChannels",
             Conv2d(),
             {f32({1, 1, 1, 0}), f32({kHuge, 1, 1, 0}), f32({kHuge})}},
            {"DepthwiseConv2d", DepthwiseConv2d(), {f32(wide), f32(wide), f32({1})}},
            {"TransposeConv2dOfManyTaps",
             TransposeConv2d{.window = cut},
             {f32(wide), f32(wide), f32({1})}},
            {"TransposeConv2dOfADeepTap",
             TransposeConv2d{.window = {.padding = PaddingScheme::EXPLICIT}},
             {f32(deep), f32(deep), f32({1})}},
            {"FullyConnected", FullyConnected(), {f32({1, kHuge}), f32({1, kHuge}), f32({1})}},
            {"FullyConnectedQuantized",
             FullyConnected(),
             {q8({1, kHuge}), q8({1, kHuge}), i32({1})},
             quant8},
            {"PoolOfALargeWindow", pool, {f32(wide)}},
            {"PoolQuantized", pool, {q8(wide)}, quant8},
            {"PoolOfManyChannels", Pool2d{.filterH = 1, .filterW = 1}, {f32(deep)}},
            {"BatchMatmul", BatchMatmul(), {f32({1, kHuge}), f32({kHuge, 1})}},
            {"BatchMatmulInt", BatchMatmul(), {i32({1, kHuge}), i32({kHuge, 1})}, int32},
            {"BatchMatmulQuantized", BatchMatmul(), {q8({1, kHuge}), q8({kHuge, 1})}, quant8},
            {"Rnn",
             Rnn(),
             {f32({1, kHuge}), f32({1, kHuge}), f32({1, 1}), f32({1}), f32({1, 1})},
             {f32({}).type, f32({}).type}},
            {"RnnOfManyUnits",
             Rnn(),
             {f32({1, 1}), f32({kSide, 1}), f32({kSide, kSide}), f32({kSide}), f32({1, kSide})},
             {f32({}).type, f32({}).type}},
            {"SvdfOfALongInput",
             Svdf{.rank = 1},
             {f32({1, kHuge}), f32({1, kHuge}), f32({1, 1}), f32({1}), f32({1, 1})},
             {f32({}).type, f32({}).type}},
            {"SvdfOfALongMemory",
             Svdf{.rank = 1},
             {f32({1, 1}), f32({1, 1}), f32({1, kHuge}), f32({1}), f32({1, kHuge})},
             {f32({}).type, f32({}).type}},
            lstmCase("Lstm", kHuge, 1),
            lstmCase("LstmOfALongProjection", 1, kHuge),
            quantizedLstmCase("QuantizedLstm", kHuge, 1),
            quantizedLstmCase("QuantizedLstmOfALongProjection", 1, kHuge),
            quantized16BitLstmCase(),
            {"ResizeNearest",
             Resize{.function = Resize::Function::NEAREST, .height = 1, .width = 1},
             {f32(deep)}},
            {"ResizeBilinear", Resize{.height = 1, .width = 1}, {f32(deep)}},
            {"RoiAlign",
             RoiAlign{.height = 1, .width = 1, .samplesH = 1, .samplesW = 1},
             {f32(deep), f32({1, 4}), i32({1})}},
            {"RoiPool", RoiPool{.height = 1, .width = 1}, {f32(deep), f32({1, 4}), i32({1})}},
            {"HashtableLookup",
             HashtableLookup(),
             {i32({1}), i32({1}), f32({1, kHuge / 4})},
             {f32({}).type, q8({}).type}},
            {"HashtableLookupOfNoHit",
             HashtableLookup(),
             {ints({1}, {7}), i32({1}), f32({1, kHuge / 4})},
             {f32({}).type, q8({}).type}},
            {"LshProjection", LshProjection(), {f32({1, 1}), i32({1, kHuge / 4})}, int32},
            {"SpaceToBatch",
             SpaceToBatch(),
             {f32(deep), ints({2}, {1, 1}), ints({2, 2}, {0, 0, 0, 0})}},
            {"BoxWithNmsLimitOfOneBatch",
             BoxWithNmsLimit(),
             {f32({kHuge, 1}), f32({kHuge, 4}), i32({kHuge})},
             {f32({}).type, f32({}).type, i32({}).type, i32({}).type}},
            {"Concat", Concat{.axis = 0}, {f32({kHuge}), f32({kHuge})}},
            {"Gather", Gather(), {f32({1, kHuge}), ints({1}, {0})}},
            {"Softmax", Softmax{.axis = 0}, {f32({kHuge})}},
            {"LocalResponseNormalize", LocalResponseNormalize{.radius = kSide}, {f32({kSide})}},
            {"Reduce", Reduce(), {f32({kHuge}), ints({1}, {0})}},
            {"ArgMinMax", ArgMinMax(), {f32({kHuge})}, int32},
            {"TopK", TopK{.k = 1}, {f32({kHuge})}, {f32({}).type, i32({}).type}},
            {"RandomMultinomial", RandomMultinomial(), {f32({1, kHuge}), ints({2}, {1, 2})}, int32},
    };
}

class Pace : public testing::TestWithParam<LargeNode> {
  protected:
    static Status run(const StopCondition& condition) {
        const LargeNode& param = GetParam();
        return evaluateAll(param.node, param.allInputs(), param.allOutputs(),
                           Checkpoint().unless(&condition))
                .status();
    }
};

TEST_P(Pace, IsKeptInsideOneElement) {
    const CountingCondition never;
    const Status whole = run(never);
    ASSERT_TRUE(whole.ok()) << whole.toString();
    EXPECT_GE(never.asked(), kFewestQuestions);
    // Told to stop in the middle, it does no more.
    const CountingCondition half(never.asked() / 2);
    EXPECT_EQ(run(half).code(), StatusCode::UNAVAILABLE);
    EXPECT_LE(half.asked(), never.asked() / 2 + 1) << "nothing goes on after it was told to stop";
}

INSTANTIATE_TEST_SUITE_P(Kernels, Pace, testing::ValuesIn(cases()),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace halyard::engine::ref_test
