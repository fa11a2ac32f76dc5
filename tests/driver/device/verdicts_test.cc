// SPDX-License-Identifier: Apache-2.0
//
// A device's verdicts on the operations that it refuses: all of them at once, each with its rule.

#include "driver/model/verdicts.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "driver/model/extensions.h"
#include "driver/ops/lowest_version.h"
#include "tests/driver/device_fixture.h"
#include "tests/driver/model_builder.h"
#include "tests/driver/sample_models.h"

namespace halyard::driver {
namespace {

const OperandSpec kWhole = {OperandType::TENSOR_INT32, {4}};
const OperandSpec kFloats = floats({4});

struct Answer {
    Status status;
    std::vector<bool> supported;
    std::vector<Verdict> verdicts;
    size_t leftOut = 0;

    // "1 OPERAND_TYPE, 3 SHAPES".
    std::string rules() const {
        std::string text;
        for (const Verdict& verdict : verdicts) {
            text += (text.empty() ? "" : ", ") + std::to_string(verdict.operation) + " " +
                    std::string(nameOf(verdict.rule));
        }
        return text;
    }
};

Answer askedOf(const Device& device, const Model& model, HalVersion version = kNewestVersion) {
    Verdicts verdicts(model);
    const Result<std::vector<bool>> supported =
            device.supportedOperations(model, version, nullptr, &verdicts);
    return {.status = supported.status(),
            .supported = supported.ok() ? *supported : std::vector<bool>(),
            .verdicts = verdicts.take(),
            .leftOut = verdicts.leftOut()};
}

Answer asked(const Model& model, HalVersion version = kNewestVersion) {
    return askedOf(*makeDevice(), model, version);
}

void addRelu(ModelBuilder& builder, uint32_t from) {
    builder.operation(OperationType::RELU, {from}, {builder.output(kFloats)});
}
// No version has it for whole numbers.
void addWholeTanh(ModelBuilder& builder, uint32_t from) {
    builder.operation(OperationType::TANH, {from}, {builder.output(kWhole)});
}
// Its output has another shape than it says.
void addWrongShape(ModelBuilder& builder, uint32_t from) {
    builder.operation(OperationType::RELU, {from}, {builder.output(floats({1, 4}))});
}

TEST(Verdicts, NameEachOperationThatIsRefusedOfAnInvalidModel) {
    ModelBuilder builder;
    const uint32_t values = builder.input(kFloats);
    const uint32_t whole = builder.input(kWhole);
    addWholeTanh(builder, whole);
    addRelu(builder, values);
    addWrongShape(builder, values);
    builder.operation(OperationType::OEM_OPERATION, {values}, {builder.output(kFloats)});
    addWholeTanh(builder, whole);
    builder.operation(OperationType::RELU, {values, values}, {builder.output(kFloats)});
    // AIDL has no OEM_OPERATION.
    const Answer answer = asked(builder.build(), HalVersion::V1_3);
    EXPECT_EQ(answer.status.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(answer.rules(),
              "0 OPERAND_TYPE, 2 SHAPES, 3 NOT_IMPLEMENTED, 4 OPERAND_TYPE, 5 OPERAND_COUNT");
    EXPECT_EQ(answer.verdicts[1].name, "RELU");
    EXPECT_EQ(answer.verdicts[1].reason, "output 0: shape [1, 4] contradicts [4]");
    EXPECT_EQ(answer.verdicts[2].reason, "Halyard can't run this operation");
}

TEST(Verdicts, NameEachOperationThatIsRefusedOfAValidModel) {
    ModelBuilder builder;
    const uint32_t values = builder.input(kFloats);
    addWrongShape(builder, values);
    addRelu(builder, values);
    addWrongShape(builder, values);
    const Answer answer = asked(builder.build());
    EXPECT_EQ(answer.supported, (std::vector<bool>{false, true, false}));
    EXPECT_EQ(answer.rules(), "0 SHAPES, 2 SHAPES");
}

TEST(Verdicts, AreNoneOfWhatIsSupported) {
    const Answer answer = asked(floatConvModel());
    EXPECT_TRUE(answer.status.ok());
    EXPECT_EQ(answer.rules(), "");
}

TEST(Verdicts, AreNoneWhereTheModelIsInvalidAsAWhole) {
    Model model = reluModel();
    model.main.outputIndexes.push_back(model.main.outputIndexes.front());
    const Answer answer = asked(model);
    EXPECT_EQ(answer.status.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(answer.rules(), "");
}

TEST(Verdicts, AreOfTheOperationsThatUseAnInvalidOperand) {
    ModelBuilder builder;
    const uint32_t values = builder.input(kFloats);
    const uint32_t scaled = builder.input(kFloats);
    builder.operand(scaled).scale = 0.5F;
    addRelu(builder, values);
    addRelu(builder, scaled);
    addRelu(builder, scaled);
    const Answer answer = asked(builder.build());
    EXPECT_EQ(answer.rules(), "1 INVALID_OPERAND, 2 INVALID_OPERAND");
    EXPECT_EQ(answer.verdicts.front().reason,
              "operand 1 (TENSOR_FLOAT32): the scale is 0 unless the type is quantised");
}

TEST(Verdicts, AreNotOfWhatStandsBehindAnOperationThatReadsTooEarly) {
    ModelBuilder builder;
    const uint32_t values = builder.input(kFloats);
    const uint32_t first = builder.temporary(kFloats);
    const uint32_t second = builder.temporary(kFloats);
    builder.operation(OperationType::RELU, {second}, {first});
    builder.operation(OperationType::RELU, {first}, {builder.output(kFloats)});
    builder.operation(OperationType::RELU, {values}, {second});
    EXPECT_EQ(asked(builder.build()).rules(), "0 OPERAND_USE");
}

TEST(Verdicts, TellWhatALaterVersionTakes) {
    ModelBuilder builder;
    const uint32_t values = builder.input(kFloats);
    builder.operation(OperationType::ABS, {values}, {builder.output(kFloats)});
    builder.operation(OperationType::RELU, {builder.input({OperandType::TENSOR_FLOAT16, {4}})},
                      {builder.output({OperandType::TENSOR_FLOAT16, {4}})});
    EXPECT_EQ(asked(builder.build(), HalVersion::V1_1).rules(),
              "0 UNKNOWN_OPERATION, 1 INVALID_OPERAND");
    ModelBuilder whole;
    addRelu(whole, whole.input(kFloats));
    whole.operation(OperationType::ABS, {whole.input(kWhole)}, {whole.output(kWhole)});
    EXPECT_EQ(asked(whole.build(), HalVersion::V1_2).rules(), "1 LATER_VERSION");
}

TEST(Verdicts, TellOptionsFromWhatIsMissing) {
    Options options;
    options.unsupportedOperations = {OperationType::RELU};
    const Answer answer = askedOf(*makeDevice(std::move(options)), reluModel());
    EXPECT_EQ(answer.rules(), "0 TURNED_OFF");
    EXPECT_EQ(answer.verdicts.front().reason, "turned off by option -u");
}

// ADDs of a value whose extent the model does not say, and of constants of another: only the whole
// shows it.
Model contradictions(size_t count) {
    ModelBuilder builder;
    const uint32_t open = builder.temporary(floats({0}));
    builder.operation(OperationType::RELU, {builder.input(floats({2}))}, {open});
    for (size_t i = 0; i < count; ++i) {
        const uint32_t three = builder.constant(floats({3}), std::vector<float>(3, 1.0F));
        builder.operation(OperationType::ADD, {open, three, builder.int32(0)},
                          {builder.output(floats({0}))});
    }
    return builder.build();
}

TEST(Verdicts, TellContradictionsFromWhatIsRefusedAlone) {
    const Answer few = asked(contradictions(2));
    EXPECT_EQ(few.rules(), "1 CONTRADICTION, 2 CONTRADICTION");
    EXPECT_TRUE(few.verdicts.front().reason.starts_with("it contradicts what is before it: "))
            << few.verdicts.front().reason;
    const Answer many = asked(contradictions(6));
    EXPECT_EQ(many.rules(),
              "1 CONTRADICTION, 2 CONTRADICTION, 3 CONTRADICTION, 4 CONTRADICTION, "
              "5 NOT_EXAMINED, 6 NOT_EXAMINED");
}

// An IF whose second branch has a RELU of whole numbers, or an invalid operand; and a RELU.
Model branches(bool invalidStructure) {
    const auto branch = [](const OperandSpec& spec) {
        ModelBuilder builder;
        builder.operation(OperationType::RELU, {builder.input(spec)}, {builder.output(spec)});
        return builder.build().main;
    };
    ModelBuilder builder;
    const uint32_t values = builder.input(kFloats);
    std::vector<uint32_t> inputs = {builder.input(kFlag)};
    for (uint64_t i = 0; i < 2; ++i) {
        const uint32_t subgraph = builder.omitted({OperandType::SUBGRAPH, {}});
        builder.operand(subgraph).lifetime = OperandLifeTime::SUBGRAPH;
        builder.operand(subgraph).location.offset = i;
        inputs.push_back(subgraph);
    }
    inputs.push_back(values);
    builder.operation(OperationType::IF, inputs, {builder.output(kFloats)});
    addRelu(builder, values);
    Model model = builder.build();
    model.referenced = {branch(kFloats), branch(invalidStructure ? kFloats : kWhole)};
    if (invalidStructure) {
        model.referenced[1].operands[0].scale = 1.0F;
    }
    return model;
}

TEST(Verdicts, AreOfTheOperationsThatReferToAnInvalidSubgraph) {
    const Answer structure = asked(branches(true));
    EXPECT_EQ(structure.rules(), "0 INVALID_SUBGRAPH");
    EXPECT_TRUE(structure.verdicts.front().reason.starts_with("subgraph 1: operand 0 "))
            << structure.verdicts.front().reason;
    const Answer signature = asked(branches(false));
    ASSERT_EQ(signature.verdicts.size(), 1U);
    EXPECT_EQ(signature.verdicts.front().operation, 0U);
}

TEST(Verdicts, AreBounded) {
    constexpr size_t kMore = 10;
    ModelBuilder builder;
    const uint32_t whole = builder.input(kWhole);
    for (size_t i = 0; i < Verdicts::kMostVerdicts + kMore; ++i) {
        addWholeTanh(builder, whole);
    }
    Model model = builder.build();
    const Answer answer = asked(model);
    EXPECT_EQ(answer.verdicts.size(), Verdicts::kMostVerdicts);
    EXPECT_EQ(answer.leftOut, kMore);
    Verdicts verdicts(model);
    std::string letters = "x";
    while (letters.size() < 2 * Verdicts::kLongestReason) {
        letters += "é";
    }
    verdicts.add(0, invalidArgument(letters));
    const std::string reason = verdicts.take().front().reason;
    EXPECT_LE(reason.size(), Verdicts::kLongestReason);
    EXPECT_TRUE(reason.ends_with("é ...")) << reason;
}

TEST(Verdicts, KeepTheFirstFailureOfAnOperation) {
    const Model model = reluModel();
    Verdicts verdicts(model);
    verdicts.add(0, breaking(Rule::SHAPES, invalidArgument("first")));
    verdicts.add(0, breaking(Rule::MEMORY, invalidArgument("second")));
    const std::vector<Verdict> found = verdicts.take();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found.front().rule, Rule::SHAPES);
    EXPECT_EQ(found.front().reason, "first");
}

TEST(Verdicts, NameTheRuleThatWasFoundFirst) {
    const Status inner = breaking(Rule::OPERAND_RANK, invalidArgument("rank"));
    EXPECT_EQ(ruleOf(breaking(Rule::OPERAND_VALUE, inner.withContext("it"))), Rule::OPERAND_RANK);
    EXPECT_EQ(ruleOf(breaking(Rule::FORM, Status(StatusCode::RESOURCE_EXHAUSTED, "full"))),
              Rule::MEMORY);
    EXPECT_EQ(ruleOf(invalidArgument("none")), Rule::UNSPECIFIED);
    EXPECT_TRUE(breaking(Rule::FORM, Status()).ok());
}

}  // namespace
}  // namespace halyard::driver
