// SPDX-License-Identifier: Apache-2.0
//
// The nodes that operations become: their attributes, and which operand goes where.

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "driver/ops/operation_table.h"
#include "tests/driver/form_types.h"
#include "tests/driver/ops/lowered_graph.h"

namespace halyard::driver {
namespace {

using enum OperandType;
using engine::PaddingScheme;

// ---- Elementwise --------------------------------------------------------------------------------

TEST(LoweredNodes, SubtractWithTheirActivation) {
    const engine::Graph graph = OperationModel(OperationType::SUB)
                                        .input(kOpen)
                                        .input(kOpen)
                                        .int32(3)
                                        .output(kOpen)
                                        .graph();
    expectNode(graph, 0,
               engine::Binary{.function = engine::Binary::Function::SUB,
                              .activation = engine::Activation::RELU6},
               "in0 in1");
    EXPECT_EQ(graph.node(0).label, "operation 0 (SUB)");
    EXPECT_EQ(graph.node(0).sources, std::vector<uint32_t>{0});
}

TEST(LoweredNodes, Compare) {
    using Function = engine::Compare::Function;
    for (const auto& [type, function] : {std::pair{OperationType::LESS, Function::LESS},
                                         {OperationType::LESS_EQUAL, Function::LESS_EQUAL},
                                         {OperationType::GREATER, Function::GREATER},
                                         {OperationType::GREATER_EQUAL, Function::GREATER_EQUAL},
                                         {OperationType::EQUAL, Function::EQUAL},
                                         {OperationType::NOT_EQUAL, Function::NOT_EQUAL}}) {
        expectNode(
                OperationModel(type).input(kOpen).input(kOpen).output({TENSOR_BOOL8, {}}).graph(),
                0, engine::Compare{.function = function}, "in0 in1");
    }
}

TEST(LoweredNodes, Cast) {
    expectNode(OperationModel(OperationType::CAST).input(kOpen).output(ints({})).graph(), 0,
               engine::Cast{}, "in0");
}

TEST(LoweredNodes, CombineTwoTensors) {
    using Function = engine::Binary::Function;
    for (const auto& [type, function] : {std::pair{OperationType::MAXIMUM, Function::MAXIMUM},
                                         {OperationType::MINIMUM, Function::MINIMUM},
                                         {OperationType::POW, Function::POW},
                                         {OperationType::PRELU, Function::PRELU}}) {
        expectNode(OperationModel(type).input(kOpen).input(kOpen).output(kOpen).graph(), 0,
                   engine::Binary{.function = function}, "in0 in1");
    }
    expectNode(OperationModel(OperationType::DIV)
                       .input(kOpen)
                       .input(kOpen)
                       .int32(1)
                       .output(kOpen)
                       .graph(),
               0, engine::Binary{.function = Function::DIV, .activation = engine::Activation::RELU},
               "in0 in1");
}

TEST(LoweredNodes, CombineTruthValues) {
    const OperandSpec truths = {TENSOR_BOOL8, {}};
    using Function = engine::Binary::Function;
    for (const auto& [type, function] :
         {std::pair{OperationType::LOGICAL_AND, Function::LOGICAL_AND},
          {OperationType::LOGICAL_OR, Function::LOGICAL_OR}}) {
        expectNode(OperationModel(type).input(truths).input(truths).output(truths).graph(), 0,
                   engine::Binary{.function = function}, "in0 in1");
    }
    expectNode(OperationModel(OperationType::LOGICAL_NOT).input(truths).output(truths).graph(), 0,
               engine::Unary{.function = engine::Unary::Function::LOGICAL_NOT}, "in0");
    expectNode(OperationModel(OperationType::SELECT)
                       .input(truths)
                       .input(kOpen)
                       .input(kOpen)
                       .output(kOpen)
                       .graph(),
               0, engine::Select{}, "in0 in1 in2");
}

TEST(LoweredNodes, MapElements) {
    using Function = engine::Unary::Function;
    for (const auto& [type, function] : {std::pair{OperationType::ABS, Function::ABS},
                                         {OperationType::EXP, Function::EXP},
                                         {OperationType::FLOOR, Function::FLOOR},
                                         {OperationType::LOG, Function::LOG},
                                         {OperationType::NEG, Function::NEG},
                                         {OperationType::RSQRT, Function::RSQRT},
                                         {OperationType::SIN, Function::SIN},
                                         {OperationType::SQRT, Function::SQRT}}) {
        expectNode(OperationModel(type).input(kOpen).output(kOpen).graph(), 0,
                   engine::Unary{.function = function}, "in0");
    }
    expectNode(OperationModel(OperationType::TANH).input(kOpen).output(kOpen).graph(), 0,
               engine::Activate{.function = engine::Activate::Function::TANH}, "in0");
    const engine::Activate elu = {.function = engine::Activate::Function::ELU, .alpha = 0.5F};
    expectNode(OperationModel(OperationType::ELU).input(kOpen).float32(0.5F).output(kOpen).graph(),
               0, elu, "in0");
    const OperandSpec halves = {TENSOR_FLOAT16, {}};
    expectNode(
            OperationModel(OperationType::ELU).input(halves).float16(0.5F).output(halves).graph(),
            0, elu, "in0");
}

// ---- Reductions ---------------------------------------------------------------------------------

TEST(LoweredNodes, ReduceAlongAxes) {
    const auto reduce = [](OperationType type, const OperandSpec& tensor, bool keepDims) {
        return OperationModel(type)
                .input(tensor)
                .constant<int32_t>(ints({2}), {0, -1})
                .boolean(keepDims)
                .output(tensor)
                .graph();
    };
    using Function = engine::Reduce::Function;
    for (const auto& [type, function] : {std::pair{OperationType::REDUCE_MAX, Function::MAX},
                                         {OperationType::REDUCE_MIN, Function::MIN},
                                         {OperationType::REDUCE_PROD, Function::PROD},
                                         {OperationType::REDUCE_SUM, Function::SUM}}) {
        for (const bool keepDims : {false, true}) {
            expectNode(reduce(type, kOpen, keepDims), 0,
                       engine::Reduce{.function = function, .keepDims = keepDims}, "in0 {0, -1}");
        }
    }
    for (const auto& [type, function] : {std::pair{OperationType::REDUCE_ALL, Function::ALL},
                                         {OperationType::REDUCE_ANY, Function::ANY}}) {
        expectNode(reduce(type, {TENSOR_BOOL8, {}}, true), 0,
                   engine::Reduce{.function = function, .keepDims = true}, "in0 {0, -1}");
    }
}

TEST(LoweredNodes, FindTheIndexOfAnExtreme) {
    using Function = engine::ArgMinMax::Function;
    for (const auto& [type, function] : {std::pair{OperationType::ARGMAX, Function::MAX},
                                         {OperationType::ARGMIN, Function::MIN}}) {
        expectNode(OperationModel(type).input(kOpen).int32(-2).output(ints({})).graph(), 0,
                   engine::ArgMinMax{.function = function, .axis = -2}, "in0");
    }
}

// ---- Moving elements ----------------------------------------------------------------------------

TEST(LoweredNodes, TransposeByAListOrNone) {
    const auto transpose = [] { return OperationModel(OperationType::TRANSPOSE).input(kOpen); };
    expectNode(transpose().constant<int32_t>(ints({2}), {1, 0}).output(kOpen).graph(), 0,
               engine::Transpose{}, "in0 {1, 0}");
    expectNode(transpose().input(ints({})).output(kOpen).graph(), 0, engine::Transpose{},
               "in0 in1");
    expectNode(transpose().omitted(ints({})).output(kOpen).graph(), 0, engine::Transpose{},
               "in0 -");
}

TEST(LoweredNodes, SqueezeByAListOrNone) {
    const auto squeeze = [] { return OperationModel(OperationType::SQUEEZE).input(kOpen); };
    expectNode(squeeze().constant<int32_t>(ints({1}), {-1}).output(kOpen).graph(), 0,
               engine::Squeeze{}, "in0 {-1}");
    expectNode(squeeze().omitted(ints({})).output(kOpen).graph(), 0, engine::Squeeze{}, "in0 -");
}

TEST(LoweredNodes, SplitIntoAllOutputs) {
    const auto split = [](int32_t axis, int32_t count) {
        return OperationModel(OperationType::SPLIT)
                .input(kOpen)
                .int32(axis)
                .int32(count)
                .output(kOpen)
                .output(kOpen)
                .output(kOpen);
    };
    expectNode(split(-2, 3).graph(), 0, engine::Split{.axis = -2}, "in0", "out0 out1 out2");
    expectInvalid(split(0, 2),
                  "operation 0 (SPLIT): the count (input 2, operand 2) is 2, but the number of "
                  "outputs is 3");
    for (const int32_t count : {0, -3}) {
        expectInvalid(split(0, count), "operation 0 (SPLIT): the count (input 2, operand 2) is " +
                                               std::to_string(count) + ", below 1");
    }
}

TEST(LoweredNodes, ConcatenateInOrder) {
    expectNode(OperationModel(OperationType::CONCATENATION)
                       .input(kOpen)
                       .input(kOpen)
                       .int32(-1)
                       .output(kOpen)
                       .graph(),
               0, engine::Concat{.axis = -1}, "in0 in1");
}

TEST(LoweredNodes, SoftenAlongAnAxisOfAnUnknownRank) {
    expectNode(OperationModel(OperationType::SOFTMAX)
                       .input(kOpen)
                       .float32(2.0F)
                       .int32(-3)
                       .output(kOpen)
                       .graph(),
               0, engine::Softmax{.beta = 2.0F, .axis = -3}, "in0");
}

TEST(LoweredNodes, GatherByIndicesThatStandBehindTheAxis) {
    expectNode(OperationModel(OperationType::GATHER)
                       .input(kOpen)
                       .int32(-1)
                       .input(ints({}))
                       .output(kOpen)
                       .graph(),
               0, engine::Gather{.axis = -1}, "in0 in1");
}

TEST(LoweredNodes, TakeTheLargest) {
    const auto topK = [](int32_t k) {
        return OperationModel(OperationType::TOPK_V2)
                .input(kOpen)
                .int32(k)
                .output(kOpen)
                .output(ints({}));
    };
    expectNode(topK(2).graph(), 0, engine::TopK{.k = 2}, "in0", "out0 out1");
    expectInvalid(topK(0), "operation 0 (TOPK_V2): the k (input 1, operand 1) is 0, below 1");
}

TEST(LoweredNodes, LookRowsUp) {
    expectNode(OperationModel(OperationType::EMBEDDING_LOOKUP)
                       .input(ints({3}))
                       .input(kOpen)
                       .output(kOpen)
                       .graph(),
               0, engine::Gather{.axis = 0}, "in1 in0");
}

TEST(LoweredNodes, ExpandSliceAndTile) {
    expectNode(
            OperationModel(OperationType::EXPAND_DIMS).input(kOpen).int32(-1).output(kOpen).graph(),
            0, engine::ExpandDims{.axis = -1}, "in0");
    expectNode(OperationModel(OperationType::SLICE)
                       .input(kOpen)
                       .input(ints({}))
                       .input(ints({}))
                       .output(kOpen)
                       .graph(),
               0, engine::Slice{}, "in0 in1 in2");
    expectNode(OperationModel(OperationType::STRIDED_SLICE)
                       .input(kOpen)
                       .input(ints({}))
                       .input(ints({}))
                       .input(ints({}))
                       .int32s({1, 2, 4})
                       .output(kOpen)
                       .graph(),
               0, engine::StridedSlice{.beginMask = 1, .endMask = 2, .shrinkMask = 4},
               "in0 in1 in2 in3");
    expectNode(
            OperationModel(OperationType::TILE).input(kOpen).input(ints({})).output(kOpen).graph(),
            0, engine::Tile{}, "in0 in1");
}

TEST(LoweredNodes, PadWithAValue) {
    const auto pad = [] {
        return OperationModel(OperationType::PAD_V2).input(kOpen).input(ints({}));
    };
    expectNode(pad().float32(1.5F).output(kOpen).graph(), 0, engine::Pad{}, "in0 in1 constant");
    expectNode(pad().input({FLOAT32, {}}).output(kOpen).graph(), 0, engine::Pad{}, "in0 in1 in2");
    expectNode(
            OperationModel(OperationType::PAD).input(kOpen).input(ints({})).output(kOpen).graph(),
            0, engine::Pad{}, "in0 in1 -");
    const OperandSpec bytes = {TENSOR_QUANT8_ASYMM, {}, 0.5F, 3};
    expectNode(OperationModel(OperationType::PAD_V2)
                       .input(bytes)
                       .input(ints({}))
                       .input({INT32, {}})
                       .output(bytes)
                       .graph(),
               0, engine::Pad{}, "in0 in1 in2");
    const auto quantized = [](OperandType type, int32_t zeroPoint, int32_t value) {
        const OperandSpec spec = {type, {}, 0.5F, zeroPoint};
        return OperationModel(OperationType::PAD_V2)
                .input(spec)
                .input(ints({}))
                .int32(value)
                .output(spec);
    };
    expectNode(quantized(TENSOR_QUANT8_ASYMM, 3, 9).graph(), 0, engine::Pad{}, "in0 in1 {9}");
    expectNode(quantized(TENSOR_QUANT8_ASYMM_SIGNED, -3, -128).graph(), 0, engine::Pad{},
               "in0 in1 {-128}");
    for (const int32_t value : {-1, 256, std::numeric_limits<int32_t>::min()}) {
        expectInvalid(quantized(TENSOR_QUANT8_ASYMM, 3, value),
                      "operation 0 (PAD_V2): the padding value (input 2, operand 2) is " +
                              std::to_string(value) + ", not 0..255");
    }
    expectInvalid(quantized(TENSOR_QUANT8_ASYMM_SIGNED, 3, 128),
                  "operation 0 (PAD_V2): the padding value (input 2, operand 2) is 128, not "
                  "-128..127");
}

TEST(LoweredNodes, MoveBlocks) {
    const auto depth = [](OperationType type, int32_t block) {
        return OperationModel(type).input(kOpen).int32(block).output(kOpen);
    };
    expectNode(depth(OperationType::DEPTH_TO_SPACE, 2).graph(), 0, engine::DepthToSpace{.block = 2},
               "in0");
    expectNode(depth(OperationType::SPACE_TO_DEPTH, 3).graph(), 0, engine::SpaceToDepth{.block = 3},
               "in0");
    expectInvalid(depth(OperationType::SPACE_TO_DEPTH, 0),
                  "operation 0 (SPACE_TO_DEPTH): the block (input 1, operand 1) is 0, below 1");
    expectNode(OperationModel(OperationType::BATCH_TO_SPACE_ND)
                       .input(kOpen)
                       .input(ints({}))
                       .output(kOpen)
                       .graph(),
               0, engine::BatchToSpace{}, "in0 in1");
    const engine::Graph nchw = OperationModel(OperationType::SPACE_TO_BATCH_ND)
                                       .input(kOpen)
                                       .input(ints({}))
                                       .input(ints({}))
                                       .boolean(true)
                                       .output(kOpen)
                                       .graph();
    ASSERT_EQ(nchw.nodes().size(), 3U);
    expectNode(nchw, 1, engine::SpaceToBatch{}, "temporary in1 in2", "temporary");
    expectNode(OperationModel(OperationType::CHANNEL_SHUFFLE)
                       .input(kOpen)
                       .int32(3)
                       .int32(-1)
                       .output(kOpen)
                       .graph(),
               0, engine::ChannelShuffle{.groups = 3, .axis = -1}, "in0");
}

TEST(LoweredNodes, FillAndCountExtents) {
    const auto fill = [] { return OperationModel(OperationType::FILL).input(ints({})); };
    expectNode(fill().float32(1.5F).output(kOpen).graph(), 0, engine::Fill{}, "in0 constant");
    expectNode(fill().int32(2147483647).output(ints({})).graph(), 0, engine::Fill{},
               "in0 {2147483647}");
    expectNode(fill().input({INT32, {}}).output(ints({})).graph(), 0, engine::Fill{}, "in0 in1");
    const engine::Graph rank =
            OperationModel(OperationType::RANK).input(kOpen).output({INT32, {}}).graph();
    expectNode(rank, 0, engine::Rank{}, "in0");
    EXPECT_EQ(rank.tensor(rank.outputs()[0]).type.shape, engine::Shape());
}

TEST(LoweredNodes, PoolByTheRootOfSquares) {
    const engine::Graph graph = OperationModel(OperationType::L2_POOL_2D)
                                        .input(kOpen)
                                        .int32s({1, 2, 3, 4, 5, 0})
                                        .output(kOpen)
                                        .graph();
    expectNode(
            graph, 0,
            engine::Pool2d{.function = engine::Pool2d::Function::L2,
                           .window = {.padding = PaddingScheme::SAME, .strideH = 3, .strideW = 2},
                           .filterH = 5,
                           .filterW = 4},
            "in0");
}

// ---- Detection ----------------------------------------------------------------------------------

TEST(LoweredNodes, AlignRegions) {
    const auto align = [](const std::vector<int32_t>& extents, const std::vector<int32_t>& samples,
                          bool nchw) {
        return OperationModel(OperationType::ROI_ALIGN)
                .input(kOpen)
                .input(kOpen)
                .input(ints({}))
                .int32s(extents)
                .float32(2.0F)
                .float32(4.0F)
                .int32s(samples)
                .boolean(nchw)
                .output(kOpen);
    };
    const engine::RoiAlign node = {.height = 5,
                                   .width = 6,
                                   .heightRatio = 2.0F,
                                   .widthRatio = 4.0F,
                                   .samplesH = 0,
                                   .samplesW = 3};
    expectNode(align({5, 6}, {0, 3}, false).graph(), 0, node, "in0 in1 in2");
    const engine::Graph nchw = align({5, 6}, {0, 3}, true).graph();
    ASSERT_EQ(nchw.nodes().size(), 3U);
    expectNode(nchw, 0, engine::Transpose{}, "in0 {0, 2, 3, 1}", "temporary");
    expectNode(nchw, 1, node, "temporary in1 in2", "temporary");
    expectNode(nchw, 2, engine::Transpose{}, "temporary {0, 3, 1, 2}");
    expectInvalid(align({0, 6}, {0, 3}, false),
                  "operation 0 (ROI_ALIGN): the output height (input 3, operand 3) is 0, below 1");
    expectInvalid(align({5, 6}, {0, -1}, false),
                  "operation 0 (ROI_ALIGN): the width samples (input 8, operand 8) is -1, below 0");
}

TEST(LoweredNodes, LimitBoxes) {
    const auto limit = [](int32_t kernel) {
        return OperationModel(OperationType::BOX_WITH_NMS_LIMIT)
                .input(kOpen)
                .input(kOpen)
                .input(ints({}))
                .float32(0.25F)
                .int32(-1)
                .int32(kernel)
                .float32(0.5F)
                .float32(0.75F)
                .float32(0.125F)
                .output(kOpen)
                .output(kOpen)
                .output(ints({}))
                .output(ints({}));
    };
    using Kernel = engine::BoxWithNmsLimit::Kernel;
    for (const auto& [code, kernel] :
         {std::pair{0, Kernel::HARD}, {1, Kernel::LINEAR}, {2, Kernel::GAUSSIAN}}) {
        expectNode(limit(code).graph(), 0,
                   engine::BoxWithNmsLimit{.kernel = kernel,
                                           .scoreThreshold = 0.25F,
                                           .maxDetections = -1,
                                           .iouThreshold = 0.5F,
                                           .sigma = 0.75F,
                                           .nmsScoreThreshold = 0.125F},
                   "in0 in1 in2", "out0 out1 out2 out3");
    }
    for (const int32_t kernel : {-1, 3}) {
        expectInvalid(limit(kernel),
                      "operation 0 (BOX_WITH_NMS_LIMIT): the nms kernel (input 5, operand 5) is " +
                              std::to_string(kernel) + ", not 0..2");
    }
}

// ---- All of them --------------------------------------------------------------------------------

// An operation of that form with constants for all its scalars, and a subgraph to refer to.
Model modelOf(OperationType type, const FormTypes& types) {
    OperationModel model(type);
    const auto tensor = [](OperandType operand) {
        return OperandSpec{.type = operand, .dimensions = {1, 2, 2, 1}};
    };
    for (const OperandType input : types.inputs) {
        switch (input) {
            case INT32:
                model.int32(1);
                break;
            case FLOAT32:
                model.float32(1.0F);
                break;
            case FLOAT16:
                model.float16(1.0F);
                break;
            case BOOL:
                // Merged, the outputs of two directions and their states are odd in number.
                model.boolean(types.outputs.size() % 2 == 1);
                break;
            case SUBGRAPH:
                model.subgraph(0);
                break;
            default:
                model.input(tensor(input));
        }
    }
    for (const OperandType output : types.outputs) {
        model.output(tensor(output));
    }
    return model.build({OperationModel(OperationType::RELU)
                                .input(floats({1, 2, 2, 1}))
                                .output(floats({1, 2, 2, 1}))
                                .build()
                                .main});
}

// A name that no form has, or a scalar that this form lacks, would be an internal error.
TEST(Lowering, ReadsEveryFormByTheNamesOfItsOperands) {
    for (const OperationDefinition& definition : allOperations()) {
        if (definition.lower == nullptr) {
            continue;
        }
        for (const Form& form : definition.forms) {
            const Model model = modelOf(definition.type, typesOf(form, definition.rows.front()));
            const Status status =
                    lowerOperation(model, Constants(model, poolsOf(model)), 0).status();
            EXPECT_TRUE(status.ok()) << describe(definition.type) << ": " << status.toString();
        }
    }
}

TEST(Lowering, MarksConstantsThatAClientCanWriteTo) {
    const auto isShared = [](const engine::Graph& graph) {
        return graph.tensor(graph.node(0).inputs[1]).constant.shared;
    };
    const auto reshape = [] { return OperationModel(OperationType::RESHAPE).input(kOpen); };
    EXPECT_TRUE(isShared(reshape().pooled<int32_t>(ints({1}), {6}).output(kOpen).graph()));
    EXPECT_FALSE(isShared(reshape().constant<int32_t>(ints({1}), {6}).output(kOpen).graph()));
}

TEST(Lowering, StopsWhenItIsNoLongerWaitedFor) {
    const std::atomic<bool> cancelled = true;
    const Model model = OperationModel(OperationType::RELU).input(kOpen).output(kOpen).build();
    const Constants constants(model, poolsOf(model));
    EXPECT_EQ(lowerModel(model, constants, Checkpoint({}, &cancelled)).status().code(),
              StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace halyard::driver
