// SPDX-License-Identifier: Apache-2.0
//
// IF and WHILE whose models no single device takes: the library steps through them, and each part
// runs where it can.

#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

#include "nnapi/compilation.h"
#include "tests/nnapi/c_objects.h"

namespace halyard::nnapi_test {
namespace {

const std::vector<uint32_t> kOne = {1};
const std::vector<uint32_t> kPair = {2};

ANeuralNetworksOperandType modelType() {
    return scalar(ANEURALNETWORKS_MODEL);
}

// An operand that refers to `inner`, which outlives the model.
uint32_t reference(ModelText& text, const Model& inner) {
    const uint32_t index = text.operand(modelType());
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksModel_setOperandValueFromModel(
            text.get(), static_cast<int32_t>(index), inner.get()));
    return index;
}

Model binaryModel(int32_t code) {
    ModelText text;
    const uint32_t a = text.floats(kPair);
    const uint32_t b = text.floats(kPair);
    text.identify({a, b}, {text.binary(code, a, b, kPair)});
    return text.finish();
}

struct Branch {
    Model then = binaryModel(ANEURALNETWORKS_ADD);
    Model otherwise = binaryModel(ANEURALNETWORKS_MUL);
    Model whole;

    Branch() {
        ModelText text;
        const uint32_t condition = text.operand(tensor(ANEURALNETWORKS_TENSOR_BOOL8, kOne));
        const uint32_t a = text.floats(kPair);
        const uint32_t b = text.floats(kPair);
        const uint32_t result = text.floats(kPair);
        text.operation(ANEURALNETWORKS_IF,
                       {condition, reference(text, then), reference(text, otherwise), a, b},
                       {result});
        // So that something stands before and behind it.
        text.identify({condition, a, b}, {text.binary(ANEURALNETWORKS_ADD, result, a, kPair)});
        whole = text.finish();
    }
};

TEST(NnapiControlFlow, TakesEitherBranchOnADeviceOfItsOwn) {
    const Branch branch;
    const Compilation compilation = compile(branch.whole, {"adds", "multiplies"});
    EXPECT_GT(compilation->compiled()->plan.steps.size(), 1U);
    const std::vector<float> a = {3, 4};
    const std::vector<float> b = {10, 20};
    for (const bool isTrue : {true, false, true}) {
        const uint8_t condition = isTrue ? 1 : 0;
        const Execution execution = newExecution(compilation);
        std::vector<float> output(2);
        HALYARD_EXPECT_NO_ERROR(
                ANeuralNetworksExecution_setInput(execution.get(), 0, nullptr, &condition, 1));
        HALYARD_EXPECT_NO_ERROR(setInput(execution, 1, a));
        HALYARD_EXPECT_NO_ERROR(setInput(execution, 2, b));
        HALYARD_EXPECT_NO_ERROR(setOutput(execution, 0, output));
        HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_compute(execution.get()));
        EXPECT_EQ(output, isTrue ? (std::vector<float>{16, 28}) : (std::vector<float>{33, 84}));
    }
}

TEST(NnapiControlFlow, IsOneStepWhereADeviceTakesItAll) {
    const Branch branch;
    const Compilation compilation = compile(branch.whole, {"whole"});
    EXPECT_EQ(compilation->compiled()->plan.steps.size(), 1U);
}

// While i < n: i = i + 1, x = x * factor.
struct Loop {
    Model condition;
    Model body;
    Model whole;

    // One that is open has no end.
    explicit Loop(bool isOpen = false) {
        const auto integers = tensor(ANEURALNETWORKS_TENSOR_INT32, kOne);
        {
            ModelText text;
            const uint32_t i = text.operand(integers);
            const uint32_t x = text.floats(kPair);
            const uint32_t factor = text.floats(kPair);
            const uint32_t limit = text.operand(integers);
            const uint32_t goesOn = text.operand(tensor(ANEURALNETWORKS_TENSOR_BOOL8, kOne));
            text.operation(isOpen ? ANEURALNETWORKS_EQUAL : ANEURALNETWORKS_LESS,
                           {i, isOpen ? i : limit}, {goesOn});
            text.identify({i, x, factor, limit}, {goesOn});
            condition = text.finish();
        }
        {
            ModelText text;
            const uint32_t i = text.operand(integers);
            const uint32_t x = text.floats(kPair);
            const uint32_t factor = text.floats(kPair);
            const uint32_t limit = text.operand(integers);
            const uint32_t step = text.operand(integers);
            const int32_t one = 1;
            HALYARD_EXPECT_NO_ERROR(ANeuralNetworksModel_setOperandValue(
                    text.get(), static_cast<int32_t>(step), &one, sizeof one));
            const uint32_t next = text.operand(integers);
            text.operation(ANEURALNETWORKS_ADD, {i, step, text.number(ANEURALNETWORKS_FUSED_NONE)},
                           {next});
            const uint32_t product = text.binary(ANEURALNETWORKS_MUL, x, factor, kPair);
            text.identify({i, x, factor, limit}, {next, product});
            body = text.finish();
        }
        ModelText text;
        const uint32_t i = text.operand(integers);
        const uint32_t x = text.floats(kPair);
        const uint32_t factor = text.floats(kPair);
        const uint32_t limit = text.operand(integers);
        const uint32_t last = text.operand(integers);
        const uint32_t result = text.floats(kPair);
        text.operation(ANEURALNETWORKS_WHILE,
                       {reference(text, condition), reference(text, body), i, x, factor, limit},
                       {last, result});
        text.identify({i, x, factor, limit}, {last, result});
        whole = text.finish();
    }
};

struct LoopRun {
    std::array<int32_t, 1> first = {0};
    std::array<int32_t, 1> limit = {0};
    std::array<int32_t, 1> last = {-1};
    std::vector<float> x = {1, 3};
    std::vector<float> factor = {2, -1};
    std::vector<float> result = std::vector<float>(2);

    void bind(const Execution& execution) {
        HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_setInput(execution.get(), 0, nullptr,
                                                                  first.data(), sizeof first));
        HALYARD_EXPECT_NO_ERROR(setInput(execution, 1, x));
        HALYARD_EXPECT_NO_ERROR(setInput(execution, 2, factor));
        HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_setInput(execution.get(), 3, nullptr,
                                                                  limit.data(), sizeof limit));
        HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_setOutput(execution.get(), 0, nullptr,
                                                                   last.data(), sizeof last));
        HALYARD_EXPECT_NO_ERROR(setOutput(execution, 1, result));
    }
};

TEST(NnapiControlFlow, LoopsOverDevicesAsOftenAsItsConditionHolds) {
    const Loop loop;
    const Compilation compilation = compile(loop.whole, {"adds", "multiplies"});
    for (const int32_t rounds : {0, 1, 5}) {
        LoopRun run;
        run.limit = {rounds};
        const Execution execution = newExecution(compilation);
        run.bind(execution);
        HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_compute(execution.get()));
        EXPECT_EQ(run.last[0], rounds);
        EXPECT_EQ(run.result[0], static_cast<float>(1 << rounds));
        EXPECT_EQ(run.result[1], rounds % 2 == 0 ? 3.0F : -3.0F);
    }
}

TEST(NnapiControlFlow, EndsALoopThatTakesTooLong) {
    const Loop loop(true);
    for (const std::initializer_list<std::string_view>& devices :
         {std::initializer_list<std::string_view>{"adds", "multiplies"}, {"whole"}}) {
        const Compilation compilation = compile(loop.whole, devices);
        LoopRun run;
        const Execution execution = newExecution(compilation);
        HALYARD_EXPECT_NO_ERROR(
                ANeuralNetworksExecution_setLoopTimeout(execution.get(), 20'000'000));
        run.bind(execution);
        const int code = ANeuralNetworksExecution_compute(execution.get());
        EXPECT_TRUE(code == ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT ||
                    code == ANEURALNETWORKS_MISSED_DEADLINE_PERSISTENT)
                << code;
    }
}

TEST(NnapiControlFlow, EndsAnExecutionThatTakesTooLong) {
    const Loop loop(true);
    const Compilation compilation = compile(loop.whole, {"whole"});
    LoopRun run;
    const Execution execution = newExecution(compilation);
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_setTimeout(execution.get(), 20'000'000));
    run.bind(execution);
    const auto begin = std::chrono::steady_clock::now();
    const int code = ANeuralNetworksExecution_compute(execution.get());
    EXPECT_TRUE(code == ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT ||
                code == ANEURALNETWORKS_MISSED_DEADLINE_PERSISTENT)
            << code;
    // The loop alone would be ended after 2 seconds.
    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(20));
}

}  // namespace
}  // namespace halyard::nnapi_test
