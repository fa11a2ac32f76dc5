// SPDX-License-Identifier: Apache-2.0
//
// Programs of the device, built once each: by the process, and from what an earlier one has kept.

#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "engine/backends/gpu/device.h"
#include "engine/base/status.h"
#include "engine/plan/blobs.h"

namespace halyard::engine::gpu {

// Kernels of one text, which differ by what is defined before it.
struct KernelFamily {
    std::string_view kernel;                      // the function's name
    std::array<std::string_view, 3> shared = {};  // OpenCL C that other families have as well
    std::string_view text;                        // what follows it
    size_t local[3] = {1, 1, 1};                  // items of a group, which the text requires
};

// One kernel of a family, built. Immutable.
class Program {
  public:
    Program(ProgramHandle program, const KernelFamily& family)
        : mProgram(std::move(program)), mFamily(family) {}

    cl_program get() const { return mProgram.get(); }
    const KernelFamily& family() const { return mFamily; }

  private:
    const ProgramHandle mProgram;
    const KernelFamily& mFamily;
};

// Those of one device. Thread-safe; several threads may build at once.
class Programs {
  public:
    explicit Programs(std::shared_ptr<const Device> device);

    // `defines`: lines of "#define". What is built is put into `blobs`, and taken from there where
    // it is of the same text, device and driver. INTERNAL with the compiler's words where it does
    // not build. The family lives for ever.
    Result<std::shared_ptr<const Program>> get(const KernelFamily& family,
                                               const std::string& defines, const Blobs& blobs);

  private:
    Result<ProgramHandle> fromSource(const std::string& source) const;
    Result<ProgramHandle> fromBlob(const Blob& blob, std::string_view identity) const;
    Status build(cl_program program) const;
    Status keep(cl_program program, const std::string& name, std::string_view identity,
                const Blobs& blobs) const;

    const std::shared_ptr<const Device> mDevice;
    const std::string mOptions;  // for the compiler
    const std::string mPrelude;  // before every text
    std::mutex mMutex;
    std::map<std::string, std::shared_ptr<const Program>> mBuilt;  // by the whole source
};

}  // namespace halyard::engine::gpu
