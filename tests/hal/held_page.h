// SPDX-License-Identifier: Apache-2.0
//
// HeldPage: a page of memory that never arrives (userfaultfd). A system call that reads or writes
// it stands still inside the kernel, with the locks that it holds, until the page's process is
// gone.

#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "engine/base/file_descriptor.h"
#include "engine/base/status.h"

namespace halyard::attacker {

class HeldPage {
  public:
    // UNAVAILABLE where this process may not have any.
    static Result<std::unique_ptr<HeldPage>> make();
    ~HeldPage();
    HeldPage(const HeldPage&) = delete;
    HeldPage& operator=(const HeldPage&) = delete;

    // Makes the call in another thread, and returns once it stands still at the page, or in half a
    // minute.
    void touchWith(const std::function<void(void* page, size_t size)>& call);
    // Lets the page arrive, and the calls go on.
    void arrive();

  private:
    HeldPage(FileDescriptor faults, void* page) : mFaults(std::move(faults)), mPage(page) {}

    const FileDescriptor mFaults;
    void* const mPage;
};

}  // namespace halyard::attacker
