// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <sys/types.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/base/file_descriptor.h"
#include "engine/base/status.h"

namespace halyard::device {

// A process that calls, held by its pidfd, so that a later process with the same id is not taken
// for it. Movable; not thread-safe.
class ClientProcess {
  public:
    // `pid` is the kernel's: 0 stands for callers that have none here (of another pid namespace),
    // which can't be watched. UNAVAILABLE if the process is gone, RESOURCE_EXHAUSTED without
    // descriptors.
    static Result<ClientProcess> open(pid_t pid);

    ClientProcess(ClientProcess&& other) noexcept
        : mPid(other.mPid), mDescriptor(std::exchange(other.mDescriptor, -1)) {}
    ClientProcess& operator=(ClientProcess&&) = delete;
    ~ClientProcess();

    // Whether it has died, as a zombie has too. False where that can't be known.
    bool gone() const;

  private:
    friend class ProcessDeaths;
    ClientProcess(pid_t pid, int descriptor) : mPid(pid), mDescriptor(descriptor) {}

    const pid_t mPid;
    int mDescriptor;  // -1: none to be had
};

// Which of many processes have died, at the price of one question. Not thread-safe.
class ProcessDeaths {
  public:
    ProcessDeaths();
    // Has the process asked about until its end; `id` stands for it. False if it can't be: it has
    // to be asked itself.
    bool add(const ClientProcess& process, uint64_t id);
    void remove(const ClientProcess& process);
    // Some of those that have died, while there are any.
    std::vector<uint64_t> some() const;

  private:
    const FileDescriptor mEpoll;
};

}  // namespace halyard::device
