// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/nvidia/cuda/calls.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/backends/gpu/nvidia/cuda/handles.h"
#include "engine/backends/gpu/nvidia/cuda/marks.h"
#include "engine/backends/gpu/nvidia/cuda/objects.h"

namespace halyard::engine::gpu::cuda {
namespace {

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
    return program.source.empty() ? load(program) : compile(program, options);
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
    if (const cl_int loaded = load(program); loaded != CL_SUCCESS) {
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
    return marks.end(launch(at<Kernel>(kernel), queue.stream, dimensions, offset, items, local));
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

// The type of properties has another name in newer headers of OpenCL.
template <typename Properties>
cl_int recordKernel(cl_command_buffer_khr handle, cl_command_queue /*queue*/,
                    const Properties* /*properties*/, cl_kernel kernel, cl_uint dimensions,
                    const size_t* offset, const size_t* items, const size_t* local,
                    cl_uint /*count*/, const cl_sync_point_khr* /*points*/,
                    cl_sync_point_khr* /*point*/, cl_mutable_command_khr* /*command*/) {
    Recording& recording = at<Recording>(handle);
    if (recording.stream == nullptr) {
        return CL_INVALID_OPERATION;
    }
    if (const CUresult entered = recording.context->enter(); entered != kCudaSuccess) {
        return codeOf(entered);
    }
    recording.loaded.push_back(at<Kernel>(kernel).loaded);
    return launch(at<Kernel>(kernel), recording.stream, dimensions, offset, items, local);
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

}  // namespace

void addKernels(OpenCl& cl) {
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
    cl.clCreateCommandBufferKHR = createRecording;
    cl.clCommandNDRangeKernelKHR = recordKernel;
    cl.clFinalizeCommandBufferKHR = finishRecording;
    cl.clEnqueueCommandBufferKHR = enqueueRecording;
    cl.clReleaseCommandBufferKHR = release<Recording, cl_command_buffer_khr>;
}

}  // namespace halyard::engine::gpu::cuda
