// SPDX-License-Identifier: Apache-2.0
//
// SilentFile: a file of a file system of a client's own (FUSE), which answers no more than it must.
// A process that asks it for something waits until it is gone.

#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>

#include "engine/base/status.h"

namespace halyard::attacker {

class SilentFile {
  public:
    // `tellsSize`: whether it lets itself be asked for its size, which is `size`. A process of its
    // own serves it, where only that sees it. UNAVAILABLE where that is not possible.
    static Result<std::unique_ptr<SilentFile>> make(uint64_t size, bool tellsSize);
    ~SilentFile();
    SilentFile(const SilentFile&) = delete;
    SilentFile& operator=(const SilentFile&) = delete;

    // Closing it waits as well.
    int fd() const { return mFile; }
    // The file system's process is killed: all who wait are told that it is gone.
    void endWaiting();

  private:
    struct Server;
    explicit SilentFile(pid_t server) : mServer(server) {}

    pid_t mServer = -1;
    int mFile = -1;
};

}  // namespace halyard::attacker
