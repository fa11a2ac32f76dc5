// SPDX-License-Identifier: Apache-2.0
//
// Device: what LiteRT calls a device context, one for each compiled model: threads to compute with,
// a thread that runs what is asynchronous, and the buffers that were registered.

#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <unordered_map>
#include <vector>

#include "engine/base/status.h"
#include "engine/base/thread_pool.h"
#include "litert/vendor/options.h"
#include "litert/vendor_abi.h"

namespace halyard::vendor {

// A buffer as it was when it was registered.
struct RegisteredBuffer {
    abi::TensorBuffer buffer = nullptr;
    int32_t elementType = 0;
    std::vector<int32_t> shape;
    // Where it lies in the host's memory; empty: it has to be locked for each run.
    std::span<uint8_t> bytes;
    size_t size = 0;    // in bytes, behind the offset
    size_t offset = 0;  // in the buffer, of one that is locked
};

// Thread-safe. Outlives its invocations.
class Device {
  public:
    Device(const abi::RuntimeTable& litert, Options options);
    ~Device();
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    const abi::RuntimeTable& litert() const { return mLiteRt; }
    const Options& options() const { return mOptions; }
    // Of so many threads, the caller's counted in.
    std::shared_ptr<ThreadPool> threads(size_t count);

    // UNSUPPORTED for strides and for kinds of memory that can't be used.
    Result<uint64_t> add(abi::TensorBuffer buffer);
    Status remove(uint64_t handle);
    // Nothing where there is none.
    std::shared_ptr<const RegisteredBuffer> find(uint64_t handle) const;

    // Runs it behind all else that was posted, on the device's thread.
    void post(std::function<void()> task);
    // Returns when all that was posted has been run.
    void drain();

  private:
    void work();

    const abi::RuntimeTable& mLiteRt;
    const Options mOptions;
    mutable std::mutex mMutex;
    std::unordered_map<size_t, std::shared_ptr<ThreadPool>> mPools;
    std::unordered_map<uint64_t, std::shared_ptr<const RegisteredBuffer>> mBuffers;
    uint64_t mLastHandle = 0;

    std::mutex mQueueMutex;
    std::condition_variable mPosted;
    std::condition_variable mDone;
    std::deque<std::function<void()>> mQueue;
    bool mIsRunning = false;  // a task
    bool mEnds = false;
    std::thread mWorker;  // starts with the first task
};

}  // namespace halyard::vendor
