// SPDX-License-Identifier: Apache-2.0
//
// The question of what is supported has a deadline, and costs a client's constants once. Work is
// counted, not timed.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "driver/execute/device_state.h"
#include "driver/options/backends.h"
#include "driver/prepare/support.h"
#include "engine/backends/ref/cpu_ref.h"
#include "tests/driver/model_builder.h"
#include "tests/engine/counting_condition.h"

namespace halyard::driver {
namespace {

constexpr uint32_t kMegabytes = 8;
constexpr uint32_t kIndices = (kMegabytes << 20) / sizeof(int32_t);
constexpr size_t kOperations = 32;

class SupportDeadline : public testing::Test {
  protected:
    SupportDeadline() {
        std::vector<std::unique_ptr<const engine::Backend>> backends;
        backends.push_back(engine::makeCpuRef());
        Options options;
        options.threads = 1;
        mState = std::make_unique<DeviceState>(options, std::move(backends));
    }

    Result<std::vector<bool>> ask(const Model& model, const StopCondition& condition) {
        return supportedOperations(*mState, *mState->clients.own(), model, poolsOf(model),
                                   Checkpoint().unless(&condition));
    }

    std::unique_ptr<DeviceState> mState;
};

// Operations that are all steered by one large constant in a pool, and one that can't be run, so
// that each is looked at alone.
Model gathersBySharedIndices() {
    ModelBuilder builder;
    const uint32_t x = builder.input(floats({4}));
    const uint32_t indices = builder.pooled<int32_t>({OperandType::TENSOR_INT32, {kIndices}},
                                                     std::vector<int32_t>(kIndices));
    const uint32_t axis = builder.int32(0);
    for (size_t i = 0; i < kOperations; ++i) {
        builder.operation(OperationType::GATHER, {x, axis, indices},
                          {builder.output(floats({kIndices}))});
    }
    const uint32_t sum = builder.output(floats({4}));
    builder.operation(OperationType::ADD, {x, x, builder.int32(4711)}, {sum});
    return builder.build();
}

TEST_F(SupportDeadline, CopiesASharedConstantOnceForAllOperations) {
    const CountingCondition never;
    const Result<std::vector<bool>> flags = ask(gathersBySharedIndices(), never);
    ASSERT_TRUE(flags.ok()) << flags.status().toString();
    std::vector<bool> expected(kOperations, true);
    expected.push_back(false);
    EXPECT_EQ(*flags, expected);
    EXPECT_GE(never.asked(), kMegabytes) << "once for each megabyte";
    EXPECT_LT(never.asked(), kMegabytes * kOperations) << "not once more for each operation";
    EXPECT_EQ(mState->account.memory->reserved(), 0U);
}

TEST_F(SupportDeadline, GivesNoFlagsOnceItIsTimeToStop) {
    const Model model = gathersBySharedIndices();
    const CountingCondition never;
    ASSERT_TRUE(ask(model, never).ok());
    for (size_t patience = 0; patience < never.asked(); ++patience) {
        const CountingCondition soon(patience);
        const Status status = ask(model, soon).status();
        EXPECT_EQ(status.code(), StatusCode::UNAVAILABLE) << status.toString();
        EXPECT_LE(soon.asked(), patience + 4) << "nothing else is looked at";
        EXPECT_EQ(mState->account.memory->reserved(), 0U);
    }
}

TEST_F(SupportDeadline, IsWhatTheDeadlineSays) {
    const Checkpoint passed(std::chrono::steady_clock::time_point{});
    EXPECT_EQ(supportedOperations(*mState, *mState->clients.own(), gathersBySharedIndices(), {},
                                  passed)
                      .status()
                      .code(),
              StatusCode::DEADLINE_EXCEEDED);
}

// One operation of each copies a constant of its own that lies one byte off.
TEST_F(SupportDeadline, IsAskedWhileUnalignedConstantsAreCopied) {
    ModelBuilder builder;
    const uint32_t x = builder.input(floats({kIndices}));
    builder.constant<uint8_t>({OperandType::BOOL, {}}, {1});  // what comes next is not aligned
    const uint32_t y = builder.constant<float>(floats({kIndices}), std::vector<float>(kIndices));
    builder.operation(OperationType::ADD, {x, y, builder.int32(0)},
                      {builder.output(floats({kIndices}))});
    const CountingCondition never;
    ASSERT_TRUE(ask(builder.build(), never).ok());
    EXPECT_GE(never.asked(), kMegabytes);
}

}  // namespace
}  // namespace halyard::driver
