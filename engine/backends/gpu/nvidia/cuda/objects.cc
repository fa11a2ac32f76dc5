// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/nvidia/cuda/objects.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace halyard::engine::gpu::cuda {

// Nothing could be done about a failure of letting go.

Context::~Context() {
    if (mCompiler != nullptr) {
        static_cast<void>(mOn.compiler->clReleaseContext(mCompiler));
    }
    static_cast<void>(mOn.driver->cuDevicePrimaryCtxRelease_v2(mOn.device));
}

cl_context Context::compiler(cl_int* code) {
    const std::lock_guard lock(mMutex);
    *code = CL_SUCCESS;
    if (mCompiler == nullptr) {
        mCompiler =
                mOn.compiler->clCreateContext(nullptr, 1, &mOn.compilerId, nullptr, nullptr, code);
    }
    return mCompiler;
}

Queue::~Queue() {
    if (stream != nullptr && context->enter() == kCudaSuccess) {
        static_cast<void>(context->driver().cuStreamDestroy_v2(stream));
    }
}

Memory::~Memory() {
    if (context->enter() != kCudaSuccess) {
        return;
    }
    if (device != 0) {
        static_cast<void>(context->driver().cuMemFree_v2(device));
    }
    if (host != nullptr) {
        static_cast<void>(context->driver().cuMemFreeHost(host));
    }
}

Event::~Event() {
    for (const CUevent event : {begin, end}) {
        if (event != nullptr && context->enter() == kCudaSuccess) {
            static_cast<void>(context->driver().cuEventDestroy_v2(event));
        }
    }
}

Loaded::~Loaded() {
    if (code != nullptr && context->enter() == kCudaSuccess) {
        static_cast<void>(context->driver().cuModuleUnload(code));
    }
}

Recording::~Recording() {
    if (context->enter() != kCudaSuccess) {
        return;
    }
    const CudaDriver& driver = context->driver();
    if (stream != nullptr) {
        CUgraph graph = nullptr;
        if (driver.cuStreamEndCapture(stream, &graph) == kCudaSuccess && graph != nullptr) {
            static_cast<void>(driver.cuGraphDestroy(graph));
        }
        static_cast<void>(driver.cuStreamDestroy_v2(stream));
    }
    if (executable != nullptr) {
        static_cast<void>(driver.cuGraphExecDestroy(executable));
    }
}

cl_int codeOf(CUresult result) {
    switch (result) {
        case kCudaSuccess:
            return CL_SUCCESS;
        case kCudaInvalidValue:
            return CL_INVALID_VALUE;
        case kCudaOutOfMemory:
            return CL_MEM_OBJECT_ALLOCATION_FAILURE;
        case kCudaInvalidImage:
        case kCudaNoBinaryForGpu:
        case kCudaInvalidPtx:
        case kCudaUnsupportedPtxVersion:
            return CL_INVALID_BINARY;
        case kCudaNotFound:
            return CL_INVALID_KERNEL_NAME;
        default:
            // A fault of the device, after which the context is of no use.
            return CL_OUT_OF_RESOURCES;
    }
}

// ---- Programs -----------------------------------------------------------------------------------

namespace {

constexpr size_t kMostLogBytes = 4096;

// The PTX, or why there is none.
cl_int buildPtx(Program& program, const char* options, std::string& ptx) {
    const DeviceOnCuda& on = program.context->on();
    const OpenCl& cl = *on.compiler;
    cl_int code = CL_SUCCESS;
    const cl_context context = program.context->compiler(&code);
    if (code != CL_SUCCESS || context == nullptr) {
        return code == CL_SUCCESS ? CL_COMPILER_NOT_AVAILABLE : code;
    }
    const char* text = program.source.data();
    const size_t length = program.source.size();
    const cl_program compiled = cl.clCreateProgramWithSource(context, 1, &text, &length, &code);
    if (code != CL_SUCCESS) {
        return code;
    }
    code = cl.clBuildProgram(compiled, 1, &on.compilerId, options, nullptr, nullptr);
    size_t size = 0;
    if (code != CL_SUCCESS) {
        if (cl.clGetProgramBuildInfo(compiled, on.compilerId, CL_PROGRAM_BUILD_LOG, 0, nullptr,
                                     &size) == CL_SUCCESS) {
            program.log.resize(size);
            static_cast<void>(cl.clGetProgramBuildInfo(compiled, on.compilerId,
                                                       CL_PROGRAM_BUILD_LOG, size,
                                                       program.log.data(), nullptr));
        }
    } else {
        code = cl.clGetProgramInfo(compiled, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr);
        ptx.resize(code == CL_SUCCESS ? size : 0);
        auto* data = reinterpret_cast<unsigned char*>(ptx.data());
        if (!ptx.empty()) {
            code = cl.clGetProgramInfo(compiled, CL_PROGRAM_BINARIES, sizeof data, &data, nullptr);
        }
    }
    static_cast<void>(cl.clReleaseProgram(compiled));
    return code;
}

// The machine code for PTX.
cl_int assemble(const Context& context, std::string& ptx, std::vector<uint8_t>& code,
                std::string& log) {
    const CudaDriver& driver = context.driver();
    std::vector<char> words(kMostLogBytes, '\0');
    std::array<int, 2> options = {kCudaErrorLog, kCudaErrorLogBytes};
    // CUDA takes numbers as pointers here.
    std::array<void*, 2> values = {words.data(), reinterpret_cast<void*>(words.size())};
    CUlinkState link = nullptr;
    CUresult result = driver.cuLinkCreate_v2(options.size(), options.data(), values.data(), &link);
    if (result != kCudaSuccess) {
        return codeOf(result);
    }
    result = driver.cuLinkAddData_v2(link, kCudaInputPtx, ptx.data(), ptx.size() + 1, "halyard", 0,
                                     nullptr, nullptr);
    void* image = nullptr;
    size_t size = 0;
    if (result == kCudaSuccess) {
        result = driver.cuLinkComplete(link, &image, &size);
    }
    if (result == kCudaSuccess) {
        const auto* const bytes = static_cast<const uint8_t*>(image);
        code.assign(bytes, bytes + size);
    } else {
        log = std::string(words.data()) + " (" + driver.nameOf(result) + ")";
    }
    static_cast<void>(driver.cuLinkDestroy(link));
    return codeOf(result);
}

}  // namespace

cl_int compile(Program& program, const char* options) {
    std::string ptx;
    if (const cl_int built = buildPtx(program, options, ptx); built != CL_SUCCESS) {
        return built;
    }
    Result<PortedPtx> ported = portPtx(ptx);
    if (!ported.ok()) {
        program.log = ported.status().message();
        return CL_BUILD_PROGRAM_FAILURE;
    }
    if (const CUresult entered = program.context->enter(); entered != kCudaSuccess) {
        return codeOf(entered);
    }
    program.image.kernels = std::move(ported->kernels);
    if (const cl_int assembled =
                assemble(*program.context, ported->text, program.image.code, program.log);
        assembled != CL_SUCCESS) {
        return assembled;
    }
    program.bytes = program.image.toBytes();
    return CL_SUCCESS;
}

cl_int load(Program& program) {
    const std::lock_guard lock(program.mutex);
    if (program.loaded != nullptr) {
        return CL_SUCCESS;
    }
    CUresult result = program.context->enter();
    auto loaded = std::make_shared<Loaded>(program.context);
    if (result == kCudaSuccess) {
        result = program.context->driver().cuModuleLoadDataEx(
                &loaded->code, program.image.code.data(), 0, nullptr, nullptr);
    }
    if (result == kCudaSuccess) {
        program.loaded = std::move(loaded);
    }
    return codeOf(result);
}

// ---- Launches -----------------------------------------------------------------------------------

cl_int launch(Kernel& kernel, CUstream stream, cl_uint dimensions, const size_t* offset,
              const size_t* items, const size_t* local) {
    if (kernel.missing > 0) {
        return CL_INVALID_KERNEL_ARGS;
    }
    if (dimensions < 1 || dimensions > 3 || items == nullptr || local == nullptr) {
        return CL_INVALID_WORK_DIMENSION;
    }
    std::array<unsigned, 3> groups = {1, 1, 1};
    std::array<unsigned, 3> group = {1, 1, 1};
    RangeBegin begin;
    for (cl_uint axis = 0; axis < dimensions; ++axis) {
        const size_t first = offset == nullptr ? 0 : offset[axis];
        if (local[axis] == 0 || items[axis] % local[axis] != 0) {
            return CL_INVALID_WORK_GROUP_SIZE;
        }
        if (std::max(first, items[axis]) > size_t{std::numeric_limits<int32_t>::max()}) {
            return CL_INVALID_GLOBAL_WORK_SIZE;
        }
        groups[axis] = static_cast<unsigned>(items[axis] / local[axis]);
        group[axis] = static_cast<unsigned>(local[axis]);
        begin.at[axis] = static_cast<uint32_t>(first);
    }
    std::memcpy(kernel.values.back().data(), &begin, sizeof begin);
    return codeOf(kernel.loaded->context->driver().cuLaunchKernel(
            kernel.function, groups[0], groups[1], groups[2], group[0], group[1], group[2], 0,
            stream, kernel.places.data(), nullptr));
}

}  // namespace halyard::engine::gpu::cuda
