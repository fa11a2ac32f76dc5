// SPDX-License-Identifier: Apache-2.0
//
// In which version of the HAL each operand type came, as NNAPI's published interfaces have it.

#include "driver/model/versions.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "driver/model/validate.h"
#include "tests/driver/model/validation_fixture.h"
#include "tests/driver/model_builder.h"

namespace halyard::driver {
namespace {

TEST(Versions, HaveAFeatureLevelEach) {
    const std::vector<std::pair<HalVersion, int64_t>> levels = {
            {HalVersion::V1_0, 27},         {HalVersion::V1_1, 28},
            {HalVersion::V1_2, 29},         {HalVersion::V1_3, 30},
            {HalVersion::AIDL_V1, 31},      {HalVersion::AIDL_V2, 1000006},
            {HalVersion::AIDL_V3, 1000007}, {HalVersion::AIDL_V4, 1000008}};
    ASSERT_EQ(levels.size(), allVersions().size());
    for (size_t i = 0; i < levels.size(); ++i) {
        EXPECT_EQ(allVersions()[i], levels[i].first);
        EXPECT_EQ(static_cast<int64_t>(featureLevelOf(levels[i].first)), levels[i].second)
                << toString(levels[i].first);
    }
}

TEST(Versions, HaveNoOemCodesFromAidlOn) {
    for (const HalVersion version : allVersions()) {
        const bool hasThem = version <= HalVersion::V1_3;
        EXPECT_EQ(knows(version, OperationType::OEM_OPERATION), hasThem) << toString(version);
        for (const OperandType type : {OperandType::OEM, OperandType::TENSOR_OEM_BYTE}) {
            EXPECT_EQ(findOperandType(type)->isIn(version), hasThem) << toString(version);
        }
        EXPECT_TRUE(knows(version, OperationType::ADD));
        EXPECT_EQ(knows(version, OperationType::RANK), version >= HalVersion::V1_3);
        EXPECT_FALSE(knows(version, static_cast<OperationType>(9999)));
    }
}

// A RELU, and an input of that type that nothing reads.
Model modelWith(OperandType type) {
    ModelBuilder builder;
    const uint32_t x = builder.input(floats({2}));
    builder.operation(OperationType::RELU, {x}, {builder.output(floats({2}))});
    OperandSpec spec = {type, {}};
    const OperandTypeInfo* const info = findOperandType(type);
    if (info != nullptr && info->isTensor()) {
        spec.dimensions = {2};
    }
    const std::string name = describe(type);
    if (name.find("QUANT") != std::string::npos) {
        spec.scale = 0.5F;
    }
    const uint32_t unread = builder.input(spec);
    if (type == OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL) {
        builder.operand(unread).scale = 0;
        builder.operand(unread).extraParams =
                SymmPerChannelQuantParams{.scales = {1, 2}, .channelDim = 0};
    }
    return builder.build();
}

TEST_F(ModelValidation, TakesEachOperandTypeFromItsVersionOn) {
    using enum OperandType;
    const std::vector<std::pair<OperandType, HalVersion>> published = {
            {FLOAT32, HalVersion::V1_0},
            {INT32, HalVersion::V1_0},
            {UINT32, HalVersion::V1_0},
            {TENSOR_FLOAT32, HalVersion::V1_0},
            {TENSOR_INT32, HalVersion::V1_0},
            {TENSOR_QUANT8_ASYMM, HalVersion::V1_0},
            {BOOL, HalVersion::V1_2},
            {TENSOR_QUANT16_SYMM, HalVersion::V1_2},
            {TENSOR_FLOAT16, HalVersion::V1_2},
            {TENSOR_BOOL8, HalVersion::V1_2},
            {FLOAT16, HalVersion::V1_2},
            {TENSOR_QUANT8_SYMM_PER_CHANNEL, HalVersion::V1_2},
            {TENSOR_QUANT16_ASYMM, HalVersion::V1_2},
            {TENSOR_QUANT8_SYMM, HalVersion::V1_2},
            {TENSOR_QUANT8_ASYMM_SIGNED, HalVersion::V1_3},
    };
    for (const auto& [type, since] : published) {
        const Model model = modelWith(type);
        for (const HalVersion version : kVersions) {
            const Status status = validateModel(model, version);
            EXPECT_EQ(status.ok(), version >= since)
                    << describe(type) << " in " << toString(version) << ": " << status.toString();
        }
    }
}

TEST_F(ModelValidation, SaysThatAChannelDimensionIsNotBelowTheRank) {
    Model model = modelWith(OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL);
    for (const uint32_t dimension : {1U, 2U, 0xFFFFFFFFU}) {
        model.main.operands.back().extraParams =
                SymmPerChannelQuantParams{.scales = {1, 2}, .channelDim = dimension};
        const Status status = validateModel(model, HalVersion::V1_2);
        EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT);
        EXPECT_TRUE(status.message().ends_with("channelDim " + std::to_string(dimension) +
                                               " is not below the rank"))
                << status.message();
    }
}

}  // namespace
}  // namespace halyard::driver
