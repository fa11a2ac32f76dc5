// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/nvidia/cuda/calls.h"

#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>

#include "engine/backends/gpu/nvidia/cuda/handles.h"
#include "engine/backends/gpu/nvidia/cuda/marks.h"
#include "engine/backends/gpu/nvidia/cuda/objects.h"

namespace halyard::engine::gpu::cuda {
namespace {

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
    auto handle = std::make_unique<OwnedContext>();
    handle->context = std::make_shared<Context>(on, context);
    return answer(asHandle<cl_context>(std::move(handle)), CL_SUCCESS, code);
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

// Enqueued commands have begun already.
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

}  // namespace

void addCommands(OpenCl& cl) {
    cl.clCreateContext = createContext;
    cl.clReleaseContext = release<OwnedContext, cl_context>;
    cl.clCreateCommandQueue = createQueue;
    cl.clReleaseCommandQueue = release<Queue, cl_command_queue>;
    cl.clCreateBuffer = createBuffer;
    cl.clReleaseMemObject = release<Memory, cl_mem>;
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
}

}  // namespace halyard::engine::gpu::cuda
