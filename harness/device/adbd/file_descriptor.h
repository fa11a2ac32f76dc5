// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <unistd.h>

#include <utility>

namespace halyard::adbd {

// Owns an open file descriptor; -1: none.
class FileDescriptor {
  public:
    FileDescriptor() = default;
    explicit FileDescriptor(int fd) : mFd(fd) {}
    FileDescriptor(FileDescriptor&& other) noexcept : mFd(std::exchange(other.mFd, -1)) {}
    FileDescriptor& operator=(FileDescriptor&& other) noexcept {
        reset(std::exchange(other.mFd, -1));
        return *this;
    }
    ~FileDescriptor() { reset(); }

    int get() const { return mFd; }
    // Gives it to the caller.
    int release() { return std::exchange(mFd, -1); }
    bool valid() const { return mFd >= 0; }
    void reset(int fd = -1) {
        if (mFd >= 0) {
            close(mFd);
        }
        mFd = fd;
    }

  private:
    int mFd = -1;
};

}  // namespace halyard::adbd
