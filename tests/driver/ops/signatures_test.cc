// SPDX-License-Identifier: Apache-2.0
//
// Version gating and the rules that operations have beyond their structure.

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

namespace halyard::driver {
namespace {

using enum OperandType;

// One operation whose operands all come from, or go to, the outside.
class SingleOperation {
  public:
    explicit SingleOperation(OperationType type) : mType(type) {}
    SingleOperation& input(const OperandSpec& spec) {
        mInputs.push_back(mBuilder.input(spec));
        return *this;
    }
    SingleOperation& inputs(OperandType type, size_t count) {
        for (size_t i = 0; i < count; ++i) {
            input({type, {}});
        }
        return *this;
    }
    template <typename T>
    SingleOperation& constant(OperandType type, T value) {
        mInputs.push_back(mBuilder.constant<T>({type, {}}, {value}));
        return *this;
    }
    SingleOperation& output(const OperandSpec& spec) {
        mOutputs.push_back(mBuilder.output(spec));
        return *this;
    }
    Operand& operand(uint32_t index) { return mBuilder.operand(index); }
    Operand& firstOutput() { return operand(mOutputs.front()); }
    ModelBuilder& builder() { return mBuilder; }
    Model build() {
        mBuilder.operation(mType, mInputs, mOutputs);
        return mBuilder.build();
    }

  private:
    OperationType mType;
    ModelBuilder mBuilder;
    std::vector<uint32_t> mInputs;
    std::vector<uint32_t> mOutputs;
};

void expectSince(const Model& model, HalVersion since, const std::string& what) {
    for (const HalVersion version : kVersions) {
        const Status status = validateOperations(model, version);
        EXPECT_EQ(status.code(), version < since ? StatusCode::INVALID_ARGUMENT : StatusCode::OK)
                << what << " in HAL " << toString(version) << ": " << status.toString();
    }
}

void expectNever(const Model& model, const std::string& what) {
    for (const HalVersion version : kVersions) {
        EXPECT_EQ(validateOperations(model, version).code(), StatusCode::INVALID_ARGUMENT)
                << what << " in HAL " << toString(version);
    }
}

// A quantised operand's scale and zero point that every rule accepts: inputs share one, outputs
// that are probabilities have theirs.
OperandSpec plausible(OperandType type) {
    switch (type) {
        case TENSOR_QUANT8_ASYMM:
        case TENSOR_QUANT8_ASYMM_SIGNED:
        case TENSOR_QUANT8_SYMM:
            return {type, {}, 1.0F / 256.0F, type == TENSOR_QUANT8_ASYMM_SIGNED ? -128 : 0};
        case TENSOR_INT32:
            return {type, {}, 1.0F / 65536.0F, 0};
        case TENSOR_QUANT16_ASYMM:
            return {type, {}, 1.0F / 8.0F, 0};
        case TENSOR_QUANT16_SYMM:
            return {type, {}, 1.0F / 2048.0F, 0};
        default:
            return {type, {}};
    }
}

// Applies the further rules of some operations.
void makePlausible(OperationType type, SingleOperation& operation) {
    if (type == OperationType::SOFTMAX) {
        operation.operand(0).dimensions = {2, 2};  // its rank matters before 1.2
    }
    if (type == OperationType::L2_NORMALIZATION ||
        type == OperationType::LOCAL_RESPONSE_NORMALIZATION) {
        operation.operand(0).dimensions = {1, 2, 2, 2};  // as does this
    }
    if (type == OperationType::TANH || type == OperationType::L2_NORMALIZATION) {
        Operand& output = operation.firstOutput();
        output.scale = output.scale == 0.0F ? 0.0F : 1.0F / 128.0F;
        output.zeroPoint = output.type == TENSOR_QUANT8_ASYMM ? 128 : 0;
    }
    if (type == OperationType::GENERATE_PROPOSALS) {
        Operand& anchors = operation.operand(2);
        anchors.scale = anchors.scale == 0.0F ? 0.0F : 1.0F / 8.0F;
    }
    if (type == OperationType::HASHTABLE_LOOKUP) {
        operation.operand(4).scale = 1.0F;  // the hits
    }
    if (type == OperationType::QUANTIZED_16BIT_LSTM) {
        for (const uint32_t value : {0U, 14U, 16U}) {
            operation.operand(value).scale = 1.0F / 128.0F;
            operation.operand(value).zeroPoint = 128;
        }
        for (uint32_t weights = 1; weights <= 8; ++weights) {
            operation.operand(weights).scale = 1.0F / 512.0F;
        }
    }
}

// The types that a form and a row take, as text.
std::string describe(OperationType type, const FormTypes& types) {
    std::string text = describe(type);
    for (const OperandType input : types.inputs) {
        text += " " + describe(input);
    }
    text += " ->";
    for (const OperandType output : types.outputs) {
        text += " " + describe(output);
    }
    return text;
}

TEST(Signatures, HoldFromTheirVersionOn) {
    ASSERT_GE(allOperations().size(), 94U);
    for (const OperationDefinition& definition : allOperations()) {
        forEachForm(definition, [&](const Form& form, const TypeRow& row) {
            const FormTypes types = typesOf(form, row);
            if (std::ranges::count(types.inputs, SUBGRAPH) > 0) {
                return;  // control_flow_test.cc: it takes a model with subgraphs
            }
            SingleOperation operation(definition.type);
            for (const OperandType type : types.inputs) {
                operation.input(plausible(type));
            }
            for (const OperandType type : types.outputs) {
                operation.output(plausible(type));
            }
            makePlausible(definition.type, operation);
            const std::string what = describe(definition.type, types);
            const HalVersion since = std::max(form.since, row.since);
            EXPECT_GE(since, *introducedIn(definition.type)) << what;
            expectSince(operation.build(), since, what);
        });
    }
}

bool hasOutput(const Form& form, std::string_view name) {
    return std::ranges::find(form.outputs, name, &OperandForm::name) != form.outputs.end();
}

// A scalar's value that every operation takes: with INT32 there is no activation, a window has no
// padding as wide as itself, and images can't have both their corners and their centres aligned.
// The flag that merges outputs goes with the outputs that the form has.
void addConstant(SingleOperation& operation, const Form& form, size_t input, OperandType type) {
    const std::string_view name = form.inputs[input].name;
    const std::set<std::string_view> zeros = {"activation",    "nms_kernel",  "padding_left",
                                              "padding_right", "padding_top", "padding_bottom"};
    switch (type) {
        case INT32:
            operation.constant<int32_t>(type, zeros.contains(name) ? 0 : 1);
            break;
        case FLOAT32:
            operation.constant<float>(type, 1.0F);
            break;
        case FLOAT16:
            operation.constant<uint16_t>(type, toHalf(1.0F).bits);
            break;
        default:
            operation.constant<uint8_t>(type,
                                        name == "merge_outputs" && !hasOutput(form, "bw_output"));
    }
}

// Nothing is refused that the table lists: not by lowering, not by inference, not by CpuRef. Most
// operands have no ranks, so that only types, quantisation and scalars count.
TEST(Signatures, ArePreparedByCpuRef) {
    const std::unique_ptr<Device> device = makeDevice();
    for (const OperationDefinition& definition : allOperations()) {
        forEachForm(definition, [&](const Form& form, const TypeRow& row) {
            const FormTypes types = typesOf(form, row);
            if (std::ranges::count(types.inputs, SUBGRAPH) > 0) {
                return;
            }
            SingleOperation operation(definition.type);
            for (size_t i = 0; i < types.inputs.size(); ++i) {
                const OperandType type = types.inputs[i];
                if (findOperandType(type)->kind == OperandKind::SCALAR) {
                    addConstant(operation, form, i, type);
                    continue;
                }
                operation.input(plausible(type));
                if (type == TENSOR_QUANT8_SYMM_PER_CHANNEL) {
                    Operand& operand = operation.operand(static_cast<uint32_t>(i));
                    const bool isLast = definition.type == OperationType::DEPTHWISE_CONV_2D;
                    operand.dimensions = {1, 1, 1, 1};
                    operand.extraParams = SymmPerChannelQuantParams{.scales = {0.5F},
                                                                    .channelDim = isLast ? 3U : 0U};
                }
            }
            for (const OperandType type : types.outputs) {
                operation.output(plausible(type));
            }
            makePlausible(definition.type, operation);
            const Model model = operation.build();
            const std::string what = describe(definition.type, types);
            EXPECT_TRUE(device->prepare(model, kNewestVersion, {}).ok()) << what;
            const auto supported = device->supportedOperations(model, kNewestVersion);
            ASSERT_TRUE(supported.ok()) << what << supported.status().toString();
            EXPECT_TRUE(supported->at(0)) << what;
        });
    }
}

TEST(Signatures, AreListedOnce) {
    for (const OperationDefinition& definition : allOperations()) {
        std::set<std::string> known;
        forEachForm(definition, [&](const Form& form, const TypeRow& row) {
            const std::string what = describe(definition.type, typesOf(form, row));
            EXPECT_TRUE(known.insert(what).second) << what;
        });
    }
}

TEST(Signatures, NameEachOperandOfAFormOnce) {
    for (const OperationDefinition& definition : allOperations()) {
        for (const Form& form : definition.forms) {
            for (const OperandForms& list : {form.inputs, form.outputs}) {
                std::set<std::string_view> names;
                for (const OperandForm& operand : list) {
                    EXPECT_FALSE(operand.name.empty()) << describe(definition.type);
                    EXPECT_TRUE(names.insert(operand.name).second)
                            << describe(definition.type) << " " << operand.name;
                }
                EXPECT_LE(std::ranges::count(list, true, &OperandForm::repeats), 1);
            }
        }
    }
}

TEST(Signatures, HaveATypeInEachRowForEachColumn) {
    for (const OperationDefinition& definition : allOperations()) {
        ASSERT_FALSE(definition.forms.empty());
        ASSERT_FALSE(definition.rows.empty());
        for (const Form& form : definition.forms) {
            for (const OperandForm& operand : join({form.inputs, form.outputs})) {
                const auto* column = std::get_if<Column>(&operand.type);
                for (const TypeRow& row : definition.rows) {
                    EXPECT_TRUE(column == nullptr || column->index < row.types.size())
                            << describe(definition.type) << " " << operand.name;
                }
            }
        }
    }
}

TEST(Signatures, RejectMeanIn1_0) {
    ModelBuilder builder;
    const uint32_t input = builder.input(floats({2, 2}));
    const uint32_t axes = builder.constant<int32_t>({TENSOR_INT32, {1}}, {0});
    const uint32_t keep = builder.int32(0);
    const uint32_t output = builder.output(floats({2}));
    builder.operation(OperationType::MEAN, {input, axes, keep}, {output});
    const std::unique_ptr<Device> device = makeDevice();
    for (const HalVersion version : kVersions) {
        EXPECT_EQ(device->prepare(builder.build(), version, {}).ok(), version > HalVersion::V1_0);
        EXPECT_EQ(device->supportedOperations(builder.build(), version).ok(),
                  version > HalVersion::V1_0);
    }
}

TEST(Signatures, RejectOmittedInputs) {
    ModelBuilder builder;
    const uint32_t input = builder.omitted(floats({2, 2}));
    const uint32_t output = builder.output(floats({2, 2}));
    builder.operation(OperationType::RELU, {input}, {output});
    expectNever(builder.build(), "RELU of nothing");
    EXPECT_EQ(validateOperations(builder.build(), HalVersion::V1_3).message(),
              "operation 0 (RELU): the input (input 0, operand 0) can't be omitted");
}

TEST(Signatures, AcceptOmittedInputsWhereTheFormSaysSo) {
    for (const auto& [type, version] : {std::pair{OperationType::SQUEEZE, HalVersion::V1_1},
                                        std::pair{OperationType::TRANSPOSE, HalVersion::V1_1}}) {
        ModelBuilder builder;
        const uint32_t input = builder.input(floats({2, 1}));
        const uint32_t control = builder.omitted({TENSOR_INT32, {0}});
        builder.operation(type, {input, control}, {builder.output(floats({2}))});
        expectSince(builder.build(), version, describe(type));
        builder.operand(control).type = TENSOR_FLOAT32;
        expectNever(builder.build(), "an omitted operand of another type");
    }
}

// LSTM with some of its inputs omitted.
Model lstmWithout(const std::vector<size_t>& omitted, size_t count) {
    ModelBuilder builder;
    std::vector<uint32_t> inputs;
    for (size_t i = 0; i < count; ++i) {
        const OperandSpec spec = {i == 20              ? INT32
                                  : i == 21 || i == 22 ? FLOAT32
                                                       : TENSOR_FLOAT32,
                                  {}};
        inputs.push_back(std::ranges::count(omitted, i) > 0 ? builder.omitted(spec)
                                                            : builder.input(spec));
    }
    std::vector<uint32_t> outputs;
    for (size_t i = 0; i < 4; ++i) {
        outputs.push_back(builder.output(floats({})));
    }
    return builder.operation(OperationType::LSTM, inputs, outputs).build();
}

TEST(Signatures, LstmCanDoWithoutGatesPeepholesProjectionAndNorms) {
    expectSince(lstmWithout({}, 23), HalVersion::V1_0, "everything");
    expectSince(lstmWithout({1, 5, 9, 10, 11, 12, 16, 17}, 23), HalVersion::V1_0, "the least");
    expectSince(lstmWithout({}, 27), HalVersion::V1_2, "everything, layer norm");
    expectSince(lstmWithout({1, 5, 9, 10, 11, 12, 16, 17, 23, 24, 25, 26}, 27), HalVersion::V1_2,
                "the least, layer norm");
    for (const size_t needed : {0U, 2U, 3U, 4U, 6U, 7U, 8U, 13U, 14U, 15U, 18U, 19U, 20U, 22U}) {
        expectNever(lstmWithout({needed}, 23), "without input " + std::to_string(needed));
    }
}

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
