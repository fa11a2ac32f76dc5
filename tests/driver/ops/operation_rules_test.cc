// SPDX-License-Identifier: Apache-2.0
//
// The rules that operations have beyond their structure, and the messages that name them.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "driver/ops/operation_table.h"
#include "driver/ops/operation_view.h"
#include "engine/base/half.h"
#include "tests/driver/device_fixture.h"
#include "tests/driver/form_types.h"
#include "tests/driver/model_builder.h"
#include "tests/driver/ops/single_operation.h"

namespace halyard::driver {
namespace {

using enum OperandType;

// ---- Normalisation, boxes -----------------------------------------------------------------------

TEST(NormalisationRules, NeedFourAxesBefore1_2) {
    for (const auto& [type, scalars] :
         {std::pair{OperationType::L2_NORMALIZATION, std::vector<OperandType>{}},
          {OperationType::LOCAL_RESPONSE_NORMALIZATION, {INT32, FLOAT32, FLOAT32, FLOAT32}}}) {
        const auto model = [&](std::vector<uint32_t> dimensions) {
            SingleOperation operation(type);
            operation.input({TENSOR_FLOAT32, std::move(dimensions)});
            for (const OperandType scalar : scalars) {
                operation.input({scalar, {}});
            }
            return operation.output({TENSOR_FLOAT32, {}}).build();
        };
        expectSince(model({1, 2, 2, 2}), HalVersion::V1_0, describe(type));
        expectSince(model({2, 2}), HalVersion::V1_2, describe(type));
        expectSince(model({}), HalVersion::V1_2, describe(type));
        expectNever(model({1, 1, 2, 2, 2}), describe(type) + " of five axes");
    }
}

TEST(NormalisationRules, NeedLengthsIn128ths) {
    const auto model = [](OperandType type, float scale, int32_t zeroPoint) {
        return SingleOperation(OperationType::L2_NORMALIZATION)
                .input({type, {2, 2}, 0.5F})
                .output({type, {}, scale, zeroPoint})
                .build();
    };
    constexpr float kScale = 1.0F / 128.0F;
    expectSince(model(TENSOR_QUANT8_ASYMM, kScale, 128), HalVersion::V1_2, "unsigned");
    expectSince(model(TENSOR_QUANT8_ASYMM_SIGNED, kScale, 0), HalVersion::V1_3, "signed");
    expectNever(model(TENSOR_QUANT8_ASYMM, kScale, 0), "another zero point");
    expectNever(model(TENSOR_QUANT8_ASYMM, 1.0F / 256.0F, 128), "another scale");
    expectNever(model(TENSOR_QUANT8_ASYMM_SIGNED, kScale, 128), "another zero point");
}

TEST(ResizingRules, NeedALayoutForTheNearestPixel) {
    const auto model = [](OperationType type, const std::vector<OperandType>& scalars) {
        SingleOperation operation(type);
        operation.input(floats({1, 2, 2, 1}));
        for (const OperandType scalar : scalars) {
            operation.input({scalar, {}});
        }
        return operation.output(floats({})).build();
    };
    using enum OperationType;
    expectSince(model(RESIZE_BILINEAR, {INT32, INT32}), HalVersion::V1_0, "size");
    expectSince(model(RESIZE_BILINEAR, {FLOAT32, FLOAT32}), HalVersion::V1_2, "scale");
    expectNever(model(RESIZE_BILINEAR, {INT32, FLOAT32}), "both");
    expectNever(model(RESIZE_BILINEAR, {FLOAT16, FLOAT16}), "a scale of another type");
    expectNever(model(RESIZE_NEAREST_NEIGHBOR, {INT32, INT32}), "no layout");
    expectSince(model(RESIZE_NEAREST_NEIGHBOR, {INT32, INT32, BOOL}), HalVersion::V1_2, "layout");
    expectSince(model(RESIZE_NEAREST_NEIGHBOR, {FLOAT32, FLOAT32, BOOL, BOOL}), HalVersion::V1_3,
                "corners");
    expectSince(model(RESIZE_BILINEAR, {INT32, INT32, BOOL, BOOL, BOOL}), HalVersion::V1_3,
                "centres");
    expectNever(model(RESIZE_BILINEAR, {INT32, INT32, BOOL, BOOL, BOOL, BOOL}), "one too many");
}

TEST(ResizingRules, KeepScaleAndZeroPoint) {
    const auto model = [](float scale, std::vector<uint32_t> dimensions) {
        return SingleOperation(OperationType::RESIZE_BILINEAR)
                .input({TENSOR_QUANT8_ASYMM, std::move(dimensions), 0.5F})
                .inputs(INT32, 2)
                .output({TENSOR_QUANT8_ASYMM, {}, scale})
                .build();
    };
    expectSince(model(0.5F, {1, 2, 2, 1}), HalVersion::V1_2, "the same");
    expectNever(model(0.25F, {1, 2, 2, 1}), "another scale");
    expectNever(model(0.5F, {2, 2, 1}), "rank 3");
}

TEST(BoxRules, NeedEighthsOfAPixel) {
    const auto model = [](float boxes, float images, float output, int32_t zeroPoint) {
        return SingleOperation(OperationType::AXIS_ALIGNED_BBOX_TRANSFORM)
                .input({TENSOR_QUANT16_ASYMM, {2, 4}, boxes})
                .input({TENSOR_QUANT8_ASYMM, {2, 8}, 0.05F})
                .input({TENSOR_INT32, {2}})
                .input({TENSOR_QUANT16_ASYMM, {1, 2}, images})
                .output({TENSOR_QUANT16_ASYMM, {2, 8}, output, zeroPoint})
                .build();
    };
    expectSince(model(0.125F, 0.125F, 0.125F, 0), HalVersion::V1_2, "eighths");
    expectNever(model(0.25F, 0.125F, 0.125F, 0), "boxes");
    expectNever(model(0.125F, 0.25F, 0.125F, 0), "images");
    expectNever(model(0.125F, 0.125F, 0.25F, 0), "output");
    expectNever(model(0.125F, 0.125F, 0.125F, 1), "zero point");
}

TEST(BoxRules, NeedKeypointsInEighthsOfAPixel) {
    const auto model = [](float keypoints, float scores) {
        return SingleOperation(OperationType::HEATMAP_MAX_KEYPOINT)
                .input({TENSOR_QUANT8_ASYMM, {2, 4, 4, 1}, 0.5F})
                .input({TENSOR_QUANT16_ASYMM, {2, 4}, 0.125F})
                .input({BOOL, {}})
                .output({TENSOR_QUANT8_ASYMM, {2, 1}, scores})
                .output({TENSOR_QUANT16_ASYMM, {2, 1, 2}, keypoints})
                .build();
    };
    expectSince(model(0.125F, 0.25F), HalVersion::V1_2, "scores of another scale");
    expectNever(model(0.25F, 0.5F), "keypoints of another scale");
}

SingleOperation quantConv(float inputScale, float filterScale, float biasScale, float outputScale) {
    SingleOperation operation(OperationType::CONV_2D);
    operation.input({TENSOR_QUANT8_ASYMM, {}, inputScale})
            .input({TENSOR_QUANT8_ASYMM, {}, filterScale})
            .input({TENSOR_INT32, {}, biasScale})
            .inputs(INT32, 4)
            .output({TENSOR_QUANT8_ASYMM, {}, outputScale});
    return operation;
}

TEST(ConvolutionRules, NeedACoarserOutputBefore1_2) {
    expectSince(quantConv(0.5F, 0.5F, 0.25F, 0.26F).build(), HalVersion::V1_0, "coarser");
    expectSince(quantConv(0.5F, 0.5F, 0.25F, 0.25F).build(), HalVersion::V1_2, "equal");
    expectSince(quantConv(0.5F, 0.5F, 0.25F, 0.1F).build(), HalVersion::V1_2, "finer");
}

TEST(ConvolutionRules, NeedTheBiasScaleToBeTheProduct) {
    expectNever(quantConv(0.5F, 0.5F, 0.3F, 1.0F).build(), "another bias scale");
    expectNever(quantConv(0.5F, 0.5F, 0.0F, 1.0F).build(), "no bias scale");
    expectSince(quantConv(0.1F, 0.3F, 0.1F * 0.3F, 1.0F).build(), HalVersion::V1_0, "rounded");
}

TEST(ConvolutionRules, NeedRankFour) {
    for (const uint32_t operand : {0U, 1U}) {
        SingleOperation operation = quantConv(0.5F, 0.5F, 0.25F, 1.0F);
        operation.operand(operand).dimensions = {1, 2, 3};
        expectNever(operation.build(), "rank 3");
    }
}

TEST(ConvolutionRules, NeedChannelScalesAlongTheOutputChannels) {
    for (const auto& [type, scalars, right] :
         {std::tuple{OperationType::CONV_2D, size_t{4}, 0U},
          std::tuple{OperationType::DEPTHWISE_CONV_2D, size_t{5}, 3U}}) {
        for (const uint32_t channelDim : {0U, 1U, 2U, 3U}) {
            SingleOperation operation(type);
            operation.input({TENSOR_QUANT8_ASYMM, {}, 0.5F})
                    .input({TENSOR_QUANT8_SYMM_PER_CHANNEL, {2, 2, 2, 2}})
                    .input({TENSOR_INT32, {}})
                    .inputs(INT32, scalars)
                    .output({TENSOR_QUANT8_ASYMM, {}, 1.0F});
            operation.operand(1).extraParams =
                    SymmPerChannelQuantParams{.scales = {1, 1}, .channelDim = channelDim};
            if (channelDim == right) {
                expectSince(operation.build(), HalVersion::V1_2, describe(type));
            } else {
                expectNever(operation.build(), describe(type));
            }
        }
    }
}

TEST(ConvolutionRules, TellFormsApartByTheTypeOfTheirScalars) {
    const auto conv = [](const std::vector<OperandType>& scalars) {
        SingleOperation operation(OperationType::CONV_2D);
        operation.inputs(TENSOR_FLOAT32, 3);
        for (const OperandType scalar : scalars) {
            operation.input({scalar, {}});
        }
        return operation.output({TENSOR_FLOAT32, {}}).build();
    };
    const std::vector<OperandType> implicit(4, INT32);
    const std::vector<OperandType> explicitPadding(7, INT32);
    const auto with = [](std::vector<OperandType> scalars,
                         std::initializer_list<OperandType> tail) {
        scalars.insert(scalars.end(), tail);
        return scalars;
    };
    expectSince(conv(implicit), HalVersion::V1_0, "implicit");
    expectSince(conv(with(implicit, {BOOL})), HalVersion::V1_2, "layout");
    expectNever(conv(with(implicit, {INT32})), "a scalar too many");
    expectNever(conv(with(implicit, {BOOL, INT32})), "one dilation of two");
    expectSince(conv(with(implicit, {BOOL, INT32, INT32})), HalVersion::V1_2, "dilation");
    expectSince(conv(explicitPadding), HalVersion::V1_0, "explicit");
    expectSince(conv(with(explicitPadding, {BOOL})), HalVersion::V1_2, "explicit, layout");
    expectNever(conv(with(explicitPadding, {BOOL, INT32})), "explicit, one dilation of two");
    expectSince(conv(with(explicitPadding, {BOOL, INT32, INT32})), HalVersion::V1_2,
                "explicit, dilation");
}

TEST(ConcatenationRules, NeedOneQuantizationBefore1_2) {
    const auto concatenation = [](float second) {
        return SingleOperation(OperationType::CONCATENATION)
                .input({TENSOR_QUANT8_ASYMM, {}, 0.5F, 3})
                .input({TENSOR_QUANT8_ASYMM, {}, second, 3})
                .input({INT32, {}})
                .output({TENSOR_QUANT8_ASYMM, {}, 0.5F, 3})
                .build();
    };
    const auto ranked = [](Model model) {
        for (Operand& operand : model.main.operands) {
            if (operand.type == TENSOR_QUANT8_ASYMM) {
                operand.dimensions = {2};
            }
        }
        return model;
    };
    expectSince(ranked(concatenation(0.5F)), HalVersion::V1_0, "one scale");
    expectSince(ranked(concatenation(0.25F)), HalVersion::V1_2, "two scales");
}

TEST(ConcatenationRules, TakeAnyNumberOfTensorsOfOneType) {
    const auto concatenation = [](const std::vector<OperandType>& tensors) {
        SingleOperation operation(OperationType::CONCATENATION);
        for (const OperandType type : tensors) {
            operation.input({type, {2}});
        }
        return operation.input({INT32, {}}).output(floats({0})).build();
    };
    expectSince(concatenation({TENSOR_FLOAT32}), HalVersion::V1_0, "one");
    expectSince(concatenation(std::vector<OperandType>(40, TENSOR_FLOAT32)), HalVersion::V1_0,
                "many");
    expectNever(concatenation({}), "none");
    expectNever(concatenation({TENSOR_FLOAT32, TENSOR_INT32}), "two types");
}

TEST(QuantizationRules, LetQuantizeTakeAnyRankAndDequantizeUpToFour) {
    const std::vector<uint32_t> shape(5, 2);
    OperandSpec bytes = plausible(TENSOR_QUANT8_ASYMM);
    bytes.dimensions = shape;
    expectSince(SingleOperation(OperationType::QUANTIZE).input(floats(shape)).output(bytes).build(),
                HalVersion::V1_2, "QUANTIZE of rank 5");
    expectNever(
            SingleOperation(OperationType::DEQUANTIZE).input(bytes).output(floats(shape)).build(),
            "DEQUANTIZE of rank 5");
}

TEST(SoftmaxRules, NeedRankTwoOrFourBefore1_2) {
    for (uint32_t rank = 1; rank <= 5; ++rank) {
        const Model model = SingleOperation(OperationType::SOFTMAX)
                                    .input(floats(std::vector<uint32_t>(rank, 2)))
                                    .input({FLOAT32, {}})
                                    .output(floats(std::vector<uint32_t>(rank, 2)))
                                    .build();
        if (rank > 4) {
            expectNever(model, "rank 5");
        } else {
            expectSince(model, rank % 2 == 0 ? HalVersion::V1_0 : HalVersion::V1_2,
                        "rank " + std::to_string(rank));
        }
    }
}

TEST(ProbabilityRules, NeedScale1Over256) {
    for (const OperationType type : {OperationType::LOGISTIC, OperationType::SOFTMAX}) {
        const auto model = [&](OperandType tensor, float scale, int32_t zeroPoint) {
            SingleOperation operation(type);
            operation.input({tensor, {2, 2}, 0.1F, 5});
            if (type == OperationType::SOFTMAX) {
                operation.input({FLOAT32, {}});
            }
            return operation.output({tensor, {2, 2}, scale, zeroPoint}).build();
        };
        expectSince(model(TENSOR_QUANT8_ASYMM, 1.0F / 256, 0), HalVersion::V1_0, describe(type));
        expectNever(model(TENSOR_QUANT8_ASYMM, 1.0F / 255, 0), "scale");
        expectNever(model(TENSOR_QUANT8_ASYMM, 1.0F / 256, 1), "zero point");
        expectSince(model(TENSOR_QUANT8_ASYMM_SIGNED, 1.0F / 256, -128), HalVersion::V1_3,
                    "signed");
        expectNever(model(TENSOR_QUANT8_ASYMM_SIGNED, 1.0F / 256, 0), "signed zero point");
    }
}

TEST(TanhRules, NeedScale1Over128AroundZero) {
    const auto model = [](OperandType tensor, float scale, int32_t zeroPoint) {
        return SingleOperation(OperationType::TANH)
                .input({tensor, {2, 2}, 0.1F, 5})
                .output({tensor, {2, 2}, scale, zeroPoint})
                .build();
    };
    expectSince(model(TENSOR_QUANT8_ASYMM, 1.0F / 128, 128), HalVersion::V1_2, "unsigned");
    expectSince(model(TENSOR_QUANT8_ASYMM_SIGNED, 1.0F / 128, 0), HalVersion::V1_3, "signed");
    expectNever(model(TENSOR_QUANT8_ASYMM, 1.0F / 256, 128), "scale");
    expectNever(model(TENSOR_QUANT8_ASYMM, 1.0F / 128, 0), "zero point");
    expectNever(model(TENSOR_QUANT8_ASYMM_SIGNED, 1.0F / 128, 128), "signed zero point");
}

TEST(QuantizationRules, KeepScaleAndZeroPointWhereElementsMove) {
    for (const OperationType type :
         {OperationType::EXPAND_DIMS, OperationType::SLICE, OperationType::STRIDED_SLICE,
          OperationType::TILE, OperationType::DEPTH_TO_SPACE, OperationType::SPACE_TO_DEPTH,
          OperationType::BATCH_TO_SPACE_ND, OperationType::CHANNEL_SHUFFLE,
          OperationType::EMBEDDING_LOOKUP, OperationType::REDUCE_MAX, OperationType::PAD_V2}) {
        const OperationDefinition& definition = *findOperation(type);
        const auto row =
                std::ranges::find(definition.rows, TENSOR_QUANT8_ASYMM,
                                  [](const TypeRow& candidate) { return candidate.types[0]; });
        ASSERT_NE(row, definition.rows.end());
        const auto statusOf = [&](float scale, int32_t zeroPoint) {
            SingleOperation operation(type);
            for (const OperandType input : typesOf(definition.forms.front(), *row).inputs) {
                input == TENSOR_QUANT8_ASYMM ? operation.input({input, {}, 0.5F, 10})
                                             : operation.input({input, {}});
            }
            operation.output({TENSOR_QUANT8_ASYMM, {}, scale, zeroPoint});
            return validateOperations(operation.build(), HalVersion::V1_3);
        };
        EXPECT_TRUE(statusOf(0.5F, 10).ok()) << describe(type) << statusOf(0.5F, 10).toString();
        EXPECT_EQ(statusOf(0.25F, 10).code(), StatusCode::INVALID_ARGUMENT) << describe(type);
        EXPECT_EQ(statusOf(0.5F, 11).code(), StatusCode::INVALID_ARGUMENT) << describe(type);
    }
}

TEST(QuantizationRules, KeepScaleAndZeroPointWhereValuesOnlyMove) {
    for (const OperationType type :
         {OperationType::RELU, OperationType::RELU1, OperationType::RELU6}) {
        const auto model = [&](float scale, int32_t zeroPoint) {
            return SingleOperation(type)
                    .input({TENSOR_QUANT8_ASYMM, {2}, 0.5F, 10})
                    .output({TENSOR_QUANT8_ASYMM, {2}, scale, zeroPoint})
                    .build();
        };
        expectSince(model(0.5F, 10), HalVersion::V1_0, describe(type));
        expectNever(model(0.25F, 10), describe(type));
        expectNever(model(0.5F, 11), describe(type));
    }
}

TEST(PadRules, NeedZeroPoint0Before1_2) {
    for (const int32_t zeroPoint : {0, 9}) {
        const Model model = SingleOperation(OperationType::PAD)
                                    .input({TENSOR_QUANT8_ASYMM, {2}, 0.5F, zeroPoint})
                                    .input({TENSOR_INT32, {1, 2}})
                                    .output({TENSOR_QUANT8_ASYMM, {0}, 0.5F, zeroPoint})
                                    .build();
        expectSince(model, zeroPoint == 0 ? HalVersion::V1_1 : HalVersion::V1_2, "PAD");
        const Model batches = SingleOperation(OperationType::SPACE_TO_BATCH_ND)
                                      .input({TENSOR_QUANT8_ASYMM, {}, 0.5F, zeroPoint})
                                      .input({TENSOR_INT32, {2}})
                                      .input({TENSOR_INT32, {2, 2}})
                                      .output({TENSOR_QUANT8_ASYMM, {}, 0.5F, zeroPoint})
                                      .build();
        expectSince(batches, zeroPoint == 0 ? HalVersion::V1_1 : HalVersion::V1_2, "batches");
    }
}

std::string messageFor(const Model& model, HalVersion version = HalVersion::V1_2) {
    return std::string(validateOperations(model, version).message());
}

TEST(Rules, NameTheOperationTheOperandAndTheRule) {
    EXPECT_EQ(
            messageFor(quantConv(0.5F, 0.5F, 0.3F, 1.0F).build()),
            "operation 0 (CONV_2D): the scale of the bias (input 2, operand 2) is not the product "
            "of those of the input (input 0, operand 0) and the filter (input 1, operand 1)");
}

TEST(Mismatches, NameTheOperandThatTheClosestFormTakesAsAnother) {
    const auto conv = [](OperandType input, OperandType filter, OperandType bias,
                         OperandType stride, OperandType output) {
        return SingleOperation(OperationType::CONV_2D)
                .input(plausible(input))
                .input(plausible(filter))
                .input(plausible(bias))
                .input({INT32, {}})
                .input({stride, {}})
                .inputs(INT32, 2)
                .output(plausible(output))
                .build();
    };
    EXPECT_EQ(
            messageFor(conv(TENSOR_FLOAT32, TENSOR_INT32, TENSOR_FLOAT32, INT32, TENSOR_FLOAT32)),
            "operation 0 (CONV_2D): the filter (input 1, operand 1) is TENSOR_INT32; HAL 1.2 takes "
            "TENSOR_FLOAT32 there");
    EXPECT_EQ(messageFor(conv(TENSOR_QUANT8_ASYMM, TENSOR_FLOAT32, TENSOR_INT32, INT32,
                              TENSOR_QUANT8_ASYMM)),
              "operation 0 (CONV_2D): the filter (input 1, operand 1) is TENSOR_FLOAT32; HAL 1.2 "
              "takes TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_SYMM_PER_CHANNEL there");
    EXPECT_EQ(
            messageFor(conv(TENSOR_FLOAT32, TENSOR_FLOAT32, TENSOR_FLOAT32, BOOL, TENSOR_FLOAT32)),
            "operation 0 (CONV_2D): the stride width (input 4, operand 4) is BOOL; HAL 1.2 takes "
            "INT32 there");
    EXPECT_EQ(messageFor(conv(TENSOR_FLOAT32, TENSOR_FLOAT32, TENSOR_FLOAT32, INT32, TENSOR_INT32)),
              "operation 0 (CONV_2D): the output (output 0, operand 7) is TENSOR_INT32; HAL 1.2 "
              "gives TENSOR_FLOAT32 there");
    EXPECT_EQ(messageFor(SingleOperation(OperationType::RELU)
                                 .input({TENSOR_INT32, {}})
                                 .output({TENSOR_INT32, {}})
                                 .build()),
              "operation 0 (RELU): the input (input 0, operand 0) is TENSOR_INT32; HAL 1.2 takes "
              "TENSOR_FLOAT32, TENSOR_FLOAT16 or TENSOR_QUANT8_ASYMM there");
    EXPECT_EQ(
            messageFor(SingleOperation(OperationType::CONCATENATION)
                               .inputs(TENSOR_FLOAT32, 2)
                               .input({TENSOR_INT32, {}})
                               .inputs(INT32, 1)
                               .output({TENSOR_FLOAT32, {}})
                               .build()),
            "operation 0 (CONCATENATION): one of the inputs (input 2, operand 2) is TENSOR_INT32; "
            "HAL 1.2 takes TENSOR_FLOAT32 there");
}

TEST(Mismatches, CountTheOperandsWhereNoFormHasSoMany) {
    EXPECT_EQ(
            messageFor(SingleOperation(OperationType::CONV_2D)
                               .inputs(TENSOR_FLOAT32, 3)
                               .output({TENSOR_FLOAT32, {}})
                               .build()),
            "operation 0 (CONV_2D): it has 3 inputs and 1 output; HAL 1.2 takes 7, 8, 10, 11 or 13 "
            "and gives 1");
    EXPECT_EQ(
            messageFor(SingleOperation(OperationType::CONV_2D)
                               .inputs(TENSOR_FLOAT32, 3)
                               .output({TENSOR_FLOAT32, {}})
                               .build(),
                       HalVersion::V1_0),
            "operation 0 (CONV_2D): it has 3 inputs and 1 output; HAL 1.0 takes 7 or 10 and gives "
            "1");
    EXPECT_EQ(messageFor(SingleOperation(OperationType::CONCATENATION)
                                 .inputs(INT32, 1)
                                 .output({TENSOR_FLOAT32, {}})
                                 .build()),
              "operation 0 (CONCATENATION): it has 1 input and 1 output; HAL 1.2 takes at least 2 "
              "and "
              "gives 1");
}

TEST(Mismatches, NameTheVersionThatBroughtTheForm) {
    const auto relu = [](OperandType type) {
        return SingleOperation(OperationType::RELU)
                .input(plausible(type))
                .output(plausible(type))
                .build();
    };
    EXPECT_EQ(messageFor(relu(TENSOR_FLOAT16), HalVersion::V1_1),
              "operation 0 (RELU): it takes such operands from HAL 1.2 on, and this is HAL 1.1");
    EXPECT_EQ(messageFor(SingleOperation(OperationType::MEAN)
                                 .inputs(INT32, 1)
                                 .output({TENSOR_FLOAT32, {}})
                                 .build(),
                         HalVersion::V1_0),
              "operation 0 (MEAN): HAL 1.0 does not have the operation");
}

TEST(OperationViews, RememberANameThatNoFormHas) {
    const Model model = quantConv(0.5F, 0.5F, 0.25F, 1.0F).build();
    const OperationDefinition* definition = findOperation(OperationType::CONV_2D);
    ASSERT_NE(definition, nullptr);
    const Result<OperationView> view = OperationView::make(
            model, model.main, model.main.operations[0], *definition, HalVersion::V1_0);
    ASSERT_TRUE(view.ok());
    EXPECT_EQ(view->input("bias").index, 2U);
    EXPECT_EQ(view->input("activation").index, 6U);
    EXPECT_EQ(view->output("output").index, 7U);
    // A name of another form is known; the operand is not there.
    EXPECT_FALSE(view->has("layout"));
    EXPECT_TRUE(view->input("padding_left").omitted());
    EXPECT_TRUE(view->checkNames().ok());
    EXPECT_FALSE(view->has("fliter"));
    EXPECT_EQ(view->checkNames().code(), StatusCode::INTERNAL);
    EXPECT_NE(view->checkNames().message().find("\"fliter\""), std::string_view::npos);
}

}  // namespace
}  // namespace halyard::driver
