// SPDX-License-Identifier: Apache-2.0
//
// Launches that a device keeps as a series and begins together: run after run with other values,
// where tensors move, and from several executions. On a device of the machine, with
// cl_khr_command_buffer (PoCL has it) or CUDA.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/backends/gpu/bound_kernels.h"
#include "engine/backends/gpu/device.h"
#include "engine/backends/gpu/gpu_memory.h"
#include "engine/backends/gpu/gpu_queue.h"
#include "engine/backends/gpu/launch.h"
#include "engine/backends/gpu/programs.h"
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

class Series : public testing::Test {
  protected:
    void SetUp() override {
        if (backend() == nullptr) {
            GTEST_SKIP() << "there is no OpenCL device";
        }
        const char* const named = std::getenv("HALYARD_OPENCL_DEVICE");
        Result<std::shared_ptr<const Device>> opened =
                Device::open({.library = "",
                              .device = named != nullptr ? named : "pthread",
                              .keepsSeries = true});
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
            launch.items = {kWidth, 1, 1};
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

    // What three additions make of `start` in this memory; `replayed`: whether as a series.
    float run(BoundKernels& kernels, const Pair& pair, float start, bool& replayed) const {
        const std::vector<float> values(kWidth, start);
        std::vector<float> found(kWidth);
        const Status status = mMemory->withQueue([&](GpuQueue& queue) -> Status {
            HALYARD_RETURN_IF_ERROR(kernels.bind(1, mLaunches));
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

    std::shared_ptr<const Device> mDevice;
    std::unique_ptr<GpuMemory> mMemory;
    std::vector<Launch> mLaunches;
    Pair mPair;
};

TEST_F(Series, RunsFromTheSecondTimeOnWithWhatMemoryHoldsThen) {
    BoundKernels kernels(mDevice);
    for (int i = 0; i < 4; ++i) {
        bool replayed = false;
        EXPECT_EQ(run(kernels, mPair, static_cast<float>(10 * i), replayed),
                  static_cast<float>(10 * i + 3));
        EXPECT_EQ(replayed, i > 0) << i;
    }
}

TEST_F(Series, IsMadeAnewWhereTensorsHaveMoved) {
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

TEST_F(Series, IsOneOfEachExecutionsOwn) {
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
TEST_F(Series, IsNotMadeOfWorkThatTakesLong) {
    mLaunches[1].work = GpuQueue::mostWork(mDevice->facts()) + 1;
    BoundKernels kernels(mDevice);
    for (int i = 0; i < 3; ++i) {
        bool replayed = true;
        EXPECT_EQ(run(kernels, mPair, 1.0f, replayed), 4.0f);
        EXPECT_FALSE(replayed);
    }
}

}  // namespace
}  // namespace halyard::engine::gpu_test
