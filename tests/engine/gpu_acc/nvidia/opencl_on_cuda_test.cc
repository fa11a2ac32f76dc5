// SPDX-License-Identifier: Apache-2.0
//
// OpenCL's functions by way of CUDA's, on a driver that computes on the host.

#include "engine/backends/gpu/nvidia/cuda/opencl_on_cuda.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "engine/backends/gpu/device/device.h"
#include "engine/backends/gpu/opencl/handles.h"
#include "engine/backends/gpu/programs/program_build.h"
#include "tests/engine/gpu_acc/nvidia/fake_cuda.h"

namespace halyard::engine::gpu_test {
namespace {

using namespace gpu;

constexpr size_t kWorkItems = 8;
constexpr CUresult kIllegalAddress = 700;

class OpenClOnCudaTest : public testing::Test {
  protected:
    void SetUp() override {
        Result<NativeDriver> found =
                openClOnCuda(mCuda.driver(), mCuda.compiler(), nullptr, {.bus = 11, .slot = 1});
        ASSERT_TRUE(found.ok()) << found.status().message();
        EXPECT_EQ(found->version, "CUDA 13.2");
        cl_int code = CL_SUCCESS;
        ContextHandle context(found->cl, found->cl->clCreateContext(nullptr, 1, &found->id, nullptr,
                                                                    nullptr, &code));
        ASSERT_EQ(code, CL_SUCCESS);
        mDevice = std::make_shared<const Device>(found->cl, found->id, DeviceFacts(),
                                                 std::move(context));
        mQueue = *mDevice->makeQueue();
        mMemory = makeMemory(CL_MEM_READ_WRITE);
    }
    void TearDown() override {
        mMemory = {};
        mQueue = {};
        mDevice = nullptr;
        // The primary context is the driver's.
        EXPECT_EQ(mCuda.alive(), 1u);
    }

    const OpenCl& cl() const { return mDevice->cl(); }
    MemoryHandle makeMemory(cl_mem_flags flags) const {
        cl_int code = CL_SUCCESS;
        MemoryHandle memory(mDevice->library(),
                            cl().clCreateBuffer(mDevice->context(), flags,
                                                2 * kWorkItems * sizeof(float), nullptr, &code));
        EXPECT_EQ(code, CL_SUCCESS);
        return memory;
    }
    // Built, kept, and loaded from what was kept.
    ProgramHandle makeProgram() const {
        Result<ProgramHandle> built = buildFromSource(*mDevice, "__kernel void scale() {}");
        EXPECT_TRUE(built.ok()) << built.status().message();
        Result<ProgramHandle> loaded = buildFromBinary(*mDevice, binaryOf(*mDevice, built->get()));
        EXPECT_TRUE(loaded.ok()) << loaded.status().message();
        return *std::move(loaded);
    }
    KernelHandle makeKernel() const {
        const ProgramHandle program = makeProgram();
        cl_int code = CL_SUCCESS;
        KernelHandle kernel(mDevice->library(), cl().clCreateKernel(program.get(), "scale", &code));
        EXPECT_EQ(code, CL_SUCCESS);
        return kernel;
    }
    void setAll(const KernelHandle& kernel, uint64_t at, float factor) const {
        const cl_mem memory = mMemory.get();
        EXPECT_EQ(cl().clSetKernelArg(kernel.get(), 0, sizeof memory, &memory), CL_SUCCESS);
        EXPECT_EQ(cl().clSetKernelArg(kernel.get(), 1, sizeof at, &at), CL_SUCCESS);
        EXPECT_EQ(cl().clSetKernelArg(kernel.get(), 2, sizeof factor, &factor), CL_SUCCESS);
    }
    cl_int launch(const KernelHandle& kernel, size_t offset, size_t items) const {
        constexpr size_t kGroup = 2;
        return cl().clEnqueueNDRangeKernel(mQueue.get(), kernel.get(), 1, &offset, &items, &kGroup,
                                           0, nullptr, nullptr);
    }
    void fillWithOnes() const {
        const std::vector<float> ones(2 * kWorkItems, 1.0f);
        EXPECT_EQ(cl().clEnqueueWriteBuffer(mQueue.get(), mMemory.get(), CL_TRUE, 0,
                                            ones.size() * sizeof(float), ones.data(), 0, nullptr,
                                            nullptr),
                  CL_SUCCESS);
    }
    std::vector<float> contents() const {
        std::vector<float> found(2 * kWorkItems);
        EXPECT_EQ(cl().clEnqueueReadBuffer(mQueue.get(), mMemory.get(), CL_TRUE, 0,
                                           found.size() * sizeof(float), found.data(), 0, nullptr,
                                           nullptr),
                  CL_SUCCESS);
        return found;
    }

    FakeCuda mCuda;
    std::shared_ptr<const Device> mDevice;
    QueueHandle mQueue;
    MemoryHandle mMemory;
};

TEST_F(OpenClOnCudaTest, RunsAPartOfARange) {
    fillWithOnes();
    const KernelHandle kernel = makeKernel();
    setAll(kernel, 3, 2.0f);
    EXPECT_EQ(launch(kernel, 4, 2), CL_SUCCESS);
    std::vector<float> expected(2 * kWorkItems, 1.0f);
    expected[7] = expected[8] = 2.0f;
    EXPECT_EQ(contents(), expected);
}

TEST_F(OpenClOnCudaTest, ReplaysLaunchesWithTheArgumentsThatTheyHad) {
    fillWithOnes();
    const KernelHandle kernel = makeKernel();
    const cl_command_queue queue = mQueue.get();
    cl_int code = CL_SUCCESS;
    const RecordingHandle recording(mDevice->library(),
                                    cl().clCreateCommandBufferKHR(1, &queue, nullptr, &code));
    ASSERT_EQ(code, CL_SUCCESS);
    const size_t none = 0;
    const size_t items = 2;
    for (const float factor : {2.0f, 3.0f}) {
        setAll(kernel, 0, factor);
        EXPECT_EQ(
                cl().clCommandNDRangeKernelKHR(recording.get(), nullptr, nullptr, kernel.get(), 1,
                                               &none, &items, &items, 0, nullptr, nullptr, nullptr),
                CL_SUCCESS);
    }
    cl_command_queue same = queue;
    EXPECT_EQ(cl().clEnqueueCommandBufferKHR(1, &same, recording.get(), 0, nullptr, nullptr),
              CL_INVALID_OPERATION)
            << "before it is whole";
    ASSERT_EQ(cl().clFinalizeCommandBufferKHR(recording.get()), CL_SUCCESS);
    setAll(kernel, 5, 100.0f);
    EXPECT_EQ(contents()[0], 1.0f) << "nothing runs while it is recorded";
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(cl().clEnqueueCommandBufferKHR(1, &same, recording.get(), 0, nullptr, nullptr),
                  CL_SUCCESS);
    }
    std::vector<float> expected(2 * kWorkItems, 1.0f);
    expected[0] = expected[1] = 36.0f;
    EXPECT_EQ(contents(), expected);
}

TEST_F(OpenClOnCudaTest, ReleasesARecordingThatWasNeverWhole) {
    const KernelHandle kernel = makeKernel();
    setAll(kernel, 0, 2.0f);
    const cl_command_queue queue = mQueue.get();
    cl_int code = CL_SUCCESS;
    const size_t items = 2;
    const RecordingHandle recording(mDevice->library(),
                                    cl().clCreateCommandBufferKHR(1, &queue, nullptr, &code));
    EXPECT_EQ(cl().clCommandNDRangeKernelKHR(recording.get(), nullptr, nullptr, kernel.get(), 1,
                                             nullptr, &items, &items, 0, nullptr, nullptr, nullptr),
              CL_SUCCESS);
}

TEST_F(OpenClOnCudaTest, RefusesArgumentsThatAKernelDoesNotTake) {
    const KernelHandle kernel = makeKernel();
    const float number = 1.0f;
    EXPECT_EQ(cl().clSetKernelArg(kernel.get(), 3, sizeof number, &number), CL_INVALID_ARG_INDEX);
    EXPECT_EQ(cl().clSetKernelArg(kernel.get(), 1, sizeof number, &number), CL_INVALID_ARG_SIZE);
    EXPECT_EQ(cl().clSetKernelArg(kernel.get(), 1, 8, nullptr), CL_INVALID_ARG_VALUE);
    EXPECT_EQ(launch(kernel, 0, 2), CL_INVALID_KERNEL_ARGS);
    setAll(kernel, 0, 1.0f);
    EXPECT_EQ(launch(kernel, 0, 3), CL_INVALID_WORK_GROUP_SIZE);
    EXPECT_EQ(mCuda.launches(), 0u);
}

TEST_F(OpenClOnCudaTest, RefusesCopiesPastABlocksEnd) {
    const std::array<float, 2> values = {};
    EXPECT_EQ(cl().clEnqueueWriteBuffer(mQueue.get(), mMemory.get(), CL_TRUE, 16 * 4 - 4,
                                        sizeof values, values.data(), 0, nullptr, nullptr),
              CL_INVALID_VALUE);
    EXPECT_EQ(cl().clEnqueueCopyBuffer(mQueue.get(), mMemory.get(), mMemory.get(), 0, SIZE_MAX, 8,
                                       0, nullptr, nullptr),
              CL_INVALID_VALUE);
}

TEST_F(OpenClOnCudaTest, MapsWhatWasAllocatedForTheHost) {
    cl_int code = CL_SUCCESS;
    const MemoryHandle pinned = makeMemory(CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR);
    void* const mapped = cl().clEnqueueMapBuffer(mQueue.get(), pinned.get(), CL_TRUE, CL_MAP_WRITE,
                                                 4, 8, 0, nullptr, nullptr, &code);
    EXPECT_EQ(code, CL_SUCCESS);
    EXPECT_NE(mapped, nullptr);
    EXPECT_EQ(cl().clEnqueueMapBuffer(mQueue.get(), mMemory.get(), CL_TRUE, CL_MAP_WRITE, 4, 8, 0,
                                      nullptr, nullptr, &code),
              nullptr);
    EXPECT_EQ(code, CL_MAP_FAILURE);
}

TEST_F(OpenClOnCudaTest, TellsTimesWhereAQueueIsAsked) {
    const QueueHandle traced = *mDevice->makeQueue(true);
    const KernelHandle kernel = makeKernel();
    setAll(kernel, 0, 1.0f);
    const size_t items = 2;
    std::array<cl_event, 2> events = {};
    const std::array<cl_command_queue, 2> queues = {traced.get(), mQueue.get()};
    for (size_t i = 0; i < queues.size(); ++i) {
        ASSERT_EQ(cl().clEnqueueNDRangeKernel(queues[i], kernel.get(), 1, nullptr, &items, &items,
                                              0, nullptr, &events[i]),
                  CL_SUCCESS);
    }
    const EventHandle timed(mDevice->library(), events[0]);
    const EventHandle untimed(mDevice->library(), events[1]);
    cl_ulong begin = 0;
    cl_ulong end = 0;
    EXPECT_EQ(cl().clGetEventProfilingInfo(timed.get(), CL_PROFILING_COMMAND_START, sizeof begin,
                                           &begin, nullptr),
              CL_SUCCESS);
    EXPECT_EQ(cl().clGetEventProfilingInfo(timed.get(), CL_PROFILING_COMMAND_END, sizeof end, &end,
                                           nullptr),
              CL_SUCCESS);
    EXPECT_EQ(end - begin, 250000u);
    EXPECT_EQ(cl().clGetEventProfilingInfo(untimed.get(), CL_PROFILING_COMMAND_END, sizeof end,
                                           &end, nullptr),
              CL_PROFILING_INFO_NOT_AVAILABLE);
}

TEST_F(OpenClOnCudaTest, TellsTheCompilersWords) {
    const Status status = buildFromSource(*mDevice, "wrong").status();
    EXPECT_NE(status.message().find("that is wrong"), std::string::npos) << status.message();
}

TEST_F(OpenClOnCudaTest, FailsWithOpenClsCodes) {
    cl_int code = CL_SUCCESS;
    mCuda.fail("cuMemAlloc_v2", kCudaOutOfMemory);
    EXPECT_EQ(cl().clCreateBuffer(mDevice->context(), CL_MEM_READ_WRITE, 8, nullptr, &code),
              nullptr);
    EXPECT_EQ(code, CL_MEM_OBJECT_ALLOCATION_FAILURE);
    const KernelHandle kernel = makeKernel();
    setAll(kernel, 0, 1.0f);
    mCuda.fail("cuLaunchKernel", kIllegalAddress);
    EXPECT_EQ(launch(kernel, 0, 2), CL_OUT_OF_RESOURCES);
    mCuda.fail("cuStreamSynchronize", kIllegalAddress);
    EXPECT_EQ(cl().clFinish(mQueue.get()), CL_OUT_OF_RESOURCES);
    mCuda.fail("cuLinkAddData_v2", kCudaInvalidPtx);
    const Status unbuilt = buildFromSource(*mDevice, "__kernel void scale() {}").status();
    EXPECT_NE(unbuilt.message().find("CUDA_ERROR_OF_A_TEST (218)"), std::string::npos)
            << unbuilt.message();
    mCuda.fail("", kCudaSuccess);
}

TEST_F(OpenClOnCudaTest, RefusesAnotherDriversBinary) {
    const std::vector<uint8_t> bytes = {'B', 'C', 0, 1, 2, 3};
    EXPECT_FALSE(buildFromBinary(*mDevice, bytes).ok());
    const std::vector<uint8_t> ours =
            binaryOf(*mDevice, buildFromSource(*mDevice, "__kernel void scale() {}").value().get());
    mCuda.fail("cuModuleLoadDataEx", kCudaNoBinaryForGpu);
    const Status status = buildFromBinary(*mDevice, ours).status();
    EXPECT_NE(status.message().find("CL_INVALID_BINARY"), std::string::npos) << status.message();
    mCuda.fail("", kCudaSuccess);
}

TEST(OpenClOnCuda, IsNotWhereCudaHasNoSuchDevice) {
    const FakeCuda cuda;
    const Status status =
            openClOnCuda(cuda.driver(), cuda.compiler(), nullptr, {.bus = 12, .slot = 1}).status();
    EXPECT_EQ(status.code(), StatusCode::UNAVAILABLE);
    EXPECT_NE(status.message().find("none of CUDA's 2 devices"), std::string::npos);
}

}  // namespace
}  // namespace halyard::engine::gpu_test
