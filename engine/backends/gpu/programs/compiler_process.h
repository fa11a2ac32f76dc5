// SPDX-License-Identifier: Apache-2.0
//
// The vendor's compiler in a process of its own: where it hangs, or dies, the driver's process goes
// on. A keeper that has loaded nothing of the vendor's is forked off before anything of it is
// loaded; it forks the process that compiles, and does so again where that has come to its end.

#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/backends/gpu/device/device.h"
#include "engine/base/file_descriptor.h"
#include "engine/base/status.h"

namespace halyard::engine::gpu {

// Thread-safe; one build at a time. Ends with this object, and with the process.
class CompilerProcess {
  public:
    // Before the process loads OpenCL, and before its system calls are filtered. `longest`: what a
    // build may take. Null where no library loads that the choice could mean: no process stays
    // then. UNAVAILABLE where none can be had.
    static Result<std::unique_ptr<CompilerProcess>> start(const DeviceChoice& choice,
                                                          std::chrono::milliseconds longest);

    // By the first of the processes that is free, or else when the last is. There is one at least.
    static Result<std::vector<uint8_t>> build(
            std::span<const std::unique_ptr<CompilerProcess>> processes, const std::string& source);

    // The binary of a program for the device of the choice. INTERNAL where it does not build, with
    // the compiler's words, or where the compiler died or took too long; the next build finds
    // another.
    Result<std::vector<uint8_t>> build(const std::string& source);

    // Runs attemptSource() there: an untried kernel may take the process down with it.
    Result<int32_t> attempt(const std::string& source);

    explicit CompilerProcess(FileDescriptor socket) : mSocket(std::move(socket)) {}

  private:
    std::mutex mMutex;
    const FileDescriptor mSocket;
};

}  // namespace halyard::engine::gpu
