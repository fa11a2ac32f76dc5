// SPDX-License-Identifier: Apache-2.0
//
// Programs of the device, built once each: by the process, and from what an earlier one has kept.
// Kept programs are machine code that came in a client's file. The driver has made sure that it
// wrote it itself (engine/plan/program.h, SavedBytes::AUTHENTIC); all the same, a program that is
// made of it is for those alone who bring the same bytes, and never for who would have the source
// built.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/backends/gpu/device/device.h"
#include "engine/backends/gpu/programs/compiler_process.h"
#include "engine/base/status.h"
#include "engine/plan/blobs.h"

namespace halyard::engine::gpu {

// Kernels of one text, which differ by what is defined before it.
struct KernelFamily {
    std::string_view kernel;      // the function's name
    bool usesMatrixUnit = false;  // the text of the device's comes before all others
    std::array<std::string_view, 10> shared = {};  // OpenCL C that other families have as well
    std::string_view text;                         // what follows it
    size_t local[3] = {1, 1, 1};  // work-items of a work-group, which the text requires
};

// One kernel of a family, built. Immutable.
class Program {
  public:
    Program(ProgramHandle program, std::vector<uint8_t> binary, const KernelFamily& family,
            size_t blocks)
        : mProgram(std::move(program)),
          mBinary(std::move(binary)),
          mFamily(family),
          mBlocks(blocks) {}

    cl_program get() const { return mProgram.get(); }
    // The binary that the driver would make it from again; empty where it gives none.
    std::span<const uint8_t> binary() const { return mBinary; }
    const KernelFamily& family() const { return mFamily; }
    // Blocks of memory that stand before the kernel's own arguments.
    size_t blocks() const { return mBlocks; }

  private:
    const ProgramHandle mProgram;
    const std::vector<uint8_t> mBinary;
    const KernelFamily& mFamily;
    const size_t mBlocks;
};

// Those of one device. Thread-safe; several threads may build at once.
class Programs {
  public:
    // `compilers`: build what is not kept, each one program at a time; none: this process does.
    Programs(std::shared_ptr<const Device> device,
             std::vector<std::unique_ptr<CompilerProcess>> compilers);

    // Programs that can be built at once.
    size_t compilers() const { return mCompilers.size(); }

    // `defines`: lines of "#define". What is built is put into `blobs`, and taken from there where
    // it is of the same text, device and driver. INTERNAL with the compiler's words where it does
    // not build. The family lives for ever. `blocks`: that the kernel's tensors lie in, at most;
    // the program has at least as many. UNSUPPORTED where no kernel has so many.
    Result<std::shared_ptr<const Program>> get(const KernelFamily& family,
                                               const std::string& defines, size_t blocks,
                                               const Blobs& blobs);

    // The number that a kernel writes whose only parameter is where to, with room for more (kernels
    // that are tried need some memory), and which one work-group of work-items runs, in the
    // compiler's process; -1 where it does not build, does not run, or where there is no such
    // process. Kept in `blobs`, as programs are.
    int32_t attempt(const KernelFamily& family, const std::string& defines, const Blobs& blobs);

  private:
    std::string sourceOf(const KernelFamily& family, const std::string& defines,
                         size_t blocks) const;
    // The device, driver and text that a source is built for and of: the name under which it is
    // kept.
    std::string identityOf(const std::string& source) const;

    // Of a source, or of a source and the very bytes that were kept of it.
    using Built = std::map<std::string, std::shared_ptr<const Program>>;

    bool isBuilt(const std::string& source);
    // The one of that key, made and remembered where there is none.
    template <typename Make>
    Result<std::shared_ptr<const Program>> find(Built& built, std::string key, const Make& make);
    Result<std::shared_ptr<const Program>> make(const KernelFamily& family,
                                                const std::string& source, size_t blocks) const;
    Result<std::shared_ptr<const Program>> load(const KernelFamily& family, size_t blocks,
                                                std::span<const uint8_t> kept) const;

    const std::shared_ptr<const Device> mDevice;
    // The first is asked before the others: an idle one costs nothing until it is used.
    const std::vector<std::unique_ptr<CompilerProcess>> mCompilers;
    const std::string mPreamble;  // before every text
    std::mutex mMutex;
    Built mBuilt;                              // by the whole source
    Built mLoaded;                             // by that and what was kept of it
    std::map<std::string, int32_t> mAttempts;  // by the whole source
};

}  // namespace halyard::engine::gpu
