// SPDX-License-Identifier: Apache-2.0

#include "tests/engine/gpu_acc/nvidia/fake_cuda.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "engine/backends/gpu/nvidia/cuda/kernel_image.h"

namespace halyard::engine::gpu_test {

using namespace gpu;

namespace {

// The only one there is.
FakeCuda* gCuda = nullptr;

constexpr std::string_view kPtx =
        ".version 9.0\n.target sm_90, texmode_independent\n"
        ".entry scale(\n"
        "\t.param .u64 .ptr .global .align 1 scale_param_0,\n"
        "\t.param .u64 scale_param_1,\n"
        "\t.param .f32 scale_param_2\n"
        ")\n{\n\tmov.b32 \t%r1, %envreg3;\n\tret;\n}\n";

template <typename T>
T read(const void* from) {
    T value{};
    std::memcpy(&value, from, sizeof value);
    return value;
}

}  // namespace

// An object of the driver: a block that is counted.
struct FakeCuda::Calls {
    static bool fails(std::string_view function) {
        return gCuda->mFailure != kCudaSuccess && gCuda->mFailing == function;
    }
    template <typename Handle>
    static CUresult make(std::string_view function, Handle* handle, void* object) {
        if (fails(function)) {
            return gCuda->mFailure;
        }
        gCuda->mAlive.insert(object);
        *handle = reinterpret_cast<Handle>(object);
        return kCudaSuccess;
    }
    static void forget(void* object) { gCuda->mAlive.erase(object); }
    static Stream& streamOf(CUstream stream) { return *reinterpret_cast<Stream*>(stream); }

    static CUresult createStream(CUstream* stream, unsigned) {
        auto made = std::make_unique<Stream>();
        const CUresult result = make("cuStreamCreate", stream, made.get());
        if (result == kCudaSuccess) {
            made.release();
        }
        return result;
    }
    static CUresult destroyStream(CUstream stream) {
        forget(stream);
        delete &streamOf(stream);
        return kCudaSuccess;
    }
    static CUresult beginCapture(CUstream stream, int) {
        streamOf(stream).isCapturing = true;
        return kCudaSuccess;
    }
    static CUresult endCapture(CUstream stream, CUgraph* graph) {
        auto* const captured = new std::vector<Work>(std::move(streamOf(stream).captured));
        streamOf(stream).isCapturing = false;
        return make("", graph, captured);
    }
    static CUresult instantiate(CUgraphExec* executable, CUgraph graph, unsigned long long) {
        if (fails("cuGraphInstantiateWithFlags")) {
            return gCuda->mFailure;
        }
        return make("", executable,
                    new std::vector<Work>(*reinterpret_cast<std::vector<Work>*>(graph)));
    }
    template <typename Handle>
    static CUresult destroyWork(Handle handle) {
        forget(handle);
        delete reinterpret_cast<std::vector<Work>*>(handle);
        return kCudaSuccess;
    }
    static CUresult launchGraph(CUgraphExec executable, CUstream) {
        for (const Work& work : *reinterpret_cast<std::vector<Work>*>(executable)) {
            work();
        }
        ++gCuda->mReplays;
        return kCudaSuccess;
    }
    static CUresult launch(CUfunction, unsigned groupsX, unsigned, unsigned, unsigned itemsX,
                           unsigned, unsigned, unsigned, CUstream stream, void** parameters,
                           void**) {
        if (fails("cuLaunchKernel")) {
            return gCuda->mFailure;
        }
        auto* const y = reinterpret_cast<float*>(read<CUdeviceptr>(parameters[0]));
        const auto at = read<uint64_t>(parameters[1]);
        const auto factor = read<float>(parameters[2]);
        const auto begin = read<RangeBegin>(parameters[3]);
        const size_t count = size_t{groupsX} * itemsX;
        Work work = [=] {
            for (size_t i = 0; i < count; ++i) {
                y[at + begin.at[0] + i] *= factor;
            }
        };
        if (streamOf(stream).isCapturing) {
            streamOf(stream).captured.push_back(std::move(work));
        } else {
            ++gCuda->mLaunches;
            work();
        }
        return kCudaSuccess;
    }
    static CUresult allocate(CUdeviceptr* memory, size_t size) {
        void* const block = fails("cuMemAlloc_v2") ? nullptr : std::malloc(size);
        return make("cuMemAlloc_v2", memory, block);
    }
    static CUresult allocateHost(void** memory, size_t size, unsigned) {
        return make("", memory, std::malloc(size));
    }
    static CUresult freeHost(void* memory) {
        forget(memory);
        std::free(memory);
        return kCudaSuccess;
    }
    static CUresult freeDevice(CUdeviceptr memory) {
        return freeHost(reinterpret_cast<void*>(memory));
    }
    template <typename Handle>
    static CUresult makeSmall(Handle* handle) {
        return make("", handle, std::malloc(1));
    }
    template <typename Handle>
    static CUresult freeSmall(Handle handle) {
        return freeHost(reinterpret_cast<void*>(handle));
    }
    static CUresult addToLink(CUlinkState, int, void* data, size_t size, const char*, unsigned,
                              int*, void**) {
        gCuda->mImage.assign(static_cast<const char*>(data), size);
        return fails("cuLinkAddData_v2") ? gCuda->mFailure : kCudaSuccess;
    }
    static CUresult completeLink(CUlinkState, void** image, size_t* size) {
        *image = gCuda->mImage.data();
        *size = gCuda->mImage.size();
        return kCudaSuccess;
    }
    static CUresult load(CUmodule* loaded, const void*, unsigned, int*, void**) {
        return fails("cuModuleLoadDataEx") ? gCuda->mFailure : makeSmall(loaded);
    }
    static CUresult synchronize(CUstream) {
        return fails("cuStreamSynchronize") ? gCuda->mFailure : kCudaSuccess;
    }

    static void fill(CudaDriver& driver) {
        driver.cuInit = [](unsigned) { return kCudaSuccess; };
        driver.cuDriverGetVersion = [](int* version) {
            *version = 13020;
            return kCudaSuccess;
        };
        driver.cuGetErrorName = [](CUresult, const char** name) {
            *name = "CUDA_ERROR_OF_A_TEST";
            return kCudaSuccess;
        };
        driver.cuDeviceGetCount = [](int* count) {
            *count = 2;
            return kCudaSuccess;
        };
        driver.cuDeviceGet = [](CUdevice* device, int ordinal) {
            *device = ordinal;
            return kCudaSuccess;
        };
        // Device 0 is at 0:10:1, device 1 at 0:11:1.
        driver.cuDeviceGetAttribute = [](int* value, int attribute, CUdevice device) {
            *value = attribute == kCudaPciBus ? 10 + device : attribute == kCudaPciSlot ? 1 : 0;
            return kCudaSuccess;
        };
        driver.cuDevicePrimaryCtxRetain = [](CUcontext* context, CUdevice) {
            return makeSmall(context);
        };
        driver.cuDevicePrimaryCtxRelease_v2 = [](CUdevice) { return kCudaSuccess; };
        driver.cuCtxSetCurrent = [](CUcontext) { return kCudaSuccess; };
        driver.cuLinkCreate_v2 = [](unsigned, int*, void**, CUlinkState* link) {
            return makeSmall(link);
        };
        driver.cuLinkAddData_v2 = addToLink;
        driver.cuLinkComplete = completeLink;
        driver.cuLinkDestroy = freeSmall<CUlinkState>;
        driver.cuModuleLoadDataEx = load;
        driver.cuModuleUnload = freeSmall<CUmodule>;
        driver.cuModuleGetFunction = [](CUfunction* function, CUmodule loaded, const char*) {
            *function = reinterpret_cast<CUfunction>(loaded);
            return kCudaSuccess;
        };
        driver.cuMemAlloc_v2 = allocate;
        driver.cuMemFree_v2 = freeDevice;
        driver.cuMemHostAlloc = allocateHost;
        driver.cuMemFreeHost = freeHost;
        driver.cuMemcpyHtoDAsync_v2 = [](CUdeviceptr to, const void* from, size_t size, CUstream) {
            std::memcpy(reinterpret_cast<void*>(to), from, size);
            return kCudaSuccess;
        };
        driver.cuMemcpyDtoHAsync_v2 = [](void* to, CUdeviceptr from, size_t size, CUstream) {
            std::memcpy(to, reinterpret_cast<const void*>(from), size);
            return kCudaSuccess;
        };
        driver.cuMemcpyDtoDAsync_v2 = [](CUdeviceptr to, CUdeviceptr from, size_t size, CUstream) {
            std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), size);
            return kCudaSuccess;
        };
        driver.cuStreamCreate = createStream;
        driver.cuStreamDestroy_v2 = destroyStream;
        driver.cuStreamSynchronize = synchronize;
        driver.cuStreamBeginCapture_v2 = beginCapture;
        driver.cuStreamEndCapture = endCapture;
        driver.cuGraphInstantiateWithFlags = instantiate;
        driver.cuGraphDestroy = destroyWork<CUgraph>;
        driver.cuGraphLaunch = launchGraph;
        driver.cuGraphExecDestroy = destroyWork<CUgraphExec>;
        driver.cuEventCreate = [](CUevent* event, unsigned) { return makeSmall(event); };
        driver.cuEventRecord = [](CUevent, CUstream) { return kCudaSuccess; };
        driver.cuEventSynchronize = [](CUevent) { return kCudaSuccess; };
        driver.cuEventElapsedTime = [](float* milliseconds, CUevent, CUevent) {
            *milliseconds = 0.25f;
            return kCudaSuccess;
        };
        driver.cuEventDestroy_v2 = freeSmall<CUevent>;
        driver.cuLaunchKernel = launch;
    }

    // Any text but one with the word "wrong" in it.
    static void fill(OpenCl& compiler) {
        compiler.clCreateContext = [](const cl_context_properties*, cl_uint, const cl_device_id*,
                                      void (*)(const char*, const void*, size_t, void*), void*,
                                      cl_int* code) {
            cl_context context = nullptr;
            *code = makeSmall(&context);
            return context;
        };
        compiler.clReleaseContext = freeSmall<cl_context>;
        compiler.clCreateProgramWithSource = [](cl_context, cl_uint, const char** texts,
                                                const size_t* lengths, cl_int* code) {
            auto* const text = new std::string(texts[0], lengths[0]);
            gCuda->mAlive.insert(text);
            *code = CL_SUCCESS;
            return reinterpret_cast<cl_program>(text);
        };
        compiler.clReleaseProgram = [](cl_program program) {
            forget(program);
            delete reinterpret_cast<std::string*>(program);
            return CL_SUCCESS;
        };
        compiler.clBuildProgram = [](cl_program program, cl_uint, const cl_device_id*, const char*,
                                     void (*)(cl_program, void*), void*) {
            const auto& text = *reinterpret_cast<std::string*>(program);
            return text.find("wrong") == std::string::npos ? CL_SUCCESS : CL_BUILD_PROGRAM_FAILURE;
        };
        compiler.clGetProgramBuildInfo = [](cl_program, cl_device_id, cl_program_build_info,
                                            size_t size, void* value, size_t* needed) {
            constexpr std::string_view kWords = "that is wrong";
            if (needed != nullptr) {
                *needed = kWords.size();
            }
            std::memcpy(value, kWords.data(), value == nullptr ? 0 : std::min(size, kWords.size()));
            return CL_SUCCESS;
        };
        compiler.clGetProgramInfo = [](cl_program, cl_program_info what, size_t, void* value,
                                       size_t*) {
            if (what == CL_PROGRAM_BINARY_SIZES) {
                const size_t size = kPtx.size();
                std::memcpy(value, &size, sizeof size);
            } else {
                std::memcpy(read<void*>(value), kPtx.data(), kPtx.size());
            }
            return CL_SUCCESS;
        };
    }
};

FakeCuda::FakeCuda()
    : mDriver(std::make_shared<CudaDriver>()), mCompiler(std::make_shared<OpenCl>()) {
    gCuda = this;
    Calls::fill(*mDriver);
    Calls::fill(*mCompiler);
}

FakeCuda::~FakeCuda() {
    gCuda = nullptr;
}

void FakeCuda::fail(const std::string& function, CUresult result) {
    mFailing = function;
    mFailure = result;
}

}  // namespace halyard::engine::gpu_test
