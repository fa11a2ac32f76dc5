// SPDX-License-Identifier: Apache-2.0
//
// An execution's commands on a device that does nothing before it is waited for: nothing of a
// client's is read late, nothing is told to be done that is not, and no wait is longer than it has
// to be.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tests/engine/counting_condition.h"
#include "tests/engine/gpu_acc/fake_device.h"

namespace halyard::engine::gpu_test {
namespace {

using Bytes = std::vector<std::byte>;

Bytes numbered(size_t count) {
    Bytes bytes(count);
    for (size_t i = 0; i < count; ++i) {
        bytes[i] = static_cast<std::byte>(i % 251);
    }
    return bytes;
}

class GpuAccQueue : public OnAFakeDevice {
  protected:
    void SetUp() override {
        OnAFakeDevice::SetUp();
        if (mLibrary != nullptr) {
            defer(true);
            mBackend = open().value();
        }
    }
    void TearDown() override {
        if (mLibrary != nullptr) {
            EXPECT_EQ(number("fake_opencl_misused"), 0);
        }
        mBackend.reset();
        OnAFakeDevice::TearDown();
    }

    DeviceMemory& memory() const { return *mBackend->memory(); }
    Execution makeExecution() const {
        return Execution::create(buildOrDie(graph(), {mBackend.get()})).value();
    }
    static Status run(Execution& execution, const RunOptions& options = {}, bool isWanted = true) {
        const Floats in(kWidth, 1.0F);
        Floats out(kWidth);
        OutputBinding output = bindOutput(out);
        output.present = isWanted;
        return execution.run(std::array{bindInput(in)}, std::array{output}, options, nullptr);
    }
    // Where nothing is read by copyOut().
    int waits() const { return calls("clFinish") + calls("clWaitForEvents"); }

    std::unique_ptr<const Backend> mBackend;
};

TEST_F(GpuAccQueue, HasReadWhatItWasGivenWhenACopyReturns) {
    const auto queue = memory().makeQueue().value();
    const auto block = memory().allocate(1000).value();
    const Bytes given = numbered(1000);
    Bytes clients = given;
    ASSERT_TRUE(queue->copyIn({.buffer = block.get()}, clients, {}).ok());
    EXPECT_EQ(number("fake_opencl_pending"), 1) << "it does not wait for the device";
    std::ranges::fill(clients, std::byte{0xee});
    Bytes back(1000);
    ASSERT_TRUE(queue->copyOut(back, {.buffer = block.get()}, {}).ok());
    EXPECT_EQ(back, given);
}

TEST_F(GpuAccQueue, WaitsOnceForCopiesInARow) {
    const auto queue = memory().makeQueue().value();
    const auto block = memory().allocate(3000).value();
    const Bytes given = numbered(3000);
    ASSERT_TRUE(queue->copyIn({.buffer = block.get()}, given, {}).ok());
    Bytes back(3000);
    const auto part = [&](size_t i) { return std::span(back).subspan(i * 1000, 1000); };
    const int before = waits();
    for (size_t i = 0; i < 3; ++i) {
        ASSERT_TRUE(
                queue->beginCopyOut(part(i), {.buffer = block.get(), .offset = i * 1000}, {}).ok());
    }
    EXPECT_EQ(waits(), before);
    EXPECT_EQ(number("fake_opencl_pending"), 4);
    ASSERT_TRUE(queue->finish().ok());
    EXPECT_EQ(waits(), before + 1);
    EXPECT_EQ(back, given);
}

TEST_F(GpuAccQueue, BringsCopiesThatWereBegunWhereverItGoesOn) {
    const auto queue = memory().makeQueue().value();
    constexpr size_t kMany = gpu::Staging::kBytes + 12345;
    const auto block = memory().allocate(kMany).value();
    const Bytes given = numbered(kMany);
    ASSERT_TRUE(queue->copyIn({.buffer = block.get()}, given, {}).ok());
    const std::span expected = std::span(given).first(1000);
    Bytes back(1000);
    const auto begin = [&] {
        std::ranges::fill(back, std::byte{0xee});
        EXPECT_TRUE(queue->beginCopyOut(back, {.buffer = block.get()}, {}).ok());
    };
    begin();
    Bytes small(8);
    ASSERT_TRUE(queue->copyOut(small, {.buffer = block.get()}, {}).ok());
    EXPECT_TRUE(std::ranges::equal(back, expected)) << "behind it comes a small copy";
    begin();
    Bytes large(kMany);
    ASSERT_TRUE(queue->copyOut(large, {.buffer = block.get()}, {}).ok());
    EXPECT_TRUE(std::ranges::equal(back, expected)) << "behind it comes a large copy";
    EXPECT_EQ(large, given);
    begin();
    ASSERT_TRUE(queue->copyIn({.buffer = block.get()}, Bytes(kMany), {}).ok());
    EXPECT_TRUE(std::ranges::equal(back, expected)) << "before what needs the staging memory";
    EXPECT_TRUE(queue->finish().ok());
}

TEST_F(GpuAccQueue, CopiesMoreThanItsStagingMemoryHolds) {
    const auto queue = memory().makeQueue().value();
    constexpr size_t kMany = 3 * gpu::Staging::kBytes + 12345;
    const auto block = memory().allocate(kMany + 7).value();
    const Bytes given = numbered(kMany);
    // From wherever in the staging memory copies before it have ended.
    for (const size_t before : {size_t{1}, size_t{100'000}, size_t{1} << 20}) {
        ASSERT_TRUE(queue->copyIn({.buffer = block.get()}, Bytes(before), {}).ok());
        ASSERT_TRUE(queue->copyIn({.buffer = block.get(), .offset = 7}, given, {}).ok());
        EXPECT_GT(number("fake_opencl_pending"), 1) << "it waits for no more than it has to";
        Bytes back(kMany);
        ASSERT_TRUE(queue->copyOut(back, {.buffer = block.get(), .offset = 7}, {}).ok());
        EXPECT_TRUE(back == given) << before;
    }
}

TEST_F(GpuAccQueue, CopiesToWhereABlockIsOnADeviceThatSharesItsMemory) {
    share(true);
    const std::unique_ptr<const Backend> sharing = open().value();
    const auto queue = sharing->memory()->makeQueue().value();
    const auto block = sharing->memory()->allocate(1007).value();
    const Bytes given = numbered(1000);
    Bytes back(1000);
    const auto moved = [&] { return calls("clEnqueueWriteBuffer") + calls("clEnqueueReadBuffer"); };
    const auto mapped = [&] {
        return calls("clEnqueueMapBuffer") - calls("clEnqueueUnmapMemObject");
    };
    const int movedBefore = moved();
    const int mappedBefore = mapped();
    ASSERT_TRUE(queue->copyIn({.buffer = block.get(), .offset = 7}, given, {}).ok());
    ASSERT_TRUE(queue->copyOut(back, {.buffer = block.get(), .offset = 7}, {}).ok());
    EXPECT_EQ(back, given);
    EXPECT_EQ(moved(), movedBefore);
    // Stopped, it leaves nothing mapped.
    const CountingCondition stop(0);
    EXPECT_FALSE(queue->copyIn({.buffer = block.get()}, given, Checkpoint().unless(&stop)).ok());
    EXPECT_TRUE(queue->finish().ok());
    EXPECT_EQ(mapped(), mappedBefore) << "and there is no staging memory";
    EXPECT_EQ(number("fake_opencl_pending"), 0);
}

TEST_F(GpuAccQueue, WaitsOnceInAnExecution) {
    Execution execution = makeExecution();
    ASSERT_TRUE(run(execution).ok());
    const int before = waits();
    const int set = calls("clSetKernelArg");
    ASSERT_TRUE(run(execution).ok());
    EXPECT_EQ(waits() - before, 1) << "for the result";
    EXPECT_EQ(calls("clSetKernelArg"), set) << "nothing has moved";
}

TEST_F(GpuAccQueue, HasDoneAllWhenAnExecutionEnds) {
    Execution execution = makeExecution();
    ASSERT_TRUE(run(execution).ok());
    EXPECT_EQ(number("fake_opencl_pending"), 0);
    ASSERT_TRUE(run(execution, {}, false).ok());
    EXPECT_EQ(number("fake_opencl_pending"), 0) << "the result is not wanted";
    for (const char* const function :
         {"clEnqueueWriteBuffer", "clEnqueueNDRangeKernel", "clEnqueueReadBuffer", "clFlush"}) {
        for (int nth = 1; nth <= 2; ++nth) {
            fail(function, nth);
            const Status status = run(execution);
            EXPECT_EQ(status.ok(), !failed()) << function << ": " << status.toString();
            EXPECT_EQ(number("fake_opencl_pending"), 0) << function;
        }
    }
    fail("", 0);
    // Stopped wherever it asks.
    bool isDone = false;
    for (int patience = 0; !isDone; ++patience) {
        const CountingCondition stop(patience);
        isDone = run(execution, {.stop = &stop}).ok();
        EXPECT_EQ(number("fake_opencl_pending"), 0) << patience;
    }
}

TEST_F(GpuAccQueue, TellsNoSuccessBeforeAllIsDone) {
    Execution execution = makeExecution();
    ASSERT_TRUE(run(execution).ok());
    fail("clFinish", 1, CL_OUT_OF_RESOURCES);
    EXPECT_EQ(run(execution, {}, false).code(), StatusCode::INTERNAL) << "the result is not wanted";
    fail("clEnqueueReadBuffer", 1, CL_OUT_OF_RESOURCES);
    EXPECT_EQ(run(execution).code(), StatusCode::INTERNAL);
    EXPECT_TRUE(run(execution).ok());
}

TEST_F(GpuAccQueue, AsksTheCheckpointOnceMoreWhenTheResultIsThere) {
    const auto queue = memory().makeQueue().value();
    const auto block = memory().allocate(100).value();
    Bytes back(100);
    const CountingCondition stop(1);
    const Status status = queue->copyOut(back, {.buffer = block.get()}, Checkpoint().unless(&stop));
    EXPECT_EQ(status.message(), Checkpoint().unless(&stop).check("while it was copied").message());
}

TEST_F(GpuAccQueue, IsDoneWithABlockBeforeThatGoes) {
    const auto queue = memory().makeQueue().value();
    ReusedDeviceBuffer block;
    const auto sized = [&](size_t bytes) {
        return block.get(memory(), *queue, bytes, mDeviceMemory, "a block").value();
    };
    ASSERT_TRUE(queue->copyIn({.buffer = sized(100)}, Bytes(100), {}).ok());
    EXPECT_EQ(sized(50), sized(100));
    EXPECT_EQ(number("fake_opencl_pending"), 1) << "the block stays";
    sized(200);
    EXPECT_EQ(number("fake_opencl_pending"), 0);
}

// Drivers give new blocks the handles of old ones, and kernels keep what they have been given.
TEST_F(GpuAccQueue, GivesKernelsABlockAnewThatHasTheHandleOfAnother) {
    Graph graph;
    const TensorId x = graph.addTensor(float32({kUnknownDimension}));
    graph.setInputs({x});
    graph.setOutputs({addNode(graph, Activate(), {x})});
    Execution execution = Execution::create(buildOrDie(std::move(graph), {mBackend.get()})).value();
    // The first set of shapes again, in a block that has made way for a larger one.
    for (const int32_t width : {kWidth, 100 * kWidth, kWidth}) {
        const Floats in(static_cast<size_t>(width), 1.0F);
        Floats out(in.size());
        const Status status = runOnce(execution, {bindInput(in)}, {bindOutput(out)});
        EXPECT_TRUE(status.ok()) << status.toString();
    }
}

TEST_F(GpuAccQueue, LeavesNothingOfAModelWhosePreparationIsStopped) {
    const int alive = number("fake_opencl_alive");
    bool isDone = false;
    size_t patience = 0;
    for (; !isDone; ++patience) {
        const CountingCondition stop(patience);
        isDone = Program::build(
                         analyze(graph(), {mBackend.get()}, nullptr).value(), {mBackend.get()},
                         {.deviceMemory = mDeviceMemory, .checkpoint = Checkpoint().unless(&stop)})
                         .ok();
        EXPECT_EQ(mDeviceMemory->reserved(), 0U) << patience;
        EXPECT_EQ(number("fake_opencl_pending"), 0) << patience;
    }
    EXPECT_GT(patience, 3U);
    // Objects that the backend keeps for the next: programs, a queue and its staging memory.
    EXPECT_LE(number("fake_opencl_alive") - alive, 4);
}

TEST_F(GpuAccQueue, GoesOnWithOthersWhereOneHasNoMemory) {
    Execution first = makeExecution();
    ASSERT_TRUE(run(first).ok());
    Execution second = makeExecution();
    fail("clCreateBuffer", 1, CL_MEM_OBJECT_ALLOCATION_FAILURE);
    EXPECT_EQ(run(second).code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_TRUE(failed());
    EXPECT_TRUE(run(first).ok());
    EXPECT_TRUE(run(second).ok()) << "it finds room the next time";
}

TEST_F(GpuAccQueue, ServesOthersWhileOneIsStoppedAgainAndAgain) {
    const auto program = buildOrDie(graph(), {mBackend.get()});
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 3; ++thread) {
        threads.emplace_back([&, thread] {
            for (size_t round = 0; round < 30; ++round) {
                // Its client dies with it.
                Execution execution = Execution::create(program).value();
                const CountingCondition stop(thread == 0 ? round % 5 : CountingCondition::kNever);
                const bool ok = run(execution, {.stop = &stop}).ok();
                wrong += thread != 0 && !ok ? 1 : 0;
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(number("fake_opencl_pending"), 0);
}

}  // namespace
}  // namespace halyard::engine::gpu_test
