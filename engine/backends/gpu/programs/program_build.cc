// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/programs/program_build.h"

#include <algorithm>

#include "engine/backends/gpu/opencl/failure.h"

namespace halyard::engine::gpu {
namespace {

constexpr size_t kMostLogBytes = 2000;
// Of the one work-group of an attempt, and what it may write to.
constexpr size_t kAttemptWorkItems = 32;
constexpr size_t kAttemptBytes = 4096;

Status build(const Device& device, cl_program program) {
    const OpenCl& cl = device.cl();
    const cl_device_id id = device.id();
    const std::string options = compilerOptions(device.facts());
    const cl_int code = cl.clBuildProgram(program, 1, &id, options.c_str(), nullptr, nullptr);
    if (code == CL_SUCCESS) {
        return {};
    }
    size_t size = 0;
    std::string log;
    if (cl.clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size) ==
        CL_SUCCESS) {
        log.resize(size);
        if (size > 0 && cl.clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, size,
                                                 log.data(), nullptr) != CL_SUCCESS) {
            log.clear();
        }
    }
    log.resize(std::min({log.size(), log.find('\0'), kMostLogBytes}));
    return check(code, "clBuildProgram").withContext(log.empty() ? "no words" : log);
}

}  // namespace

std::string compilerOptions(const DeviceFacts& facts) {
    std::string options = "-cl-std=CL1.2";
    if (facts.dividesExactly) {
        options += " -cl-fp32-correctly-rounded-divide-sqrt";
    }
    return options;
}

Result<ProgramHandle> buildFromSource(const Device& device, const std::string& source) {
    cl_int code = CL_SUCCESS;
    const char* text = source.data();
    const size_t length = source.size();
    ProgramHandle program(device.library(), device.cl().clCreateProgramWithSource(
                                                    device.context(), 1, &text, &length, &code));
    HALYARD_RETURN_IF_ERROR(check(code, "clCreateProgramWithSource"));
    HALYARD_RETURN_IF_ERROR(build(device, program.get()));
    return program;
}

Result<ProgramHandle> buildFromBinary(const Device& device, std::span<const uint8_t> binary) {
    const uint8_t* data = binary.data();
    const size_t length = binary.size();
    const cl_device_id id = device.id();
    cl_int code = CL_SUCCESS;
    cl_int taken = CL_SUCCESS;
    ProgramHandle program(device.library(),
                          device.cl().clCreateProgramWithBinary(device.context(), 1, &id, &length,
                                                                &data, &taken, &code));
    HALYARD_RETURN_IF_ERROR(check(code, "clCreateProgramWithBinary"));
    HALYARD_RETURN_IF_ERROR(check(taken, "clCreateProgramWithBinary"));
    HALYARD_RETURN_IF_ERROR(build(device, program.get()));
    return program;
}

Result<int32_t> attemptSource(const Device& device, const std::string& source) {
    const OpenCl& cl = device.cl();
    HALYARD_ASSIGN_OR_RETURN(const ProgramHandle program, buildFromSource(device, source));
    HALYARD_ASSIGN_OR_RETURN(const QueueHandle queue, device.makeQueue());
    cl_int code = CL_SUCCESS;
    const KernelHandle kernel(device.library(), cl.clCreateKernel(program.get(), "attempt", &code));
    HALYARD_RETURN_IF_ERROR(check(code, "clCreateKernel"));
    int32_t number = -1;
    const MemoryHandle memory(
            device.library(),
            cl.clCreateBuffer(device.context(), CL_MEM_READ_WRITE, kAttemptBytes, nullptr, &code));
    HALYARD_RETURN_IF_ERROR(check(code, "clCreateBuffer"));
    const cl_mem buffer = memory.get();
    HALYARD_RETURN_IF_ERROR(
            check(cl.clSetKernelArg(kernel.get(), 0, sizeof buffer, &buffer), "clSetKernelArg"));
    const size_t items = kAttemptWorkItems;
    HALYARD_RETURN_IF_ERROR(check(cl.clEnqueueNDRangeKernel(queue.get(), kernel.get(), 1, nullptr,
                                                            &items, &items, 0, nullptr, nullptr),
                                  "clEnqueueNDRangeKernel"));
    HALYARD_RETURN_IF_ERROR(
            check(cl.clEnqueueReadBuffer(queue.get(), buffer, CL_TRUE, 0, sizeof number, &number, 0,
                                         nullptr, nullptr),
                  "clEnqueueReadBuffer"));
    return number;
}

std::vector<uint8_t> binaryOf(const Device& device, cl_program program) {
    const OpenCl& cl = device.cl();
    size_t size = 0;
    if (cl.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr) !=
        CL_SUCCESS) {
        return {};
    }
    std::vector<uint8_t> bytes(size);
    unsigned char* data = bytes.data();
    if (size > 0 && cl.clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof data, &data,
                                        nullptr) != CL_SUCCESS) {
        return {};
    }
    return bytes;
}

}  // namespace halyard::engine::gpu
