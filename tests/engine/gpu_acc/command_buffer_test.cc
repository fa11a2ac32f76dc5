// SPDX-License-Identifier: Apache-2.0
//
// Launches that a device keeps as a command buffer and begins together: run after run with other
// values, where tensors move, and from several executions. On a device of the machine, with
// cl_khr_command_buffer (PoCL has it) or CUDA.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/backends/gpu/device/device.h"
#include "engine/backends/gpu/device/gpu_memory.h"
#include "engine/backends/gpu/device/gpu_queue.h"
#include "engine/backends/gpu/launches/bound_kernels.h"
#include "engine/backends/gpu/launches/launch.h"
#include "engine/backends/gpu/programs/programs.h"
#include "engine/base/budget.h"
#include "engine/base/log.h"
#include "tests/engine/gpu_acc/on_device.h"

namespace halyard::engine::gpu_test {
namespace {

using namespace gpu;

constexpr size_t kWidth = 256;

constexpr KernelFamily kAddOne = {.kernel = "add_one",
                                  .shared = {},
                                  .text = R"(
__kernel __attribute__((reqd_work_group_size(128, 1, 1))) void add_one(IN(x), OUT(y)) {
    BIND_IN(F32, x);
    BIND_OUT(F32, y);
    const int at = (int)get_global_id(0);
    y[at] = x[at] + 1.0f;
}
)",
                                  .local = {128, 1, 1}};

class CommandBuffer : public testing::Test {
  protected:
    void SetUp() override {
        if (backend() == nullptr) {
            GTEST_SKIP() << "there is no OpenCL device";
        }
        const char* const named = std::getenv("HALYARD_OPENCL_DEVICE");
        Result<std::shared_ptr<const Device>> opened =
                Device::open({.library = "",
                              .device = named != nullptr ? named : "pthread",
                              .keepsCommandBuffer = true});
        ASSERT_TRUE(opened.ok()) << opened.status().message();
        mDevice = *std::move(opened);
        mMemory = std::make_unique<GpuMemory>(mDevice);
        Programs programs(mDevice, {});
        Result<std::shared_ptr<const gpu::Program>> program = programs.get(kAddOne, "", 2, Blobs());
        ASSERT_TRUE(program.ok()) << program.status().message();
        // From tensor 0 to tensor 1 and back, so that the order counts.
        for (const LocalId from : {0, 1, 0}) {
            Launch& launch = mLaunches.emplace_back();
            launch.family = &kAddOne;
            launch.program = *program;
            launch.workItems = {kWidth, 1, 1};
            launch.work = kWidth;
            launch.with({.place = Operand::Place::TENSOR, .local = from})
                    .with(Operand{.place = Operand::Place::TENSOR, .local = 1 - from});
        }
        mPair = makePair();
    }

    using Pair = std::vector<std::unique_ptr<DeviceBuffer>>;
    Pair makePair() const {
        Pair pair;
        for (int i = 0; i < 2; ++i) {
            pair.push_back(mMemory->allocate(kWidth * sizeof(float)).value());
        }
        return pair;
    }

    // The result of three additions to `start` in this memory; `replayed`: whether as a command
    // buffer.
    float run(BoundKernels& kernels, const Pair& pair, float start, bool& replayed,
              uint64_t plan = 1) const {
        const std::vector<float> values(kWidth, start);
        std::vector<float> found(kWidth);
        const Status status = mMemory->withQueue([&](GpuQueue& queue) -> Status {
            HALYARD_RETURN_IF_ERROR(kernels.bind(plan, mLaunches));
            std::vector<Placed>& bases = kernels.emptyBases();
            for (const auto& buffer : pair) {
                bases.push_back(Placed::at(buffer.get(), 0));
            }
            HALYARD_RETURN_IF_ERROR(kernels.place(bases, [&](const Operand& operand, size_t) {
                return Placed::at(pair[operand.local].get(), 0);
            }));
            HALYARD_RETURN_IF_ERROR(
                    queue.copyIn({.buffer = pair[0].get()}, std::as_bytes(std::span(values)), {}));
            HALYARD_ASSIGN_OR_RETURN(replayed, kernels.replay(queue, {}));
            for (size_t i = 0; !replayed && i < mLaunches.size(); ++i) {
                HALYARD_RETURN_IF_ERROR(kernels.enqueue(i, queue, {}));
            }
            return queue.copyOut(std::as_writable_bytes(std::span(found)),
                                 {.buffer = pair[1].get()}, {});
        });
        EXPECT_TRUE(status.ok()) << status.message();
        EXPECT_EQ(found, std::vector<float>(kWidth, found[0]));
        return found[0];
    }

    // Until it is replayed, if it ever is: what the budget then has less.
    size_t costOf(BoundKernels& kernels, const Pair& pair, uint64_t plan = 1) const {
        const size_t before = mBudget->reserved();
        bool replayed = false;
        EXPECT_EQ(run(kernels, pair, 1.0f, replayed, plan), 4.0f);
        EXPECT_EQ(mBudget->reserved(), before) << "for one run nothing is recorded";
        EXPECT_EQ(run(kernels, pair, 2.0f, replayed, plan), 5.0f);
        return mBudget->reserved() - before;
    }

    std::shared_ptr<const Device> mDevice;
    const std::shared_ptr<Budget> mBudget = std::make_shared<Budget>(size_t{1} << 20);
    std::unique_ptr<GpuMemory> mMemory;
    std::vector<Launch> mLaunches;
    Pair mPair;
};

TEST_F(CommandBuffer, RunsFromTheSecondTimeOnWithWhatMemoryHoldsThen) {
    BoundKernels kernels(mDevice);
    for (int i = 0; i < 4; ++i) {
        bool replayed = false;
        EXPECT_EQ(run(kernels, mPair, static_cast<float>(10 * i), replayed),
                  static_cast<float>(10 * i + 3));
        EXPECT_EQ(replayed, i > 0) << i;
    }
}

TEST_F(CommandBuffer, IsMadeAnewWhereTensorsHaveMoved) {
    BoundKernels kernels(mDevice);
    const Pair other = makePair();
    bool replayed = false;
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(run(kernels, mPair, 5.0f, replayed), 8.0f);
    }
    EXPECT_EQ(run(kernels, other, 20.0f, replayed), 23.0f);
    EXPECT_FALSE(replayed) << "of other memory";
    EXPECT_EQ(run(kernels, other, 30.0f, replayed), 33.0f);
    EXPECT_TRUE(replayed);
}

TEST_F(CommandBuffer, IsOneOfEachExecutionsOwn) {
    BoundKernels first(mDevice);
    BoundKernels second(mDevice);
    const Pair other = makePair();
    bool replayed = false;
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(run(first, mPair, static_cast<float>(i), replayed), static_cast<float>(i + 3));
        EXPECT_EQ(run(second, other, 100.0f, replayed), 103.0f);
    }
    EXPECT_TRUE(replayed);
}

// Between its parts somebody may stop it.
TEST_F(CommandBuffer, IsNotMadeOfWorkThatTakesLong) {
    mLaunches[1].work = GpuQueue::mostWork(mDevice->facts()) + 1;
    BoundKernels kernels(mDevice);
    for (int i = 0; i < 3; ++i) {
        bool replayed = true;
        EXPECT_EQ(run(kernels, mPair, 1.0f, replayed), 4.0f);
        EXPECT_FALSE(replayed);
    }
}

TEST_F(CommandBuffer, IsChargedForAsLongAsItIsKept) {
    {
        BoundKernels kernels(mDevice, mBudget);
        const size_t one = costOf(kernels, mPair);
        EXPECT_GT(one, size_t{10} << 10);
        bool replayed = false;
        run(kernels, mPair, 1.0f, replayed);
        EXPECT_EQ(mBudget->reserved(), one) << "running it costs nothing";
        const Pair other = makePair();
        run(kernels, other, 1.0f, replayed);
        EXPECT_EQ(mBudget->reserved(), 0U) << "its memory has moved";
        EXPECT_EQ(costOf(kernels, mPair), one);
        // Of the plans that are kept, which are no more for more of them.
        for (uint64_t plan = 2; plan < 10; ++plan) {
            run(kernels, mPair, 1.0f, replayed, plan);
            run(kernels, mPair, 1.0f, replayed, plan);
            EXPECT_EQ(mBudget->reserved(), std::min<uint64_t>(plan, 4) * one) << plan;
        }
    }
    EXPECT_EQ(mBudget->reserved(), 0U);
}

TEST_F(CommandBuffer, CostsMoreOfMoreLaunches) {
    BoundKernels few(mDevice, mBudget);
    const size_t ofThree = costOf(few, mPair);
    // The last is from tensor 0 to tensor 1: done again, it gives the same.
    mLaunches.insert(mLaunches.end(), 2, Launch(mLaunches.back()));
    BoundKernels more(mDevice, mBudget);
    EXPECT_GT(costOf(more, mPair), ofThree + 2 * (size_t{10} << 10));
}

TEST_F(CommandBuffer, IsNotMadeWhereTheBudgetHasNoRoom) {
    static int lines;
    lines = 0;
    setLogSink([](LogLevel /*level*/, std::string_view /*line*/) { ++lines; });
    BoundKernels kernels(mDevice, mBudget);
    {
        const Reservation all = Reservation::create(mBudget, mBudget->limit() - 1000).value();
        for (int i = 0; i < 4; ++i) {
            bool replayed = true;
            EXPECT_EQ(run(kernels, mPair, 1.0f, replayed), 4.0f);
            EXPECT_FALSE(replayed);
            EXPECT_EQ(mBudget->reserved(), all.count());
        }
        // Nor to measure.
        EXPECT_TRUE(mMemory->withQueue([&](GpuQueue& queue) -> Status {
                               HALYARD_ASSIGN_OR_RETURN(const auto time,
                                                        kernels.timeInCommandBuffer(queue, {}));
                               EXPECT_FALSE(time.has_value());
                               return {};
                           })
                            .ok());
    }
    setLogSink(nullptr);
    EXPECT_EQ(lines, 0) << "it happens run after run";
    // Where there is room, elsewhere.
    EXPECT_GT(costOf(kernels, makePair()), 0U);
}

}  // namespace
}  // namespace halyard::engine::gpu_test
