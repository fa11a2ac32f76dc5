// SPDX-License-Identifier: Apache-2.0
//
// What several threads may share: a model, a compilation, a burst, events, and the callbacks of the
// process. Each claim is one for thread sanitizers, too.

#include <support_library_functions.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "tests/nnapi/c_objects.h"
#include "tests/nnapi/compute_modes.h"

namespace halyard::nnapi_test {
namespace {

constexpr size_t kThreads = 8;
constexpr size_t kRounds = 25;
const std::vector<uint32_t> kFour = {4};
const std::vector<float> kCounted = {1, 2, 3, 4};

// x * x + x
Model squarePlusSelf() {
    ModelText text;
    const uint32_t x = text.floats(kFour);
    const uint32_t square = text.binary(ANEURALNETWORKS_MUL, x, x, kFour);
    text.identify({x}, {text.binary(ANEURALNETWORKS_ADD, square, x, kFour)});
    return text.finish();
}

const std::vector<float> kSquaresPlusSelves = {2, 6, 12, 20};

template <typename Act>
void onThreads(const Act& act) {
    std::vector<std::thread> threads;
    for (size_t i = 0; i < kThreads; ++i) {
        threads.emplace_back([&act, i] {
            for (size_t round = 0; round < kRounds; ++round) {
                act(i, round);
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}

TEST(NnapiThreads, CompileOneModel) {
    const Model model = squarePlusSelf();
    onThreads([&](size_t i, size_t round) {
        const Compilation compilation =
                (i + round) % 2 == 0 ? compile(model) : compile(model, {"adds", "multiplies"});
        const Execution execution = newExecution(compilation);
        std::vector<float> output(4);
        HALYARD_EXPECT_NO_ERROR(setInput(execution, 0, kCounted));
        HALYARD_EXPECT_NO_ERROR(setOutput(execution, 0, output));
        HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_compute(execution.get()));
        EXPECT_EQ(output, kSquaresPlusSelves);
    });
}

// It computes for one at a time, and tells the others so.
TEST(NnapiThreads, ShareABurst) {
    const Compilation compilation = compile(squarePlusSelf(), {"whole"});
    ANeuralNetworksBurst* made = nullptr;
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksBurst_create(compilation.get(), &made));
    const Burst burst(made);
    std::atomic<size_t> computed = 0;
    onThreads([&](size_t, size_t) {
        const Execution execution = newExecution(compilation);
        std::vector<float> output(4);
        HALYARD_EXPECT_NO_ERROR(setInput(execution, 0, kCounted));
        HALYARD_EXPECT_NO_ERROR(setOutput(execution, 0, output));
        int code = ANeuralNetworksExecution_burstCompute(execution.get(), made);
        for (; code == ANEURALNETWORKS_BAD_STATE; std::this_thread::yield()) {
            code = ANeuralNetworksExecution_burstCompute(execution.get(), made);
        }
        HALYARD_EXPECT_NO_ERROR(code);
        EXPECT_EQ(output, kSquaresPlusSelves);
        ++computed;
    });
    EXPECT_EQ(computed, kThreads * kRounds);
}

// Each waits for all that were started so far, and programs wait for all of them at once.
TEST(NnapiThreads, WaitForOneAnothersFences) {
    const Compilation compilation = compile(squarePlusSelf(), {"adds", "multiplies"});
    constexpr size_t kLinks = 12;
    std::array<std::vector<float>, kLinks + 1> values;
    values.fill(std::vector<float>(4));
    values[0] = {1, 1, 1, 1};
    std::vector<Execution> executions;
    std::vector<Event> events;
    std::vector<const ANeuralNetworksEvent*> started;
    for (size_t i = 0; i < kLinks; ++i) {
        executions.push_back(newExecution(compilation));
        HALYARD_EXPECT_NO_ERROR(setInput(executions.back(), 0, values[i]));
        HALYARD_EXPECT_NO_ERROR(setOutput(executions.back(), 0, values[i + 1]));
        ANeuralNetworksEvent* event = nullptr;
        HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_startComputeWithDependencies(
                executions.back().get(), started.data(), static_cast<uint32_t>(started.size()), 0,
                &event));
        events.emplace_back(event);
        started.push_back(event);
    }
    std::vector<float> expected = {1, 1, 1, 1};
    for (size_t i = 0; i < kLinks; ++i) {
        for (float& value : expected) {
            value = value * value + value;
        }
    }
    onThreads([&](size_t i, size_t round) {
        if (round == 0) {
            HALYARD_EXPECT_NO_ERROR(ANeuralNetworksEvent_wait(events[kLinks - 1 - i].get()));
            if (i == 0) {
                EXPECT_EQ(values[kLinks], expected);
            }
        }
    });
}

std::array<std::atomic<size_t>, 2> told;

template <size_t Place>
void countTold(const void* context, const ANeuralNetworksDiagnosticExecutionInfo* info) {
    EXPECT_EQ(context, &told[Place]) << "a callback with another one's context";
    EXPECT_EQ(SL_ANeuralNetworksDiagnosticExecutionInfo_getErrorCode(info), 0U);
    EXPECT_NE(*SL_ANeuralNetworksDiagnosticExecutionInfo_getDeviceIds(info), 0);
    ++told[Place];
}

// Two threads take the callbacks from one another; those that compute know nothing of it.
TEST(NnapiThreads, ComputeWhileCallbacksComeAndGo) {
    const Compilation compilation = compile(squarePlusSelf(), {"whole"});
    onThreads([&](size_t i, size_t round) {
        if (i < told.size()) {
            SL_ANeuralNetworksDiagnostic_registerCallbacks(
                    nullptr, i == 0 ? countTold<0> : countTold<1>, &told[i]);
        }
        const Execution execution = newExecution(compilation);
        std::vector<float> output(4);
        HALYARD_EXPECT_NO_ERROR(setInput(execution, 0, kCounted));
        HALYARD_EXPECT_NO_ERROR(setOutput(execution, 0, output));
        HALYARD_EXPECT_NO_ERROR(computeIn(kComputeModes[(i + round) % kComputeModes.size()],
                                          compilation, execution));
        EXPECT_EQ(output, kSquaresPlusSelves);
    });
    SL_ANeuralNetworksDiagnostic_registerCallbacks(nullptr, nullptr, nullptr);
    EXPECT_GE(told[0] + told[1], told.size() * kRounds);
}

}  // namespace
}  // namespace halyard::nnapi_test
