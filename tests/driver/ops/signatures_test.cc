// SPDX-License-Identifier: Apache-2.0
//
// Version gating of operations, and the forms that they take.

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

}  // namespace
}  // namespace halyard::driver
