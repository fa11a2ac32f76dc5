// SPDX-License-Identifier: Apache-2.0
//
// The rules of IF and WHILE for the subgraphs that they refer to.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "driver/ops/lowest_version.h"
#include "tests/driver/model_builder.h"

namespace halyard::driver {
namespace {

using enum OperandType;

// A subgraph that reads nothing it does not need: each output is made of the first input by an
// operation that Halyard has no rules for.
Subgraph body(const std::vector<OperandSpec>& inputs, const std::vector<OperandSpec>& outputs) {
    ModelBuilder builder;
    std::vector<uint32_t> indexes;
    for (const OperandSpec& spec : inputs) {
        indexes.push_back(builder.input(spec));
    }
    for (const OperandSpec& spec : outputs) {
        builder.operation(OperationType::OEM_OPERATION, indexes, {builder.output(spec)});
    }
    return builder.build().main;
}

Model model(OperationType type, const std::vector<OperandSpec>& inputs,
            const std::vector<OperandSpec>& outputs, std::vector<Subgraph> subgraphs,
            const OperandSpec& condition = kFlag) {
    ModelBuilder builder;
    std::vector<uint32_t> operands;
    if (type == OperationType::IF) {
        operands.push_back(builder.input(condition));
    }
    for (uint32_t i = 0; i < 2; ++i) {
        operands.push_back(builder.temporary({SUBGRAPH, {}}));
        builder.operand(operands.back()).lifetime = OperandLifeTime::SUBGRAPH;
        builder.operand(operands.back()).location.offset = i;
    }
    for (const OperandSpec& spec : inputs) {
        operands.push_back(builder.input(spec));
    }
    std::vector<uint32_t> results;
    for (const OperandSpec& spec : outputs) {
        results.push_back(builder.output(spec));
    }
    builder.operation(type, operands, results);
    Model built = builder.build();
    built.referenced = std::move(subgraphs);
    return built;
}

void expectValid(const Model& model) {
    const Status status = validateForVersion(model, HalVersion::V1_3);
    EXPECT_TRUE(status.ok()) << status.toString();
    EXPECT_EQ(validateForVersion(model, HalVersion::V1_2).code(), StatusCode::INVALID_ARGUMENT);
}

void expectInvalid(const Model& model, const std::string& message) {
    const Status status = validateForVersion(model, HalVersion::V1_3);
    EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(status.message(), message);
}

Model ifModel(const Subgraph& thenModel, const Subgraph& elseModel,
              const OperandSpec& condition = kFlag) {
    return model(OperationType::IF, {floats({2}), floats({0, 3})}, {floats({2})},
                 {thenModel, elseModel}, condition);
}

const Subgraph kBranch = body({floats({2}), floats({0, 3})}, {floats({2})});

TEST(If, TakesBranchesThatAgreeWithItsOperands) {
    expectValid(ifModel(kBranch, kBranch));
    // Extents that one side leaves open, the other may specify.
    expectValid(ifModel(kBranch, body({floats({}), floats({5, 3})}, {floats({0})})));
}

TEST(If, TakesBranchesWithoutInputs) {
    ModelBuilder builder;
    const uint32_t constant = builder.constant<float>(floats({2}), {1, 2});
    builder.operation(OperationType::RELU, {constant}, {builder.output(floats({2}))});
    const Model branch = builder.build();
    Model whole = model(OperationType::IF, {}, {floats({2})}, {branch.main, branch.main});
    whole.operandValues = branch.operandValues;
    expectValid(whole);
}

TEST(If, NeedsASingleTruthValue) {
    expectValid(ifModel(kBranch, kBranch, {TENSOR_BOOL8, {}}));
    expectValid(ifModel(kBranch, kBranch, {TENSOR_BOOL8, {0}}));
    expectInvalid(
            ifModel(kBranch, kBranch, {TENSOR_BOOL8, {2}}),
            "operation 0 (IF): the condition (input 0, operand 0) is not a single truth value");
    expectInvalid(
            ifModel(kBranch, kBranch, {TENSOR_BOOL8, {1, 1}}),
            "operation 0 (IF): the condition (input 0, operand 0) is not a single truth value");
    expectInvalid(ifModel(kBranch, kBranch, {TENSOR_INT32, {1}}),
                  "operation 0 (IF): the condition (input 0, operand 0) is TENSOR_INT32; HAL 1.3 "
                  "takes TENSOR_BOOL8 there");
}

TEST(If, RejectsABranchThatDisagrees) {
    expectInvalid(ifModel(kBranch, body({floats({2})}, {floats({2})})),
                  "operation 0 (IF): the number of inputs of the else model (input 2, operand 2) "
                  "is 1, not 2");
    expectInvalid(ifModel(body({floats({2}), floats({0, 3})}, {floats({2}), floats({2})}), kBranch),
                  "operation 0 (IF): the number of outputs of the then model (input 1, operand 1) "
                  "is 2, not 1");
    expectInvalid(
            ifModel(body({floats({2}), {TENSOR_INT32, {0, 3}}}, {floats({2})}), kBranch),
            "operation 0 (IF): one of the inputs (input 4, operand 4) and input 1 of the then "
            "model (input 1, operand 1) differ in type: TENSOR_FLOAT32 and TENSOR_INT32");
    expectInvalid(ifModel(kBranch, body({floats({2}), floats({0, 4})}, {floats({2})})),
                  "operation 0 (IF): one of the inputs (input 4, operand 4) and input 1 of the "
                  "else model (input 2, operand 2) differ in their dimensions");
    expectInvalid(ifModel(kBranch, body({floats({2}), floats({0, 3})}, {floats({3})})),
                  "operation 0 (IF): one of the outputs (output 0, operand 5) and output 0 of the "
                  "else model (input 2, operand 2) differ in their dimensions");
}

TEST(If, RejectsABranchOfAnotherQuantization) {
    const auto quantized = [](float scale, int32_t zeroPoint) {
        return OperandSpec{TENSOR_QUANT8_ASYMM, {2}, scale, zeroPoint};
    };
    const auto of = [&](float scale, int32_t zeroPoint) {
        const Subgraph same = body({quantized(0.5F, 3)}, {floats({2})});
        const Subgraph other = body({quantized(scale, zeroPoint)}, {floats({2})});
        return model(OperationType::IF, {quantized(0.5F, 3)}, {floats({2})}, {same, other});
    };
    expectValid(of(0.5F, 3));
    const std::string message =
            "operation 0 (IF): one of the inputs (input 3, operand 3) and input 0 of the else "
            "model (input 2, operand 2) differ in scale or zero point";
    expectInvalid(of(0.25F, 3), message);
    expectInvalid(of(0.5F, 4), message);
}

// A state of two, of which the first comes out, and a constant of the loop.
const std::vector<OperandSpec> kState = {floats({2}), {TENSOR_INT32, {1}}, floats({3})};
const Subgraph kCondition = body(kState, {kFlag});

Model whileModel(const Subgraph& condition, const Subgraph& loop) {
    return model(OperationType::WHILE, kState, {floats({2})}, {condition, loop});
}

TEST(While, TakesABodyThatGivesTheNextState) {
    expectValid(whileModel(kCondition, body(kState, {floats({2})})));
    expectValid(whileModel(kCondition, body(kState, {floats({2}), {TENSOR_INT32, {1}}})));
    expectValid(whileModel(kCondition, body(kState, kState)));
}

TEST(While, RejectsABodyThatGivesTooLittleTooMuchOrSomethingElse) {
    const std::vector<OperandSpec> more = {
            floats({2}), {TENSOR_INT32, {1}}, floats({3}), floats({3})};
    expectInvalid(whileModel(kCondition, body(kState, more)),
                  "operation 0 (WHILE): the number of outputs of the body model (input 1, operand "
                  "1) is 4, not 1 to 3");
    expectInvalid(
            whileModel(kCondition, body(kState, {{TENSOR_INT32, {1}}})),
            "operation 0 (WHILE): one of the outputs (output 0, operand 5) and output 0 of the "
            "body model (input 1, operand 1) differ in type: TENSOR_FLOAT32 and TENSOR_INT32");
    expectInvalid(
            whileModel(kCondition, body(kState, {floats({2}), floats({1})})),
            "operation 0 (WHILE): input 1 of the body model (input 1, operand 1) and output 1 of "
            "the body model (input 1, operand 1) differ in type: TENSOR_INT32 and TENSOR_FLOAT32");
    expectInvalid(whileModel(kCondition, body({floats({2})}, {floats({2})})),
                  "operation 0 (WHILE): the number of inputs of the body model (input 1, operand "
                  "1) is 1, not 3");
}

TEST(While, NeedsAConditionOfOneTruthValue) {
    const Subgraph loop = body(kState, {floats({2})});
    expectInvalid(whileModel(body(kState, {kFlag, kFlag}), loop),
                  "operation 0 (WHILE): the number of outputs of the condition model (input 0, "
                  "operand 0) is 2, not 1");
    expectInvalid(whileModel(body(kState, {floats({1})}), loop),
                  "operation 0 (WHILE): output 0 of the condition model (input 0, operand 0) is "
                  "TENSOR_FLOAT32, not TENSOR_BOOL8");
    expectInvalid(whileModel(body(kState, {{TENSOR_BOOL8, {2}}}), loop),
                  "operation 0 (WHILE): output 0 of the condition model (input 0, operand 0) is "
                  "not a single truth value");
    expectInvalid(whileModel(body({floats({2})}, {kFlag}), loop),
                  "operation 0 (WHILE): the number of inputs of the condition model (input 0, "
                  "operand 0) is 1, not 3");
}

TEST(While, NeedsAnInput) {
    expectInvalid(model(OperationType::WHILE, {}, {floats({2})}, {kCondition, kCondition}),
                  "operation 0 (WHILE): it has 2 inputs and 1 output; HAL 1.3 takes at least 3 and "
                  "gives at least 1");
}

}  // namespace
}  // namespace halyard::driver
