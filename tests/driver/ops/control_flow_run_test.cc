// SPDX-License-Identifier: Apache-2.0
//
// IF and WHILE from the model to the result, and what a device says of them beforehand.

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/driver/device_fixture.h"
#include "tests/driver/ops/lowered_graph.h"

namespace halyard::driver {
namespace {

using enum OperandType;

const OperandSpec kCount = {TENSOR_INT32, {1}};

std::shared_ptr<PreparedModel> prepare(const Model& model) {
    const std::unique_ptr<Device> device = makeDevice();
    Result<std::shared_ptr<PreparedModel>> prepared = device->prepare(model, HalVersion::V1_3, {});
    EXPECT_TRUE(prepared.ok()) << prepared.status().toString();
    return prepared.ok() ? *prepared : nullptr;
}

Subgraph unaryBody(OperationType type) {
    return OperationModel(type).input(floats({2})).output(floats({2})).build().main;
}

Model branching(OperationType otherwise) {
    return OperationModel(OperationType::IF)
            .input(kFlag)
            .subgraph(0)
            .subgraph(1)
            .input(floats({2}))
            .output(floats({2}))
            .build({unaryBody(OperationType::RELU), unaryBody(otherwise)});
}

// (n, limit) -> n + 1, as long as n < limit.
Model counting() {
    const Subgraph condition = OperationModel(OperationType::LESS)
                                       .input(kCount)
                                       .input(kCount)
                                       .output(kFlag)
                                       .build()
                                       .main;
    ModelBuilder builder;
    const uint32_t count = builder.input(kCount);
    builder.input(kCount);
    const uint32_t one = builder.constant<int32_t>(kCount, {1});
    const uint32_t none = builder.int32(0);
    const uint32_t next = builder.output(kCount);
    builder.operation(OperationType::ADD, {count, one, none}, {next});
    const Model body = builder.build();
    Model model = OperationModel(OperationType::WHILE)
                          .subgraph(0)
                          .subgraph(1)
                          .input(kCount)
                          .input(kCount)
                          .output(kCount)
                          .build({condition, body.main});
    model.operandValues = body.operandValues;
    return model;
}

TEST(ControlFlow, TakesTheBranchThatTheConditionSays) {
    const std::shared_ptr<PreparedModel> prepared = prepare(branching(OperationType::NEG));
    ASSERT_NE(prepared, nullptr);
    for (const auto& [flag, expected] : {std::pair{uint8_t{1}, std::vector<float>{0, 2}},
                                         {uint8_t{0}, std::vector<float>{1, -2}}}) {
        RequestBuilder request;
        request.input<uint8_t>({flag}).input<float>({-1, 2}).output(8);
        const ExecutionResult result = prepared->execute(request.request(), HalVersion::V1_3, {});
        ASSERT_TRUE(result.status.ok()) << result.status.toString();
        EXPECT_EQ(request.result<float>(0, 2), expected);
    }
}

// Valid and prepared, as AOSP's own driver has it, which fails when the branch is to be chosen.
TEST(ControlFlow, FailsToRunWithoutACondition) {
    const auto withCondition = [](bool omitted) {
        OperationModel model(OperationType::IF);
        (omitted ? model.omitted(kFlag) : model.input(kFlag)).subgraph(0).subgraph(1);
        return model.input(floats({2}))
                .output(floats({2}))
                .build({unaryBody(OperationType::RELU), unaryBody(OperationType::NEG)});
    };
    const Result<std::vector<bool>> supported =
            makeDevice()->supportedOperations(withCondition(true), HalVersion::V1_3);
    ASSERT_TRUE(supported.ok()) << supported.status().toString();
    EXPECT_TRUE((*supported)[0]);
    for (const bool omitted : {true, false}) {
        const std::shared_ptr<PreparedModel> prepared = prepare(withCondition(omitted));
        ASSERT_NE(prepared, nullptr);
        RequestBuilder request;
        if (!omitted) {
            request.request().inputs.emplace_back().hasNoValue = true;
        }
        request.input<float>({-1, 2}).output(8);
        const ExecutionResult result = prepared->execute(request.request(), HalVersion::V1_3, {});
        EXPECT_EQ(result.status.code(), StatusCode::INVALID_ARGUMENT);
        EXPECT_NE(result.status.message().find("the condition is left out"), std::string::npos)
                << result.status.toString();
    }
}

// SQUEEZE and TRANSPOSE do without a list of axes, RESHAPE can't do without a shape.
TEST(ControlFlow, RunsABranchWithoutWhatTheOperationIsNotGiven) {
    const OperandSpec list = {TENSOR_INT32, {1}};
    const auto run = [&](OperationType then, OperationType otherwise, uint8_t flag) {
        const auto branch = [&](OperationType type) {
            return OperationModel(type)
                    .input(floats({2}))
                    .input(list)
                    .output(floats({2}))
                    .build()
                    .main;
        };
        const std::shared_ptr<PreparedModel> prepared =
                prepare(OperationModel(OperationType::IF)
                                .input(kFlag)
                                .subgraph(0)
                                .subgraph(1)
                                .input(floats({2}))
                                .omitted(list)
                                .output(floats({2}))
                                .build({branch(then), branch(otherwise)}));
        RequestBuilder request;
        request.input<uint8_t>({flag}).input<float>({-1, 2}).output(8);
        Status status = prepared->execute(request.request(), HalVersion::V1_3, {}).status;
        EXPECT_EQ(request.result<float>(0, 2),
                  status.ok() ? (std::vector<float>{-1, 2}) : (std::vector<float>{0, 0}));
        return status.code();
    };
    for (const uint8_t flag : {0, 1}) {
        EXPECT_EQ(run(OperationType::SQUEEZE, OperationType::TRANSPOSE, flag), StatusCode::OK);
        EXPECT_EQ(run(OperationType::RESHAPE, OperationType::RESHAPE, flag),
                  StatusCode::INVALID_ARGUMENT);
    }
}

TEST(ControlFlow, LoopsAsLongAsTheConditionHolds) {
    const std::shared_ptr<PreparedModel> prepared = prepare(counting());
    ASSERT_NE(prepared, nullptr);
    for (const auto& [first, limit, last] :
         {std::array{0, 7, 7}, std::array{3, 3, 3}, std::array{5, 3, 5}}) {
        RequestBuilder request;
        request.input<int32_t>({first}).input<int32_t>({limit}).output(4);
        const ExecutionResult result = prepared->execute(request.request(), HalVersion::V1_3, {});
        ASSERT_TRUE(result.status.ok()) << result.status.toString();
        EXPECT_EQ(request.result<int32_t>(0, 1), std::vector<int32_t>{last});
    }
}

TEST(ControlFlow, IsSupportedWhereAllInsideIs) {
    const auto supports = [](const Model& model, std::set<OperationType> denied) {
        Options options;
        options.unsupportedOperations = std::move(denied);
        const Result<std::vector<bool>> supported =
                makeDevice(std::move(options))->supportedOperations(model, HalVersion::V1_3);
        EXPECT_TRUE(supported.ok()) << supported.status().toString();
        return supported.ok() && (*supported)[0];
    };
    EXPECT_TRUE(supports(branching(OperationType::NEG), {}));
    EXPECT_TRUE(supports(counting(), {}));
    EXPECT_FALSE(supports(branching(OperationType::OEM_OPERATION), {}));
    EXPECT_FALSE(supports(branching(OperationType::NEG), {OperationType::NEG}));
    EXPECT_FALSE(supports(counting(), {OperationType::LESS}));
}

}  // namespace
}  // namespace halyard::driver
