// SPDX-License-Identifier: Apache-2.0

#include "driver/ops/lowest_version.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tests/driver/device_fixture.h"
#include "tests/driver/model_builder.h"
#include "tests/driver/sample_models.h"

namespace halyard::driver {
namespace {

using enum OperandType;

std::optional<HalVersion> lowest(const Model& model) {
    const Result<HalVersion> version = lowestVersion(model);
    return version.ok() ? std::optional(*version) : std::nullopt;
}

Model unaryModel(OperationType type, const OperandSpec& spec) {
    ModelBuilder builder;
    const uint32_t input = builder.input(spec);
    builder.operation(type, {input}, {builder.output(spec)});
    return builder.build();
}

Model packModel() {
    ModelBuilder builder;
    const uint32_t input = builder.input(floats({2}));
    const uint32_t axis = builder.int32(0);
    return builder
            .operation(OperationType::PACK, {axis, input, input}, {builder.output(floats({2, 2}))})
            .build();
}

Model reverseModel() {
    ModelBuilder builder;
    const uint32_t input = builder.input(floats({2}));
    const uint32_t axis = builder.constant<int32_t>({TENSOR_INT32, {1}}, {0});
    return builder.operation(OperationType::REVERSE, {input, axis}, {builder.output(floats({2}))})
            .build();
}

TEST(LowestVersion, IsTheFirstThatTheModelIsValidIn) {
    EXPECT_EQ(lowest(floatConvModel()), HalVersion::V1_0);
    EXPECT_EQ(lowest(quantConvModel()), HalVersion::V1_0);
    EXPECT_EQ(lowest(unaryModel(OperationType::RELU, {TENSOR_FLOAT16, {2}})), HalVersion::V1_2);
    EXPECT_EQ(lowest(unaryModel(OperationType::RELU, {TENSOR_QUANT8_ASYMM_SIGNED, {2}, 1.0F})),
              HalVersion::V1_3);
    EXPECT_EQ(lowest(unaryModel(OperationType::RELU, floats({}))), HalVersion::V1_2);
    EXPECT_EQ(lowest(unaryModel(OperationType::HARD_SWISH, floats({2}))), HalVersion::V1_3);
    EXPECT_EQ(lowest(packModel()), HalVersion::AIDL_V2);
    EXPECT_EQ(lowest(reverseModel()), HalVersion::AIDL_V3);
}

TEST(LowestVersion, CountsWhatTheModelAsAWholeHolds) {
    Model relaxed = reluModel();
    relaxed.relaxComputationFloat32toFloat16 = true;
    EXPECT_EQ(lowest(relaxed), HalVersion::V1_1);
    Model extended = reluModel();
    extended.extensionNameToPrefix.push_back({"org.example", 1});
    EXPECT_EQ(lowest(extended), HalVersion::V1_2);
    Model controlled = reluModel();
    controlled.referenced.push_back(controlled.main);
    EXPECT_EQ(lowest(controlled), HalVersion::V1_3);
}

TEST(LowestVersion, OfAnOperationThatHalyardLacksIsTheOneThatBroughtIt) {
    EXPECT_EQ(lowest(unaryModel(OperationType::OEM_OPERATION, floats({2}))), HalVersion::V1_0);
}

TEST(LowestVersion, IsThatOfTheScales) {
    Model model = quantConvModel();
    Operand& output = model.main.operands[conv_model::kConv];
    const float filter = model.main.operands[conv_model::kFilter].scale;
    output.scale = model.main.operands[conv_model::kInput].scale * filter;
    model.main.operands[conv_model::kRelu].scale = output.scale;
    EXPECT_EQ(lowest(model), HalVersion::V1_2);
}

TEST(LowestVersion, DoesNotExistForAModelThatIsNeverValid) {
    Model model = floatConvModel();
    model.main.operands[conv_model::kFilter].dimensions = {1, 2, 2};
    model.main.operands[conv_model::kFilter].location.length = 16;
    const Status status = lowestVersion(model).status();
    EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(status.message(),
              "operation 0 (CONV_2D): the filter (input 1, operand 1) has rank 3, not 4");
}

// The promise to those who ask: from the lowest version on the device takes the model, below it
// does not.
TEST(LowestVersion, IsWhereDevicesBeginToTakeTheModel) {
    const std::unique_ptr<Device> device = makeDevice();
    for (const Model& model : {floatConvModel(), packModel(), reverseModel(),
                               unaryModel(OperationType::HARD_SWISH, floats({2})),
                               unaryModel(OperationType::QUANTIZE, floats({2})),
                               unaryModel(OperationType::RELU, floats({}))}) {
        for (const HalVersion version : kVersions) {
            const bool taken = device->supportedOperations(model, version).ok();
            EXPECT_EQ(taken, lowest(model).has_value() && version >= *lowest(model));
        }
    }
}

}  // namespace
}  // namespace halyard::driver
