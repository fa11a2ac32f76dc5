// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/programs.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/backends/gpu/kernels/prelude.h"
#include "engine/backends/gpu/opencl/failure.h"
#include "engine/numerics/fingerprint.h"

namespace halyard::engine::gpu {
namespace {

// Kernels differ by element types and little else, so that this is more than there are of all.
// Where it is not, those that were first go first.
constexpr size_t kMostPrograms = 4096;
constexpr size_t kMostLogBytes = 2000;

std::string optionsFor(const DeviceFacts& facts) {
    std::string options = "-cl-std=CL1.2";
    if (facts.dividesExactly) {
        options += " -cl-fp32-correctly-rounded-divide-sqrt";
    }
    return options;
}

std::string preludeFor(const DeviceFacts& facts) {
    std::string prelude;
    if (facts.hasDoubles) {
        prelude += "#define HAS_DOUBLES 1\n";
    }
    if (facts.dividesExactly) {
        prelude += "#define DIVIDES_EXACTLY 1\n";
    }
    return prelude.append(kPrelude);
}

std::string hexOf(uint64_t number) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (int shift = 60; shift >= 0; shift -= 4) {
        text += kDigits[number >> shift & 15U];
    }
    return text;
}

std::string blobNameFor(std::string_view identity) {
    return "program/" + hexOf(fingerprint64(std::as_bytes(std::span(identity))));
}

}  // namespace

Programs::Programs(std::shared_ptr<const Device> device)
    : mDevice(std::move(device)),
      mOptions(optionsFor(mDevice->facts())),
      mPrelude(preludeFor(mDevice->facts())) {}

Result<std::shared_ptr<const Program>> Programs::get(const KernelFamily& family,
                                                     const std::string& defines,
                                                     const Blobs& blobs) {
    std::string source = defines + mPrelude;
    for (const std::string_view shared : family.shared) {
        source.append(shared);
    }
    source.append(family.text);
    std::string identity = mDevice->facts().identity();
    identity.append("\n").append(mOptions).append("\n").append(source);
    const std::string name = blobNameFor(identity);
    std::shared_ptr<const Program> program;
    {
        const std::lock_guard lock(mMutex);
        if (const auto found = mBuilt.find(source); found != mBuilt.end()) {
            program = found->second;
        }
    }
    const std::optional<Blob> blob = blobs.get(name);
    if (program == nullptr) {
        Result<ProgramHandle> built = internalError("nothing was kept");
        if (blob.has_value()) {
            built = fromBlob(*blob, identity);
        }
        if (!built.ok()) {
            built = fromSource(source);
        }
        if (!built.ok()) {
            return built.status().withContext("kernel " + std::string(family.kernel));
        }
        program = std::make_shared<const Program>(std::move(*built), family);
        const std::lock_guard lock(mMutex);
        if (mBuilt.size() >= kMostPrograms) {
            mBuilt.erase(mBuilt.begin());
        }
        program = mBuilt.emplace(std::move(source), std::move(program)).first->second;
    }
    if (!blob.has_value()) {
        HALYARD_RETURN_IF_ERROR(keep(program->get(), name, identity, blobs));
    }
    return program;
}

Status Programs::build(cl_program program) const {
    const OpenCl& cl = mDevice->cl();
    const cl_device_id device = mDevice->id();
    const cl_int code = cl.clBuildProgram(program, 1, &device, mOptions.c_str(), nullptr, nullptr);
    if (code == CL_SUCCESS) {
        return {};
    }
    size_t size = 0;
    std::string log;
    if (cl.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size) ==
        CL_SUCCESS) {
        log.resize(size);
        if (size > 0 && cl.clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size,
                                                 log.data(), nullptr) != CL_SUCCESS) {
            log.clear();
        }
    }
    log.resize(std::min({log.size(), log.find('\0'), kMostLogBytes}));
    return check(code, "clBuildProgram").withContext(log.empty() ? "no words" : log);
}

Result<ProgramHandle> Programs::fromSource(const std::string& source) const {
    cl_int code = CL_SUCCESS;
    const char* text = source.data();
    const size_t length = source.size();
    ProgramHandle program(
            mDevice->library(),
            mDevice->cl().clCreateProgramWithSource(mDevice->context(), 1, &text, &length, &code));
    HALYARD_RETURN_IF_ERROR(check(code, "clCreateProgramWithSource"));
    HALYARD_RETURN_IF_ERROR(build(program.get()));
    return program;
}

// A blob is what it was built for, ended by a zero, and what the driver gave.
Result<ProgramHandle> Programs::fromBlob(const Blob& blob, std::string_view identity) const {
    const std::span<const uint8_t> bytes = blob.bytes;
    if (bytes.size() <= identity.size() + 1 || bytes[identity.size()] != 0 ||
        std::memcmp(bytes.data(), identity.data(), identity.size()) != 0) {
        return internalError("a program was kept for something else");
    }
    const std::span<const uint8_t> binary = bytes.subspan(identity.size() + 1);
    const uint8_t* data = binary.data();
    const size_t length = binary.size();
    const cl_device_id device = mDevice->id();
    cl_int code = CL_SUCCESS;
    cl_int taken = CL_SUCCESS;
    ProgramHandle program(mDevice->library(),
                          mDevice->cl().clCreateProgramWithBinary(mDevice->context(), 1, &device,
                                                                  &length, &data, &taken, &code));
    HALYARD_RETURN_IF_ERROR(check(code, "clCreateProgramWithBinary"));
    HALYARD_RETURN_IF_ERROR(check(taken, "clCreateProgramWithBinary"));
    HALYARD_RETURN_IF_ERROR(build(program.get()));
    return program;
}

// A driver that gives no binary leaves nothing to keep: it is built each time, and that is all.
Status Programs::keep(cl_program program, const std::string& name, std::string_view identity,
                      const Blobs& blobs) const {
    const OpenCl& cl = mDevice->cl();
    size_t size = 0;
    if (cl.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr) !=
                CL_SUCCESS ||
        size == 0) {
        return {};
    }
    std::vector<uint8_t> kept(identity.size() + 1 + size);
    std::memcpy(kept.data(), identity.data(), identity.size());
    unsigned char* binary = kept.data() + identity.size() + 1;
    if (cl.clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, nullptr) !=
        CL_SUCCESS) {
        return {};
    }
    return blobs.put(name, kept);
}

}  // namespace halyard::engine::gpu
