// SPDX-License-Identifier: Apache-2.0
//
// BufferFreer: gives received buffers back to the kernel, which then closes the descriptors of a
// parcel's arrays, on a thread that has a table of descriptors of its own. There they are not open,
// so nothing is closed: not by the kernel, which would wait for a client's file system with the
// buffer in its hands, a part of the room that all clients share.

#pragma once

#include <pthread.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string_view>

#include "engine/base/status.h"
#include "hal/binder/kernel.h"

namespace halyard::hal {

// Thread-safe.
class BufferFreer {
  public:
    // The kernel outlives it. Null where that can't be done: before Linux 4.20, which closes them
    // in the table of the process that opened the device, and where there is no such thread to be
    // had.
    static std::unique_ptr<BufferFreer> start(BinderKernel& kernel);
    ~BufferFreer();
    BufferFreer(const BufferFreer&) = delete;
    BufferFreer& operator=(const BufferFreer&) = delete;

    // Returns once the kernel has the buffer.
    Status free(uint64_t address);

  private:
    struct Order {
        uint64_t address = 0;
        bool done = false;
        Status status;
    };

    explicit BufferFreer(BinderKernel& kernel) : mKernel(kernel) {}
    static void* run(void* freer);
    void serve();

    BinderKernel& mKernel;
    pthread_t mThread = {};
    std::mutex mMutex;
    std::condition_variable mChanged;
    std::deque<Order*> mOrders;
    bool mReady = false;  // the thread has its table, or has failed
    bool mApart = false;  // it has it
    bool mStopping = false;
};

// Whether a kernel of this release ("6.1.0-28-amd64") closes the descriptors of a buffer in the
// table of the thread that gives it back.
bool closesInTableOfCaller(std::string_view release);

}  // namespace halyard::hal
