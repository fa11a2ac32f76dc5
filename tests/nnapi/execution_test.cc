// SPDX-License-Identifier: Apache-2.0
//
// Computations through NNAPI's C functions.

#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <numeric>
#include <thread>

#include "tests/nnapi/c_objects.h"
#include "tests/nnapi/compute_modes.h"

namespace halyard::nnapi_test {
namespace {

const std::vector<uint32_t> kShape = {2, 3};
const std::vector<float> kA = {1, 2, 3, 4, 5, 6};
const std::vector<float> kB = {10, 20, 30, 40, 50, 60};
const std::vector<float> kSum = {11, 22, 33, 44, 55, 66};

Model addition(const std::vector<uint32_t>& dimensions = kShape) {
    ModelText text;
    const uint32_t a = text.floats(dimensions);
    const uint32_t b = text.floats(dimensions);
    text.identify({a, b}, {text.binary(ANEURALNETWORKS_ADD, a, b, dimensions)});
    return text.finish();
}

// (a + b) * a - b
Model mixed() {
    ModelText text;
    const uint32_t a = text.floats(kShape);
    const uint32_t b = text.floats(kShape);
    const uint32_t sum = text.binary(ANEURALNETWORKS_ADD, a, b, kShape);
    const uint32_t product = text.binary(ANEURALNETWORKS_MUL, sum, a, kShape);
    text.identify({a, b}, {text.binary(ANEURALNETWORKS_SUB, product, b, kShape)});
    return text.finish();
}

std::vector<float> mixedOf(const std::vector<float>& a, const std::vector<float>& b) {
    std::vector<float> results;
    for (size_t i = 0; i < a.size(); ++i) {
        results.push_back((a[i] + b[i]) * a[i] - b[i]);
    }
    return results;
}

void bind(const Execution& execution, std::vector<float>& output) {
    HALYARD_EXPECT_NO_ERROR(setInput(execution, 0, kA));
    HALYARD_EXPECT_NO_ERROR(setInput(execution, 1, kB));
    HALYARD_EXPECT_NO_ERROR(setOutput(execution, 0, output));
}

TEST(NnapiDevices, EndWithTheReference) {
    uint32_t count = 0;
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworks_getDeviceCount(&count));
    ASSERT_EQ(count, 4U);
    ANeuralNetworksDevice* device = nullptr;
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworks_getDevice(count - 1, &device));
    const char* name = nullptr;
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksDevice_getName(device, &name));
    EXPECT_STREQ(name, "nnapi-reference");
    int32_t type = 0;
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksDevice_getType(device, &type));
    EXPECT_EQ(type, ANEURALNETWORKS_DEVICE_CPU);
    int64_t level = 0;
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksDevice_getFeatureLevel(device, &level));
    EXPECT_EQ(level, ANEURALNETWORKS_FEATURE_LEVEL_8);
    EXPECT_EQ(ANeuralNetworks_getRuntimeFeatureLevel(), ANEURALNETWORKS_FEATURE_LEVEL_8);
}

TEST(NnapiExecution, AddsOnAnyDevice) {
    const Model model = addition();
    const Compilation compilation = compile(model);
    const Execution execution = newExecution(compilation);
    std::vector<float> output(kSum.size());
    bind(execution, output);
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_compute(execution.get()));
    EXPECT_EQ(output, kSum);
    EXPECT_EQ(dimensionsOf(execution), kShape);
}

TEST(NnapiExecution, ComputesAgainWhereItIsReusable) {
    const Compilation compilation = compile(addition());
    const Execution execution = newExecution(compilation);
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_setReusable(execution.get(), true));
    std::vector<float> a = kA;
    std::vector<float> output(kSum.size());
    HALYARD_EXPECT_NO_ERROR(setInput(execution, 0, a));
    HALYARD_EXPECT_NO_ERROR(setInput(execution, 1, kB));
    HALYARD_EXPECT_NO_ERROR(setOutput(execution, 0, output));
    for (int round = 0; round < 3; ++round) {
        a[0] = static_cast<float>(round);
        HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_compute(execution.get()));
        EXPECT_EQ(output[0], a[0] + kB[0]);
        EXPECT_EQ(output[5], kSum[5]);
    }
    EXPECT_EQ(setInput(execution, 0, a), ANEURALNETWORKS_BAD_STATE);
}

TEST(NnapiExecution, IsComputedOnceWhereItIsNot) {
    const Compilation compilation = compile(addition());
    const Execution execution = newExecution(compilation);
    std::vector<float> output(kSum.size());
    bind(execution, output);
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_compute(execution.get()));
    EXPECT_EQ(ANeuralNetworksExecution_compute(execution.get()), ANEURALNETWORKS_BAD_STATE);
}

TEST(NnapiExecution, IsOverWithoutAnArgument) {
    const Compilation compilation = compile(addition());
    const Execution execution = newExecution(compilation);
    HALYARD_EXPECT_NO_ERROR(setInput(execution, 0, kA));
    EXPECT_EQ(ANeuralNetworksExecution_compute(execution.get()), ANEURALNETWORKS_BAD_DATA);
    EXPECT_EQ(ANeuralNetworksExecution_compute(execution.get()), ANEURALNETWORKS_BAD_STATE);
}

TEST(NnapiExecution, RunsBesideItsCaller) {
    const Compilation compilation = compile(addition());
    const Execution execution = newExecution(compilation);
    std::vector<float> output(kSum.size());
    bind(execution, output);
    ANeuralNetworksEvent* event = nullptr;
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_startCompute(execution.get(), &event));
    const Event owned(event);
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksEvent_wait(event));
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksEvent_wait(event));
    EXPECT_EQ(output, kSum);
    int fence = 0;
    EXPECT_EQ(ANeuralNetworksEvent_getSyncFenceFd(event, &fence), ANEURALNETWORKS_BAD_DATA);
    EXPECT_EQ(fence, -1);
}

// Its results are read as another process would, by a mapping of its own: that they come before the
// fence is the kernel's order, of which thread sanitizers know nothing.
TEST(NnapiExecution, WaitsForFencesAndGivesOne) {
    const Compilation compilation = compile(addition());
    const Execution execution = newExecution(compilation);
    const int results = memfd_create("results", MFD_CLOEXEC);
    constexpr size_t kBytes = 4096;
    ASSERT_EQ(ftruncate(results, kBytes), 0);
    ANeuralNetworksMemory* shared = nullptr;
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksMemory_createFromFd(kBytes, PROT_READ | PROT_WRITE,
                                                               results, 0, &shared));
    const Memory memory(shared);
    void* const mapped = mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, results, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    close(results);
    const auto output = [mapped, size = kSum.size()] {
        const auto* const values = static_cast<const float*>(mapped);
        return std::vector<float>(values, values + size);
    };
    HALYARD_EXPECT_NO_ERROR(setInput(execution, 0, kA));
    HALYARD_EXPECT_NO_ERROR(setInput(execution, 1, kB));
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_setOutputFromMemory(
            execution.get(), 0, nullptr, memory.get(), 0, kSum.size() * sizeof(float)));
    const int trigger = eventfd(0, EFD_CLOEXEC);
    ASSERT_GT(trigger, 0);
    ANeuralNetworksEvent* dependency = nullptr;
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksEvent_createFromSyncFenceFd(trigger, &dependency));
    Event first(dependency);
    const std::array<const ANeuralNetworksEvent*, 1> dependencies = {dependency};
    ANeuralNetworksEvent* event = nullptr;
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_startComputeWithDependencies(
            execution.get(), dependencies.data(), 1, 0, &event));
    const Event second(event);
    first.reset();  // what waits for it has its own hold of it
    int fence = -1;
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksEvent_getSyncFenceFd(event, &fence));
    EXPECT_EQ(output(), std::vector<float>(kSum.size()));  // it waits
    const uint64_t one = 1;
    ASSERT_EQ(write(trigger, &one, sizeof one), static_cast<ssize_t>(sizeof one));
    ANeuralNetworksEvent* last = nullptr;
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksEvent_createFromSyncFenceFd(fence, &last));
    const Event third(last);
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksEvent_wait(last));
    EXPECT_EQ(output(), kSum);
    close(fence);
    close(trigger);
    munmap(mapped, kBytes);
}

TEST(NnapiExecution, ComputesInABurst) {
    const Compilation compilation = compile(addition());
    ANeuralNetworksBurst* made = nullptr;
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksBurst_create(compilation.get(), &made));
    const Burst burst(made);
    for (int round = 0; round < 2; ++round) {
        const Execution execution = newExecution(compilation);
        std::vector<float> output(kSum.size());
        bind(execution, output);
        HALYARD_EXPECT_NO_ERROR(
                ANeuralNetworksExecution_burstCompute(execution.get(), burst.get()));
        EXPECT_EQ(output, kSum);
    }
    const Compilation other = compile(addition());
    const Execution execution = newExecution(other);
    std::vector<float> output(kSum.size());
    bind(execution, output);
    EXPECT_EQ(ANeuralNetworksExecution_burstCompute(execution.get(), burst.get()),
              ANEURALNETWORKS_BAD_DATA);
}

TEST(NnapiExecution, IsCutWhereDevicesRefuseOperations) {
    const Model model = mixed();
    std::array<bool, 3> supported = {};
    const ANeuralNetworksDevice* const adds = deviceNamed("adds");
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksModel_getSupportedOperationsForDevices(
            model.get(), &adds, 1, supported.data()));
    EXPECT_EQ(supported, (std::array{true, false, false}));
    const Compilation compilation = compile(model, {"adds", "multiplies", "nnapi-reference"});
    const Execution execution = newExecution(compilation);
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_setReusable(execution.get(), true));
    std::vector<float> output(kSum.size());
    bind(execution, output);
    for (int round = 0; round < 3; ++round) {
        std::ranges::fill(output, 0.0F);
        HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_compute(execution.get()));
        EXPECT_EQ(output, mixedOf(kA, kB));
    }
}

TEST(NnapiExecution, RefusesWhatNoDeviceTakes) {
    const Compilation compilation = newCompilation(mixed(), {"adds", "multiplies"});
    EXPECT_EQ(ANeuralNetworksCompilation_finish(compilation.get()), ANEURALNETWORKS_BAD_DATA);
    ANeuralNetworksExecution* execution = nullptr;
    EXPECT_EQ(ANeuralNetworksExecution_create(compilation.get(), &execution),
              ANEURALNETWORKS_BAD_STATE);
}

TEST(NnapiExecution, TellsHowMuchAnOutputTakes) {
    const Model model = addition({0, 3});
    for (const std::initializer_list<std::string_view>& devices :
         {std::initializer_list<std::string_view>{"whole"}, {"nnapi-reference"}}) {
        const Compilation compilation = compile(model, devices);
        const auto type = tensor(ANEURALNETWORKS_TENSOR_FLOAT32, kShape);
        for (const size_t size : {3U, 6U}) {
            const Execution execution = newExecution(compilation);
            std::vector<float> output(size);
            HALYARD_EXPECT_NO_ERROR(setInput(execution, 0, kA, &type));
            HALYARD_EXPECT_NO_ERROR(setInput(execution, 1, kB, &type));
            HALYARD_EXPECT_NO_ERROR(setOutput(execution, 0, output));
            const int expected =
                    size == 3 ? ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE : ANEURALNETWORKS_NO_ERROR;
            EXPECT_EQ(ANeuralNetworksExecution_compute(execution.get()), expected);
            EXPECT_EQ(dimensionsOf(execution, expected), kShape);
        }
    }
}

TEST(NnapiExecution, FindsTheSizeOfWhatLiesBetweenDevices) {
    ModelText text;
    const std::vector<uint32_t> open = {0, 0};
    const uint32_t a = text.floats(open);
    const uint32_t b = text.floats(open);
    const uint32_t sum = text.binary(ANEURALNETWORKS_ADD, a, b, open);
    text.identify({a, b}, {text.binary(ANEURALNETWORKS_MUL, sum, a, open)});
    const Compilation compilation = compile(text.finish(), {"adds", "multiplies"});
    // A first guess would do for some.
    for (const uint32_t rows : {1U, 700U, 3000U}) {
        const std::vector<uint32_t> shape = {rows, 7};
        const auto type = tensor(ANEURALNETWORKS_TENSOR_FLOAT32, shape);
        std::vector<float> values(rows * 7);
        std::iota(values.begin(), values.end(), 0.0F);
        std::vector<float> output(values.size());
        const Execution execution = newExecution(compilation);
        HALYARD_EXPECT_NO_ERROR(setInput(execution, 0, values, &type));
        HALYARD_EXPECT_NO_ERROR(setInput(execution, 1, values, &type));
        HALYARD_EXPECT_NO_ERROR(setOutput(execution, 0, output));
        HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_compute(execution.get()));
        EXPECT_EQ(dimensionsOf(execution), shape);
        for (size_t i = 0; i < values.size(); ++i) {
            ASSERT_EQ(output[i], 2 * values[i] * values[i]) << i;
        }
    }
}

TEST(NnapiExecution, ReadsAndWritesSharedMemory) {
    const int fd = memfd_create("pool", MFD_CLOEXEC);
    constexpr size_t kBytes = 4096;
    ASSERT_EQ(ftruncate(fd, kBytes), 0);
    auto* const pool =
            static_cast<float*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    ASSERT_NE(pool, MAP_FAILED);
    std::ranges::copy(kA, pool);
    std::ranges::copy(kB, pool + 64);
    ANeuralNetworksMemory* made = nullptr;
    HALYARD_EXPECT_NO_ERROR(
            ANeuralNetworksMemory_createFromFd(kBytes, PROT_READ | PROT_WRITE, fd, 0, &made));
    const Memory memory(made);
    close(fd);
    const Compilation compilation = compile(addition());
    const Execution execution = newExecution(compilation);
    constexpr size_t kLength = 6 * sizeof(float);
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_setInputFromMemory(execution.get(), 0, nullptr,
                                                                        memory.get(), 0, kLength));
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_setInputFromMemory(
            execution.get(), 1, nullptr, memory.get(), 256, kLength));
    EXPECT_EQ(ANeuralNetworksExecution_setOutputFromMemory(execution.get(), 0, nullptr,
                                                           memory.get(), kBytes - 4, kLength),
              ANEURALNETWORKS_BAD_DATA);
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_setOutputFromMemory(
            execution.get(), 0, nullptr, memory.get(), 512, kLength));
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_compute(execution.get()));
    EXPECT_EQ(std::vector<float>(pool + 128, pool + 134), kSum);
    munmap(pool, kBytes);
}

// The signal's action is the program's own again once nothing is mapped.
TEST(NnapiExecution, FailsWhereAFileWasCutShort) {
    struct sigaction before = {};
    ASSERT_EQ(sigaction(SIGBUS, nullptr, &before), 0);
    const int fd = memfd_create("pool", MFD_CLOEXEC);
    constexpr size_t kBytes = 4096;
    constexpr size_t kLength = 6 * sizeof(float);
    ASSERT_EQ(ftruncate(fd, kBytes), 0);
    const Compilation compilation = compile(addition());
    {
        ANeuralNetworksMemory* made = nullptr;
        HALYARD_EXPECT_NO_ERROR(
                ANeuralNetworksMemory_createFromFd(kBytes, PROT_READ, fd, 0, &made));
        const Memory memory(made);
        const auto run = [&] {
            const Execution execution = newExecution(compilation);
            std::vector<float> output(kSum.size());
            HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_setInputFromMemory(
                    execution.get(), 0, nullptr, memory.get(), 0, kLength));
            HALYARD_EXPECT_NO_ERROR(setInput(execution, 1, kB));
            HALYARD_EXPECT_NO_ERROR(setOutput(execution, 0, output));
            return ANeuralNetworksExecution_compute(execution.get());
        };
        HALYARD_EXPECT_NO_ERROR(run());
        ASSERT_EQ(ftruncate(fd, 0), 0);
        EXPECT_NE(run(), ANEURALNETWORKS_NO_ERROR);
        struct sigaction guarded = {};
        ASSERT_EQ(sigaction(SIGBUS, nullptr, &guarded), 0);
        EXPECT_NE(guarded.sa_sigaction, before.sa_sigaction);
    }
    close(fd);
    struct sigaction after = {};
    ASSERT_EQ(sigaction(SIGBUS, nullptr, &after), 0);
    EXPECT_EQ(after.sa_sigaction, before.sa_sigaction);
}

TEST(NnapiExecution, KeepsResultsInADevicesMemory) {
    const Compilation compilation = compile(addition(), {"whole"});
    ANeuralNetworksMemoryDesc* made = nullptr;
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksMemoryDesc_create(&made));
    const MemoryDescription description(made);
    HALYARD_EXPECT_NO_ERROR(
            ANeuralNetworksMemoryDesc_addOutputRole(made, compilation.get(), 0, 1.0F));
    HALYARD_EXPECT_NO_ERROR(
            ANeuralNetworksMemoryDesc_addInputRole(made, compilation.get(), 0, 0.5F));
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksMemoryDesc_finish(made));
    ANeuralNetworksMemory* allocated = nullptr;
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksMemory_createFromDesc(made, &allocated));
    const Memory memory(allocated);
    const auto run = [&](bool readsIt, std::vector<float>* output) {
        const Execution execution = newExecution(compilation);
        HALYARD_EXPECT_NO_ERROR(readsIt ? ANeuralNetworksExecution_setInputFromMemory(
                                                  execution.get(), 0, nullptr, memory.get(), 0, 0)
                                        : setInput(execution, 0, kA));
        HALYARD_EXPECT_NO_ERROR(setInput(execution, 1, kB));
        HALYARD_EXPECT_NO_ERROR(output == nullptr
                                        ? ANeuralNetworksExecution_setOutputFromMemory(
                                                  execution.get(), 0, nullptr, memory.get(), 0, 0)
                                        : setOutput(execution, 0, *output));
        return ANeuralNetworksExecution_compute(execution.get());
    };
    std::vector<float> output(kSum.size());
    EXPECT_EQ(run(true, &output), ANEURALNETWORKS_OP_FAILED);  // nothing was written
    HALYARD_EXPECT_NO_ERROR(run(false, nullptr));
    HALYARD_EXPECT_NO_ERROR(run(true, &output));
    std::vector<float> expected = kSum;
    std::ranges::transform(kSum, kB, expected.begin(), std::plus());
    EXPECT_EQ(output, expected);
}

// In all ways at once, of one device and of several.
TEST(NnapiExecution, SharesACompilationAmongThreads) {
    const Compilation cut = compile(mixed(), {"adds", "multiplies", "nnapi-reference"});
    const Compilation whole = compile(mixed(), {"whole"});
    std::vector<std::thread> threads;
    for (size_t i = 0; i < 8; ++i) {
        threads.emplace_back([&, i] {
            const Compilation& compilation = i % 2 == 0 ? cut : whole;
            for (size_t round = 0; round < 20; ++round) {
                std::vector<float> a = kA;
                a[0] = static_cast<float>(i);
                std::vector<float> output(a.size());
                const Execution execution = newExecution(compilation);
                HALYARD_EXPECT_NO_ERROR(setInput(execution, 0, a));
                HALYARD_EXPECT_NO_ERROR(setInput(execution, 1, kB));
                HALYARD_EXPECT_NO_ERROR(setOutput(execution, 0, output));
                HALYARD_EXPECT_NO_ERROR(computeIn(kComputeModes[(i + round) % kComputeModes.size()],
                                                  compilation, execution));
                EXPECT_EQ(output, mixedOf(a, kB));
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}

}  // namespace
}  // namespace halyard::nnapi_test
