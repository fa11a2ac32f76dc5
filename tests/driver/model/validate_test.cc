// SPDX-License-Identifier: Apache-2.0
//
// Rules of the structure that the suite's mutations don't reach.

#include "driver/model/validate.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/driver/model/validation_fixture.h"
#include "tests/driver/model_builder.h"

namespace halyard::driver {
namespace {

Model perChannelModel() {
    ModelBuilder builder;
    const uint32_t input = builder.constant<int8_t>(
            {OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL, {2, 2}}, {1, 2, 3, 4});
    builder.operand(input).extraParams =
            SymmPerChannelQuantParams{.scales = {0.5F, 2.0F}, .channelDim = 1};
    const uint32_t output = builder.output(floats({2, 2}));
    builder.operation(OperationType::DEQUANTIZE, {input}, {output});
    return builder.build();
}

TEST_F(ModelValidation, ChannelQuantizationThatDoesNotFitItsOperand) {
    const auto mutated = [](const SymmPerChannelQuantParams& parameters) {
        Model model = perChannelModel();
        model.main.operands[0].extraParams = parameters;
        return model;
    };
    EXPECT_TRUE(validateModel(perChannelModel(), HalVersion::V1_2).ok());
    expectInvalid(mutated({.scales = {0.5F}, .channelDim = 1}), HalVersion::V1_2, "count");
    expectInvalid(mutated({.scales = {}, .channelDim = 1}), HalVersion::V1_2, "none");
    expectInvalid(mutated({.scales = {1, 1}, .channelDim = 2}), HalVersion::V1_2, "dimension");
    expectInvalid(mutated({.scales = {1, 1}, .channelDim = 0xFFFFFFFF}), HalVersion::V1_2, "huge");
    expectInvalid(mutated({.scales = {1, 0}, .channelDim = 1}), HalVersion::V1_2, "scale 0");
    expectInvalid(mutated({.scales = {1, -1}, .channelDim = 1}), HalVersion::V1_2, "scale -1");
    Model without = perChannelModel();
    without.main.operands[0].extraParams = std::monostate();
    expectInvalid(without, HalVersion::V1_2, "no parameters");
    expectInvalid(perChannelModel(), HalVersion::V1_1, "before 1.2");
    Model plain = reluModel();
    plain.main.operands[0].extraParams = SymmPerChannelQuantParams{.scales = {1, 1}};
    expectInvalid(plain, HalVersion::V1_2, "parameters of a plain tensor");
}

constexpr auto kExtensionTensor = static_cast<OperandType>(0x00070001);
constexpr auto kExtensionOperation = static_cast<OperationType>(0x00070002);

Model extensionModel() {
    ModelBuilder builder;
    const uint32_t input = builder.input(floats({2}));
    const uint32_t middle = builder.temporary({kExtensionTensor, {3}});
    const uint32_t output = builder.output(floats({2}));
    builder.operation(kExtensionOperation, {input}, {middle})
            .operation(kExtensionOperation, {middle}, {output});
    Model model = builder.build();
    model.extensionNameToPrefix.push_back({.name = "com.example", .prefix = 7});
    return model;
}

TEST_F(ModelValidation, ExtensionsAreValidFrom1_2WhenDeclaredAndUnsupported) {
    for (const HalVersion version : {HalVersion::V1_2, HalVersion::V1_3}) {
        const Result<std::vector<bool>> supported =
                mDevice->supportedOperations(extensionModel(), version);
        ASSERT_TRUE(supported.ok()) << supported.status().toString();
        EXPECT_EQ(*supported, std::vector<bool>(2, false));
        EXPECT_EQ(mDevice->prepare(extensionModel(), version, {}).status().code(),
                  StatusCode::UNSUPPORTED);
    }
    expectInvalid(extensionModel(), HalVersion::V1_1, "an extension");
    Model undeclared = extensionModel();
    undeclared.extensionNameToPrefix.clear();
    expectInvalid(undeclared, HalVersion::V1_2, "no declaration");
    Model twice = extensionModel();
    twice.extensionNameToPrefix.push_back({.name = "com.other", .prefix = 7});
    expectInvalid(twice, HalVersion::V1_2, "a prefix twice");
    Model scaled = extensionModel();
    scaled.main.operands[1].scale = 1.0F;
    expectInvalid(scaled, HalVersion::V1_2, "a scale");
    Model own = extensionModel();
    own.main.operands[1].extraParams = std::vector<uint8_t>{1, 2};
    EXPECT_TRUE(mDevice->supportedOperations(own, HalVersion::V1_2).ok());
}

TEST_F(ModelValidation, ModelsOfFarMoreExtensionsThanThereAreAreUnsupported) {
    Model model = extensionModel();
    for (uint16_t prefix = 1000; model.extensionNameToPrefix.size() < 256; ++prefix) {
        model.extensionNameToPrefix.push_back(
                {.name = "com.example." + std::to_string(prefix), .prefix = prefix});
    }
    EXPECT_TRUE(mDevice->supportedOperations(model, HalVersion::V1_2).ok());
    model.extensionNameToPrefix.push_back({.name = "com.example.last", .prefix = 1});
    EXPECT_EQ(mDevice->supportedOperations(model, HalVersion::V1_2).status().code(),
              StatusCode::UNSUPPORTED);
}

TEST_F(ModelValidation, OemOperandsAreExemptFromQuantizationAndSize) {
    ModelBuilder builder;
    const uint32_t input = builder.constant<uint8_t>(
            {OperandType::TENSOR_OEM_BYTE, {2}, 3.5F, 1000}, {1, 2, 3, 4, 5});
    const uint32_t output = builder.output({OperandType::TENSOR_OEM_BYTE, {2}, -1.0F, -7});
    builder.operation(OperationType::OEM_OPERATION, {input}, {output});
    const Model model = builder.build();
    for (const HalVersion version : kVersions) {
        const Result<std::vector<bool>> supported = mDevice->supportedOperations(model, version);
        if (version >= HalVersion::AIDL_V1) {
            EXPECT_EQ(supported.status().code(), StatusCode::INVALID_ARGUMENT);
            continue;
        }
        ASSERT_TRUE(supported.ok()) << supported.status().toString();
        EXPECT_EQ(*supported, std::vector<bool>{false});
    }
}

// IF with a then- and an else-subgraph, both of them RELU.
Model ifModel() {
    ModelBuilder builder;
    const uint32_t condition = builder.input({OperandType::TENSOR_BOOL8, {1}});
    const uint32_t thenGraph = builder.omitted({OperandType::SUBGRAPH, {}});
    const uint32_t elseGraph = builder.omitted({OperandType::SUBGRAPH, {}});
    const uint32_t value = builder.input(floats({2, 2}));
    const uint32_t output = builder.output(floats({2, 2}));
    builder.operation(OperationType::IF, {condition, thenGraph, elseGraph, value}, {output});
    Model model = builder.build();
    for (const uint32_t index : {thenGraph, elseGraph}) {
        model.main.operands[index].lifetime = OperandLifeTime::SUBGRAPH;
        model.main.operands[index].location.offset = index - thenGraph;
    }
    model.referenced = {reluModel().main, reluModel().main};
    return model;
}

TEST_F(ModelValidation, SubgraphsAreValidFrom1_3) {
    const Result<std::vector<bool>> supported =
            mDevice->supportedOperations(ifModel(), HalVersion::V1_3);
    ASSERT_TRUE(supported.ok()) << supported.status().toString();
    EXPECT_EQ(*supported, std::vector<bool>{true});
    EXPECT_TRUE(mDevice->prepare(ifModel(), HalVersion::V1_3, {}).ok());
    expectInvalid(ifModel(), HalVersion::V1_2, "subgraphs");
}

TEST_F(ModelValidation, SubgraphOperandsThatNameNoSubgraph) {
    for (const DataLocation& location : {DataLocation{0, 2, 0}, DataLocation{0, 0xFFFFFFFF, 0},
                                         DataLocation{1, 0, 0}, DataLocation{0, 0, 1}}) {
        Model model = ifModel();
        model.main.operands[1].location = location;
        expectInvalid(model, HalVersion::V1_3, "location");
    }
    Model temporary = ifModel();
    temporary.main.operands[1].lifetime = OperandLifeTime::NO_VALUE;
    temporary.main.operands[1].location = {};
    expectInvalid(temporary, HalVersion::V1_3, "lifetime");
}

TEST_F(ModelValidation, PaddingInAModel) {
    for (const HalVersion version : kVersions) {
        Model model = floatConvModel();
        model.main.operands[1].location.padding = 1;
        expectInvalid(model, version, "padding");
    }
}

TEST_F(ModelValidation, InvalidReferencedSubgraph) {
    Model model = ifModel();
    model.referenced[1].operations[0].inputs[0] = 99;
    const Status status = mDevice->supportedOperations(model, HalVersion::V1_3).status();
    EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_NE(status.message().find("subgraph 1: operation 0 (RELU)"), std::string_view::npos)
            << status.message();
}

TEST_F(ModelValidation, SubgraphsThatReferToEachOther) {
    Model model = ifModel();
    for (size_t i = 0; i < 2; ++i) {
        model.referenced[i] = ifModel().main;
        for (Operand& operand : model.referenced[i].operands) {
            if (operand.type == OperandType::SUBGRAPH) {
                operand.location.offset = static_cast<uint32_t>(1 - i);
            }
        }
    }
    expectInvalid(model, HalVersion::V1_3, "a cycle");
}

TEST(Validate, NamesTheOperandAndTheRule) {
    Model model = floatConvModel();
    model.main.operands[conv_model::kInput].scale = 1.0F;
    const Status status = validateModel(model, HalVersion::V1_0);
    EXPECT_NE(status.message().find("operand 0 (TENSOR_FLOAT32)"), std::string_view::npos)
            << status.message();
    EXPECT_NE(status.message().find("scale"), std::string_view::npos) << status.message();
}

// Other layers refuse some of these as well, by what they come upon. The rule itself is to be what
// is said, and nothing is to come upon them.
void expectRule(const Model& model, std::string_view rule, HalVersion version = HalVersion::V1_3) {
    const Status status = validateModel(model, version);
    EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT) << rule;
    EXPECT_NE(status.message().find(rule), std::string_view::npos)
            << rule << ", and it says: " << status.message();
}

TEST(Validate, WantsOperandsAndOperationsAndValues) {
    Model none;
    none.operandValues = std::make_shared<const std::vector<uint8_t>>();
    expectRule(none, "there are no operands");
    ModelBuilder idle;
    idle.input(floats({2, 2}));
    expectRule(idle.build(), "there are no operations");
    Model without = reluModel();
    without.operandValues = nullptr;
    expectRule(without, "the model has no operandValues");
}

TEST(Validate, LooksAtEveryReferencedSubgraph) {
    for (const size_t subgraph : {0U, 1U}) {
        Model model = ifModel();
        model.referenced[subgraph].operations[0].inputs[0] = 99;
        expectRule(model,
                   "subgraph " + std::to_string(subgraph) +
                           ": operation 0 (RELU): it reads operand 99, which does not exist");
    }
    Model model = reluModel();
    model.referenced = {reluModel().main};
    expectRule(model, "referenced subgraphs exist only from HAL 1.3", HalVersion::V1_2);
}

TEST(Validate, BindsSubgraphOperandsToSubgraphs) {
    Model model = ifModel();
    model.main.operands[1].location.offset = 2;
    expectRule(model, "there is no subgraph 2");
    model = ifModel();
    model.main.operands[1].location.length = 1;
    expectRule(model, "a subgraph operand has poolIndex 0 and length 0");
    model = ifModel();
    model.main.operands[1].lifetime = OperandLifeTime::NO_VALUE;
    model.main.operands[1].location = {};
    expectRule(model, "lifetime SUBGRAPH and type SUBGRAPH go together");
    model = ifModel();
    model.main.operands[1].type = OperandType::TENSOR_FLOAT32;
    expectRule(model, "lifetime SUBGRAPH and type SUBGRAPH go together");
}

TEST(Validate, LetsOperationsWriteWhatIsTheirs) {
    Model model = reluModel();
    model.main.operations.push_back({.type = OperationType::RELU, .inputs = {0}, .outputs = {}});
    ++model.main.operands[0].numberOfConsumers;
    expectRule(model, "the operation writes nothing");
    model = reluModel();
    model.main.operations.push_back({.type = OperationType::RELU, .inputs = {0}, .outputs = {0}});
    ++model.main.operands[0].numberOfConsumers;
    expectRule(model, "it writes operand 0, whose lifetime is SUBGRAPH_INPUT");
}

TEST(Validate, HasConstantsOfAsManyBytesAsTheyTakeInsideTheirPool) {
    const auto withConstant = [](std::vector<uint32_t> dimensions, bool inPool) {
        ModelBuilder builder;
        const uint32_t input = builder.input(floats({1}));
        const uint32_t constant = inPool ? builder.pooled<float>(floats(dimensions), {1.0F})
                                         : builder.constant<float>(floats(dimensions), {1.0F});
        builder.operation(OperationType::ADD, {input, constant, builder.int32(0)},
                          {builder.output(floats({1}))});
        return builder.build();
    };
    for (const bool inPool : {false, true}) {
        EXPECT_TRUE(validateModel(withConstant({1}, inPool), HalVersion::V1_3).ok());
        expectRule(withConstant({0}, inPool), "a constant has no unspecified dimension");
        expectRule(withConstant({2}, inPool), "a constant of 8 bytes has 4");
    }
    for (const uint64_t offset : {uint64_t{1}, uint64_t{4}, uint64_t{0xffffffff}}) {
        Model model = withConstant({1}, true);
        model.main.operands[1].location.offset = offset;
        expectRule(model, "the constant lies outside pool 0");
    }
    Model model = withConstant({1}, true);
    model.main.operands[1].location.poolIndex = 1;
    expectRule(model, "there is no pool 1");
}

TEST(Validate, HasScalesThatTheirTypesTake) {
    ModelBuilder builder;
    const uint32_t input = builder.input({OperandType::TENSOR_INT32, {1}, -0.5F});
    builder.operation(OperationType::RELU, {input}, {builder.output(floats({1}))});
    expectRule(builder.build(), "the scale of a TENSOR_INT32 is not negative");
    ModelBuilder open;
    const uint32_t channels = open.input({OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL, {2, 0}});
    open.operand(channels).extraParams = SymmPerChannelQuantParams{.scales = {}, .channelDim = 1};
    open.operation(OperationType::DEQUANTIZE, {channels}, {open.output(floats({2, 0}))});
    expectRule(open.build(), "0 channel scales for a dimension of 0");
}

TEST(Validate, WantsExtensionsOfOperandsDeclared) {
    Model model = extensionModel();
    model.main.operands[1].type = static_cast<OperandType>(0x00080001);
    expectRule(model, "operand 1");
    expectRule(model, "extension prefix 8 is not declared by the model");
}

TEST(Validate, KnowsEveryOperationOfEachVersion) {
    // From nn_hal: 1.0 has 29 operations, 1.1 adds 9, 1.2 adds 57, 1.3 adds 7; OEM came with 1.0.
    const std::pair<HalVersion, int> expected[] = {{HalVersion::V1_0, 30},
                                                   {HalVersion::V1_1, 39},
                                                   {HalVersion::V1_2, 96},
                                                   {HalVersion::V1_3, 103}};
    for (const auto& [version, count] : expected) {
        int known = 0;
        for (int32_t code = -10; code <= 0xFFFF; ++code) {
            const std::optional<HalVersion> since = introducedIn(static_cast<OperationType>(code));
            known += since.has_value() && *since <= version ? 1 : 0;
            EXPECT_EQ(since.has_value(), !nameOf(static_cast<OperationType>(code)).empty()) << code;
        }
        EXPECT_EQ(known, count) << toString(version);
    }
}

}  // namespace
}  // namespace halyard::driver
