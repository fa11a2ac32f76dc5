// SPDX-License-Identifier: Apache-2.0
//
// The objects behind OpenCL's handles where CUDA's driver does the work. Each keeps alive what it
// is of no use without, and has one owner: GpuAcc retains nothing.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/backends/gpu/nvidia/cuda/cuda_driver.h"
#include "engine/backends/gpu/nvidia/cuda/kernel_image.h"
#include "engine/backends/gpu/opencl/open_cl.h"

namespace halyard::engine::gpu::cuda {

struct DeviceOnCuda {
    std::shared_ptr<const CudaDriver> driver;
    CUdevice device = 0;
    std::shared_ptr<const OpenCl> compiler;
    cl_device_id compilerId = nullptr;
};

// CUDA's context of the device, and OpenCL's, which is opened when something is compiled.
class Context {
  public:
    Context(const DeviceOnCuda& on, CUcontext context) : mOn(on), mContext(context) {}
    ~Context();
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    const DeviceOnCuda& on() const { return mOn; }
    const CudaDriver& driver() const { return *mOn.driver; }
    // Makes it the calling thread's.
    CUresult enter() const { return mOn.driver->cuCtxSetCurrent(mContext); }
    cl_context compiler(cl_int* code);

  private:
    const DeviceOnCuda mOn;
    const CUcontext mContext;
    std::mutex mMutex;
    cl_context mCompiler = nullptr;
};

struct Queue {
    std::shared_ptr<Context> context;
    CUstream stream = nullptr;
    bool tellsTimes = false;

    Queue(std::shared_ptr<Context> of, bool times) : context(std::move(of)), tellsTimes(times) {}
    ~Queue();
    Queue(const Queue&) = delete;
    Queue& operator=(const Queue&) = delete;
};

// On the device, or pinned on the host.
struct Memory {
    std::shared_ptr<Context> context;
    CUdeviceptr device = 0;
    void* host = nullptr;
    size_t bytes = 0;

    explicit Memory(std::shared_ptr<Context> of) : context(std::move(of)) {}
    ~Memory();
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
};

// `begin` only where times are told.
struct Event {
    std::shared_ptr<Context> context;
    CUevent begin = nullptr;
    CUevent end = nullptr;

    explicit Event(std::shared_ptr<Context> of) : context(std::move(of)) {}
    ~Event();
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
};

// A built program's code, as loaded into a context.
struct Loaded {
    std::shared_ptr<Context> context;
    CUmodule code = nullptr;

    explicit Loaded(std::shared_ptr<Context> of) : context(std::move(of)) {}
    ~Loaded();
    Loaded(const Loaded&) = delete;
    Loaded& operator=(const Loaded&) = delete;
};

struct Program {
    std::shared_ptr<Context> context;
    std::string source;          // empty: it was made from its image
    std::vector<uint8_t> bytes;  // of the image
    KernelImage image;
    std::string log;  // the compiler's words
    std::mutex mutex;
    std::shared_ptr<const Loaded> loaded;  // once a kernel was wanted

    explicit Program(std::shared_ptr<Context> of) : context(std::move(of)) {}
};

// One thread at a time.
struct Kernel {
    std::shared_ptr<const Loaded> loaded;
    CUfunction function = nullptr;
    std::vector<KernelParameter> parameters;
    std::vector<std::vector<std::byte>> values;  // of those, then where a range begins
    std::vector<void*> places;                   // of the values
    size_t missing = 0;                          // values that were never set
    std::vector<bool> isSet;
};

// Launches that are begun together.
struct Recording {
    std::shared_ptr<Context> context;
    CUstream stream = nullptr;  // while it is made
    CUgraphExec executable = nullptr;
    // The code that it runs.
    std::vector<std::shared_ptr<const Loaded>> loaded;

    explicit Recording(std::shared_ptr<Context> of) : context(std::move(of)) {}
    ~Recording();
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;
};

// OpenCL's code for CUDA's result.
cl_int codeOf(CUresult result);

// Compiles a program's source by OpenCL and assembles it by CUDA; the log says why it failed.
cl_int compile(Program& program, const char* options);
// INVALID_BINARY where the device does not take it.
cl_int load(Program& program);

// The kernel with its values as they are, on the stream.
cl_int launch(Kernel& kernel, CUstream stream, cl_uint dimensions, const size_t* offset,
              const size_t* items, const size_t* local);

}  // namespace halyard::engine::gpu::cuda
