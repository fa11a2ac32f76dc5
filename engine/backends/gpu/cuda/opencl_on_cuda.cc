// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/cuda/opencl_on_cuda.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "engine/backends/gpu/cuda/objects.h"

namespace halyard::engine::gpu {
namespace {

using cuda::codeOf;
using cuda::Context;
using cuda::DeviceOnCuda;
using cuda::Event;
using cuda::Kernel;
using cuda::Loaded;
using cuda::Memory;
using cuda::Program;
using cuda::Queue;
using cuda::Recording;

// OpenCL's handles are pointers to what it does not show.
template <typename Object, typename Handle>
Object& at(Handle handle) {
    return *reinterpret_cast<Object*>(handle);
}

template <typename Handle, typename Object>
Handle asHandle(std::unique_ptr<Object> object) {
    return reinterpret_cast<Handle>(object.release());
}

template <typename Object, typename Handle>
cl_int release(Handle handle) {
    delete &at<Object>(handle);
    return CL_SUCCESS;
}

template <typename Handle>
Handle answer(Handle handle, cl_int code, cl_int* where) {
    if (where != nullptr) {
        *where = code;
    }
    return code == CL_SUCCESS ? handle : nullptr;
}

// ---- Contexts, queues and memory ----------------------------------------------------------------

cl_context createContext(const cl_context_properties* /*properties*/, cl_uint /*count*/,
                         const cl_device_id* devices,
                         void (* /*notify*/)(const char*, const void*, size_t, void*),
                         void* /*data*/, cl_int* code) {
    const auto& on = at<const DeviceOnCuda>(devices[0]);
    CUcontext context = nullptr;
    const CUresult result = on.driver->cuDevicePrimaryCtxRetain(&context, on.device);
    if (result != kCudaSuccess) {
        return answer<cl_context>(nullptr, codeOf(result), code);
    }
    auto handle = std::make_unique<cuda::ContextHandle>();
    handle->context = std::make_shared<Context>(on, context);
    return answer(asHandle<cl_context>(std::move(handle)), CL_SUCCESS, code);
}

const std::shared_ptr<Context>& contextOf(cl_context context) {
    return at<cuda::ContextHandle>(context).context;
}

cl_command_queue createQueue(cl_context context, cl_device_id /*device*/,
                             cl_command_queue_properties properties, cl_int* code) {
    auto queue = std::make_unique<Queue>(contextOf(context),
                                         (properties & CL_QUEUE_PROFILING_ENABLE) != 0);
    CUresult result = queue->context->enter();
    if (result == kCudaSuccess) {
        result = queue->context->driver().cuStreamCreate(&queue->stream, kCudaStreamNonBlocking);
    }
    if (result != kCudaSuccess) {
        return answer<cl_command_queue>(nullptr, codeOf(result), code);
    }
    return answer(asHandle<cl_command_queue>(std::move(queue)), CL_SUCCESS, code);
}

cl_mem createBuffer(cl_context context, cl_mem_flags flags, size_t size, void* /*host*/,
                    cl_int* code) {
    auto memory = std::make_unique<Memory>(contextOf(context));
    memory->bytes = size;
    const CudaDriver& driver = memory->context->driver();
    CUresult result = memory->context->enter();
    if (result == kCudaSuccess) {
        result = (flags & CL_MEM_ALLOC_HOST_PTR) != 0
                         ? driver.cuMemHostAlloc(&memory->host, size, 0)
                         : driver.cuMemAlloc_v2(&memory->device, size);
    }
    if (result != kCudaSuccess) {
        return answer<cl_mem>(nullptr, codeOf(result), code);
    }
    return answer(asHandle<cl_mem>(std::move(memory)), CL_SUCCESS, code);
}

// ---- Events -------------------------------------------------------------------------------------

// Marks the queue's place where somebody wants to know of it, or of the time since `begin`.
class Marks {
  public:
    Marks(Queue& queue, cl_event* wanted) : mQueue(queue), mWanted(wanted) {
        if (mWanted != nullptr && mQueue.tellsTimes) {
            mEvent = std::make_unique<Event>(mQueue.context);
            mResult = mark(mEvent->begin);
        }
    }
    // After what is between the marks, and what came of it.
    cl_int end(cl_int code) {
        if (code != CL_SUCCESS || mWanted == nullptr) {
            return code;
        }
        if (mEvent == nullptr) {
            mEvent = std::make_unique<Event>(mQueue.context);
        }
        if (mResult == kCudaSuccess) {
            mResult = mark(mEvent->end);
        }
        if (mResult == kCudaSuccess) {
            *mWanted = asHandle<cl_event>(std::move(mEvent));
        }
        return codeOf(mResult);
    }

  private:
    CUresult mark(CUevent& event) const {
        const CudaDriver& driver = mQueue.context->driver();
        const CUresult made =
                driver.cuEventCreate(&event, mQueue.tellsTimes ? 0 : kCudaEventWithoutTime);
        return made == kCudaSuccess ? driver.cuEventRecord(event, mQueue.stream) : made;
    }

    Queue& mQueue;
    cl_event* const mWanted;
    std::unique_ptr<Event> mEvent;
    CUresult mResult = kCudaSuccess;
};

cl_int waitForEvents(cl_uint count, const cl_event* events) {
    for (cl_uint i = 0; i < count; ++i) {
        const Event& event = at<Event>(events[i]);
        CUresult result = event.context->enter();
        if (result == kCudaSuccess) {
            result = event.context->driver().cuEventSynchronize(event.end);
        }
        if (result != kCudaSuccess) {
            return codeOf(result);
        }
    }
    return CL_SUCCESS;
}

// Times count from the event's own beginning.
cl_int eventTime(cl_event handle, cl_profiling_info what, size_t size, void* value,
                 size_t* /*needed*/) {
    const Event& event = at<Event>(handle);
    if (event.begin == nullptr || size != sizeof(cl_ulong)) {
        return event.begin == nullptr ? CL_PROFILING_INFO_NOT_AVAILABLE : CL_INVALID_VALUE;
    }
    float milliseconds = 0.0f;
    CUresult result = event.context->enter();
    if (result == kCudaSuccess && what == CL_PROFILING_COMMAND_END) {
        result = event.context->driver().cuEventElapsedTime(&milliseconds, event.begin, event.end);
    }
    const auto time = static_cast<cl_ulong>(std::lround(double{milliseconds} * 1e6));
    std::memcpy(value, &time, sizeof time);
    return codeOf(result);
}

// ---- Copies -------------------------------------------------------------------------------------

bool isInside(const Memory& memory, size_t offset, size_t size) {
    return offset <= memory.bytes && size <= memory.bytes - offset;
}

// Calls copy(driver, stream) between marks, and waits where it is asked.
template <typename Copy>
cl_int enqueueCopy(cl_command_queue handle, bool waits, cl_event* wanted, const Copy& copy) {
    Queue& queue = at<Queue>(handle);
    if (const CUresult entered = queue.context->enter(); entered != kCudaSuccess) {
        return codeOf(entered);
    }
    const CudaDriver& driver = queue.context->driver();
    Marks marks(queue, wanted);
    const cl_int code = marks.end(codeOf(copy(driver, queue.stream)));
    return code == CL_SUCCESS && waits ? codeOf(driver.cuStreamSynchronize(queue.stream)) : code;
}

cl_int writeBuffer(cl_command_queue queue, cl_mem to, cl_bool waits, size_t offset, size_t size,
                   const void* from, cl_uint /*count*/, const cl_event* /*events*/,
                   cl_event* wanted) {
    const Memory& memory = at<Memory>(to);
    if (memory.device == 0 || !isInside(memory, offset, size)) {
        return CL_INVALID_VALUE;
    }
    return enqueueCopy(
            queue, waits == CL_TRUE, wanted, [&](const CudaDriver& driver, CUstream stream) {
                return driver.cuMemcpyHtoDAsync_v2(memory.device + offset, from, size, stream);
            });
}

cl_int readBuffer(cl_command_queue queue, cl_mem from, cl_bool waits, size_t offset, size_t size,
                  void* to, cl_uint /*count*/, const cl_event* /*events*/, cl_event* wanted) {
    const Memory& memory = at<Memory>(from);
    if (memory.device == 0 || !isInside(memory, offset, size)) {
        return CL_INVALID_VALUE;
    }
    return enqueueCopy(
            queue, waits == CL_TRUE, wanted, [&](const CudaDriver& driver, CUstream stream) {
                return driver.cuMemcpyDtoHAsync_v2(to, memory.device + offset, size, stream);
            });
}

cl_int copyBuffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t fromOffset,
                  size_t toOffset, size_t size, cl_uint /*count*/, const cl_event* /*events*/,
                  cl_event* wanted) {
    const Memory& source = at<Memory>(from);
    const Memory& target = at<Memory>(to);
    if (!isInside(source, fromOffset, size) || !isInside(target, toOffset, size) ||
        source.device == 0 || target.device == 0) {
        return CL_INVALID_VALUE;
    }
    return enqueueCopy(queue, false, wanted, [&](const CudaDriver& driver, CUstream stream) {
        return driver.cuMemcpyDtoDAsync_v2(target.device + toOffset, source.device + fromOffset,
                                           size, stream);
    });
}

void* mapBuffer(cl_command_queue /*queue*/, cl_mem handle, cl_bool /*waits*/,
                cl_map_flags /*flags*/, size_t offset, size_t size, cl_uint /*count*/,
                const cl_event* /*events*/, cl_event* /*wanted*/, cl_int* code) {
    const Memory& memory = at<Memory>(handle);
    const bool isMappable = memory.host != nullptr && isInside(memory, offset, size);
    return isMappable
                   ? answer<void*>(static_cast<std::byte*>(memory.host) + offset, CL_SUCCESS, code)
                   : answer<void*>(nullptr, CL_MAP_FAILURE, code);
}

cl_int unmapBuffer(cl_command_queue /*queue*/, cl_mem /*memory*/, void* /*mapped*/,
                   cl_uint /*count*/, const cl_event* /*events*/, cl_event* /*wanted*/) {
    return CL_SUCCESS;
}

// What is enqueued has begun.
cl_int flush(cl_command_queue /*queue*/) {
    return CL_SUCCESS;
}

cl_int finish(cl_command_queue handle) {
    const Queue& queue = at<Queue>(handle);
    const CUresult entered = queue.context->enter();
    return codeOf(entered == kCudaSuccess
                          ? queue.context->driver().cuStreamSynchronize(queue.stream)
                          : entered);
}

// ---- Programs and kernels -----------------------------------------------------------------------

cl_program createWithSource(cl_context context, cl_uint count, const char** texts,
                            const size_t* lengths, cl_int* code) {
    auto program = std::make_unique<Program>(contextOf(context));
    for (cl_uint i = 0; i < count; ++i) {
        program->source.append(texts[i], lengths[i]);
    }
    return answer(asHandle<cl_program>(std::move(program)), CL_SUCCESS, code);
}

cl_program createWithBinary(cl_context context, cl_uint /*count*/, const cl_device_id* /*devices*/,
                            const size_t* lengths, const unsigned char** binaries, cl_int* taken,
                            cl_int* code) {
    auto program = std::make_unique<Program>(contextOf(context));
    program->bytes.assign(binaries[0], binaries[0] + lengths[0]);
    Result<KernelImage> image = KernelImage::fromBytes(program->bytes);
    const cl_int result = image.ok() ? CL_SUCCESS : CL_INVALID_BINARY;
    if (taken != nullptr) {
        *taken = result;
    }
    if (!image.ok()) {
        return answer<cl_program>(nullptr, result, code);
    }
    program->image = *std::move(image);
    return answer(asHandle<cl_program>(std::move(program)), CL_SUCCESS, code);
}

cl_int buildProgram(cl_program handle, cl_uint /*count*/, const cl_device_id* /*devices*/,
                    const char* options, void (* /*notify*/)(cl_program, void*), void* /*data*/) {
    Program& program = at<Program>(handle);
    return program.source.empty() ? cuda::load(program) : cuda::compile(program, options);
}

// `bytes`: what the answer is.
cl_int answerBytes(const void* bytes, size_t length, size_t size, void* value, size_t* needed) {
    if (needed != nullptr) {
        *needed = length;
    }
    if (value == nullptr) {
        return CL_SUCCESS;
    }
    if (size < length) {
        return CL_INVALID_VALUE;
    }
    std::memcpy(value, bytes, length);
    return CL_SUCCESS;
}

cl_int programInfo(cl_program handle, cl_program_info what, size_t size, void* value,
                   size_t* needed) {
    const Program& program = at<Program>(handle);
    if (what == CL_PROGRAM_BINARY_SIZES) {
        const size_t bytes = program.bytes.size();
        return answerBytes(&bytes, sizeof bytes, size, value, needed);
    }
    if (what != CL_PROGRAM_BINARIES || size < sizeof(void*) || value == nullptr) {
        return CL_INVALID_VALUE;
    }
    unsigned char* to = nullptr;
    std::memcpy(&to, value, sizeof to);
    std::ranges::copy(program.bytes, to);
    return CL_SUCCESS;
}

cl_int buildInfo(cl_program handle, cl_device_id /*device*/, cl_program_build_info what,
                 size_t size, void* value, size_t* needed) {
    if (what != CL_PROGRAM_BUILD_LOG) {
        return CL_INVALID_VALUE;
    }
    const std::string& log = at<Program>(handle).log;
    return answerBytes(log.c_str(), log.size() + 1, size, value, needed);
}

cl_kernel createKernel(cl_program handle, const char* name, cl_int* code) {
    Program& program = at<Program>(handle);
    const auto signature = std::ranges::find(program.image.kernels, name, &KernelSignature::name);
    if (signature == program.image.kernels.end()) {
        return answer<cl_kernel>(nullptr, CL_INVALID_KERNEL_NAME, code);
    }
    if (const cl_int loaded = cuda::load(program); loaded != CL_SUCCESS) {
        return answer<cl_kernel>(nullptr, loaded, code);
    }
    auto kernel = std::make_unique<Kernel>();
    kernel->loaded = program.loaded;
    kernel->parameters = signature->parameters;
    kernel->missing = kernel->parameters.size();
    kernel->isSet.resize(kernel->parameters.size(), false);
    for (const KernelParameter& parameter : kernel->parameters) {
        kernel->values.emplace_back(parameter.bytes);
    }
    kernel->values.emplace_back(sizeof(RangeBegin));
    for (std::vector<std::byte>& value : kernel->values) {
        kernel->places.push_back(value.data());
    }
    const CudaDriver& driver = program.context->driver();
    CUresult result = program.context->enter();
    if (result == kCudaSuccess) {
        result = driver.cuModuleGetFunction(&kernel->function, kernel->loaded->code, name);
    }
    if (result != kCudaSuccess) {
        return answer<cl_kernel>(nullptr, codeOf(result), code);
    }
    return answer(asHandle<cl_kernel>(std::move(kernel)), CL_SUCCESS, code);
}

cl_int setArgument(cl_kernel handle, cl_uint index, size_t size, const void* value) {
    Kernel& kernel = at<Kernel>(handle);
    if (index >= kernel.parameters.size()) {
        return CL_INVALID_ARG_INDEX;
    }
    const KernelParameter& parameter = kernel.parameters[index];
    if (value == nullptr) {
        return CL_INVALID_ARG_VALUE;
    }
    if (size != parameter.bytes) {
        return CL_INVALID_ARG_SIZE;
    }
    std::byte* const place = kernel.values[index].data();
    if (parameter.isMemory) {
        cl_mem memory = nullptr;
        std::memcpy(&memory, value, sizeof memory);
        const CUdeviceptr address = memory == nullptr ? 0 : at<Memory>(memory).device;
        std::memcpy(place, &address, sizeof address);
    } else {
        std::memcpy(place, value, size);
    }
    if (!kernel.isSet[index]) {
        kernel.isSet[index] = true;
        --kernel.missing;
    }
    return CL_SUCCESS;
}

cl_int enqueueKernel(cl_command_queue handle, cl_kernel kernel, cl_uint dimensions,
                     const size_t* offset, const size_t* items, const size_t* local,
                     cl_uint /*count*/, const cl_event* /*events*/, cl_event* wanted) {
    Queue& queue = at<Queue>(handle);
    if (const CUresult entered = queue.context->enter(); entered != kCudaSuccess) {
        return codeOf(entered);
    }
    Marks marks(queue, wanted);
    return marks.end(
            cuda::launch(at<Kernel>(kernel), queue.stream, dimensions, offset, items, local));
}

// ---- Recordings ---------------------------------------------------------------------------------

cl_command_buffer_khr createRecording(cl_uint /*count*/, const cl_command_queue* queues,
                                      const cl_command_buffer_properties_khr* /*properties*/,
                                      cl_int* code) {
    auto recording = std::make_unique<Recording>(at<Queue>(queues[0]).context);
    const CudaDriver& driver = recording->context->driver();
    CUresult result = recording->context->enter();
    if (result == kCudaSuccess) {
        result = driver.cuStreamCreate(&recording->stream, kCudaStreamNonBlocking);
    }
    if (result == kCudaSuccess) {
        result = driver.cuStreamBeginCapture_v2(recording->stream, kCudaCaptureRelaxed);
    }
    if (result != kCudaSuccess) {
        return answer<cl_command_buffer_khr>(nullptr, codeOf(result), code);
    }
    return answer(asHandle<cl_command_buffer_khr>(std::move(recording)), CL_SUCCESS, code);
}

cl_int recordKernel(cl_command_buffer_khr handle, cl_command_queue /*queue*/,
                    const cl_ndrange_kernel_command_properties_khr* /*properties*/,
                    cl_kernel kernel, cl_uint dimensions, const size_t* offset, const size_t* items,
                    const size_t* local, cl_uint /*count*/, const cl_sync_point_khr* /*points*/,
                    cl_sync_point_khr* /*point*/, cl_mutable_command_khr* /*command*/) {
    Recording& recording = at<Recording>(handle);
    if (recording.stream == nullptr) {
        return CL_INVALID_OPERATION;
    }
    if (const CUresult entered = recording.context->enter(); entered != kCudaSuccess) {
        return codeOf(entered);
    }
    recording.loaded.push_back(at<Kernel>(kernel).loaded);
    return cuda::launch(at<Kernel>(kernel), recording.stream, dimensions, offset, items, local);
}

cl_int finishRecording(cl_command_buffer_khr handle) {
    Recording& recording = at<Recording>(handle);
    const CudaDriver& driver = recording.context->driver();
    CUgraph graph = nullptr;
    CUresult result = recording.context->enter();
    if (result == kCudaSuccess) {
        result = driver.cuStreamEndCapture(recording.stream, &graph);
        static_cast<void>(driver.cuStreamDestroy_v2(recording.stream));
        recording.stream = nullptr;
    }
    if (result == kCudaSuccess) {
        result = driver.cuGraphInstantiateWithFlags(&recording.executable, graph, 0);
    }
    if (graph != nullptr) {
        static_cast<void>(driver.cuGraphDestroy(graph));
    }
    return codeOf(result);
}

cl_int enqueueRecording(cl_uint /*count*/, cl_command_queue* queues, cl_command_buffer_khr handle,
                        cl_uint /*waits*/, const cl_event* /*events*/, cl_event* wanted) {
    const Recording& recording = at<Recording>(handle);
    Queue& queue = at<Queue>(queues[0]);
    if (recording.executable == nullptr) {
        return CL_INVALID_OPERATION;
    }
    if (const CUresult entered = queue.context->enter(); entered != kCudaSuccess) {
        return codeOf(entered);
    }
    Marks marks(queue, wanted);
    return marks.end(
            codeOf(queue.context->driver().cuGraphLaunch(recording.executable, queue.stream)));
}

// The functions, with the device that they are for.
struct TableOnCuda {
    OpenCl functions;
    DeviceOnCuda device;
};

OpenCl functionsOnCuda() {
    OpenCl cl;
    cl.clCreateContext = createContext;
    cl.clReleaseContext = release<cuda::ContextHandle, cl_context>;
    cl.clCreateCommandQueue = createQueue;
    cl.clReleaseCommandQueue = release<Queue, cl_command_queue>;
    cl.clCreateBuffer = createBuffer;
    cl.clReleaseMemObject = release<Memory, cl_mem>;
    cl.clCreateProgramWithSource = createWithSource;
    cl.clCreateProgramWithBinary = createWithBinary;
    cl.clBuildProgram = buildProgram;
    cl.clGetProgramInfo = programInfo;
    cl.clGetProgramBuildInfo = buildInfo;
    cl.clReleaseProgram = release<Program, cl_program>;
    cl.clCreateKernel = createKernel;
    cl.clReleaseKernel = release<Kernel, cl_kernel>;
    cl.clSetKernelArg = setArgument;
    cl.clEnqueueNDRangeKernel = enqueueKernel;
    cl.clEnqueueReadBuffer = readBuffer;
    cl.clEnqueueWriteBuffer = writeBuffer;
    cl.clEnqueueCopyBuffer = copyBuffer;
    cl.clEnqueueMapBuffer = mapBuffer;
    cl.clEnqueueUnmapMemObject = unmapBuffer;
    cl.clWaitForEvents = waitForEvents;
    cl.clFlush = flush;
    cl.clFinish = finish;
    cl.clReleaseEvent = release<Event, cl_event>;
    cl.clGetEventProfilingInfo = eventTime;
    cl.clCreateCommandBufferKHR = createRecording;
    cl.clCommandNDRangeKernelKHR = recordKernel;
    cl.clFinalizeCommandBufferKHR = finishRecording;
    cl.clEnqueueCommandBufferKHR = enqueueRecording;
    cl.clReleaseCommandBufferKHR = release<Recording, cl_command_buffer_khr>;
    return cl;
}

Result<CUdevice> findDevice(const CudaDriver& driver, const PciAddress& address) {
    int count = 0;
    if (driver.cuDeviceGetCount(&count) != kCudaSuccess) {
        count = 0;
    }
    for (int i = 0; i < count; ++i) {
        CUdevice device = 0;
        PciAddress there;
        if (driver.cuDeviceGet(&device, i) == kCudaSuccess &&
            driver.cuDeviceGetAttribute(&there.domain, kCudaPciDomain, device) == kCudaSuccess &&
            driver.cuDeviceGetAttribute(&there.bus, kCudaPciBus, device) == kCudaSuccess &&
            driver.cuDeviceGetAttribute(&there.slot, kCudaPciSlot, device) == kCudaSuccess &&
            there == address) {
            return device;
        }
    }
    return Status(StatusCode::UNAVAILABLE, "none of CUDA's " + std::to_string(count) +
                                                   " devices is where OpenCL has this one");
}

}  // namespace

Result<OpenClOnCuda> openClOnCuda(std::shared_ptr<const CudaDriver> driver,
                                  std::shared_ptr<const OpenCl> compiler, cl_device_id compilerId,
                                  const PciAddress& address) {
    HALYARD_ASSIGN_OR_RETURN(const CUdevice device, findDevice(*driver, address));
    int version = 0;
    if (driver->cuDriverGetVersion(&version) != kCudaSuccess) {
        version = 0;
    }
    auto table = std::make_shared<TableOnCuda>();
    table->functions = functionsOnCuda();
    table->device = {.driver = std::move(driver),
                     .device = device,
                     .compiler = std::move(compiler),
                     .compilerId = compilerId};
    const auto id = reinterpret_cast<cl_device_id>(&table->device);
    return OpenClOnCuda{.cl = std::shared_ptr<const OpenCl>(table, &table->functions),
                        .id = id,
                        .version = "CUDA " + std::to_string(version / 1000) + "." +
                                   std::to_string(version % 1000 / 10)};
}

}  // namespace halyard::engine::gpu
