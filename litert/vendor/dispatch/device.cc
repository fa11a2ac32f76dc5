// SPDX-License-Identifier: Apache-2.0

#include "litert/vendor/dispatch/device.h"

#include <string>
#include <utility>

#include "litert/vendor/tables.h"

namespace halyard::vendor {
namespace {

// Kinds that LiteRT maps where it is asked to. Others stay where the host can't read them.
bool isLockable(int32_t type) {
    switch (static_cast<abi::BufferType>(type)) {
        case abi::BufferType::AHWB:
        case abi::BufferType::ION:
        case abi::BufferType::DMA_BUF:
        case abi::BufferType::FAST_RPC:
            return true;
        default:
            return false;
    }
}

Result<RegisteredBuffer> describe(const abi::RuntimeTable& litert, abi::TensorBuffer buffer) {
    int32_t kind = 0;
    abi::RankedTensorType type = {};
    size_t size = 0;
    size_t offset = 0;
    HALYARD_RETURN_IF_ERROR(
            calledStatus(litert.getTensorBufferType(buffer, &kind), "GetTensorBufferType"));
    HALYARD_RETURN_IF_ERROR(calledStatus(litert.getTensorBufferTensorType(buffer, &type),
                                         "GetTensorBufferTensorType"));
    HALYARD_RETURN_IF_ERROR(
            calledStatus(litert.getTensorBufferSize(buffer, &size), "GetTensorBufferSize"));
    HALYARD_RETURN_IF_ERROR(
            calledStatus(litert.getTensorBufferOffset(buffer, &offset), "GetTensorBufferOffset"));
    const size_t rank = type.layout.rankAndStrides & 0x7FU;
    if (rank > std::size(type.layout.dimensions)) {
        return invalidArgument("the buffer has " + std::to_string(rank) + " dimensions");
    }
    if ((type.layout.rankAndStrides >> 7U & 1U) != 0) {
        return unsupported("the buffer's elements lie apart");
    }
    if (offset > size) {
        return invalidArgument("the buffer begins at " + std::to_string(offset) + " of its " +
                               std::to_string(size) + " bytes");
    }
    RegisteredBuffer described = {.buffer = buffer,
                                  .elementType = type.elementType,
                                  .shape = {type.layout.dimensions, type.layout.dimensions + rank},
                                  .bytes = {},
                                  .size = size - offset,
                                  .offset = offset};
    if (kind != static_cast<int32_t>(abi::BufferType::HOST_MEMORY)) {
        return isLockable(kind) ? Result<RegisteredBuffer>(described)
                                : unsupported("buffers of kind " + std::to_string(kind) +
                                              " can't be read by the host");
    }
    void* address = nullptr;
    HALYARD_RETURN_IF_ERROR(calledStatus(litert.getTensorBufferHostMemory(buffer, &address),
                                         "GetTensorBufferHostMemory"));
    if (address == nullptr && described.size > 0) {
        return invalidArgument("the buffer has no address");
    }
    described.bytes = {static_cast<uint8_t*>(address) + offset, described.size};
    return described;
}

}  // namespace

Device::Device(const abi::RuntimeTable& litert, Options options)
    : mLiteRt(litert), mOptions(std::move(options)) {}

Device::~Device() {
    {
        const std::lock_guard lock(mQueueMutex);
        mEnds = true;
    }
    mPosted.notify_all();
    if (mWorker.joinable()) {
        mWorker.join();
    }
}

std::shared_ptr<ThreadPool> Device::threads(size_t count) {
    const std::lock_guard lock(mMutex);
    std::shared_ptr<ThreadPool>& pool = mPools[count];
    if (pool == nullptr) {
        pool = std::make_shared<ThreadPool>(count, std::nullopt, CoreCapacities::read());
    }
    return pool;
}

Result<uint64_t> Device::add(abi::TensorBuffer buffer) {
    HALYARD_ASSIGN_OR_RETURN(RegisteredBuffer described, describe(mLiteRt, buffer));
    const std::lock_guard lock(mMutex);
    mBuffers.emplace(++mLastHandle, std::make_shared<const RegisteredBuffer>(std::move(described)));
    return mLastHandle;
}

Status Device::remove(uint64_t handle) {
    drain();
    const std::lock_guard lock(mMutex);
    return mBuffers.erase(handle) == 0
                   ? invalidArgument("there is no buffer " + std::to_string(handle))
                   : Status();
}

std::shared_ptr<const RegisteredBuffer> Device::find(uint64_t handle) const {
    const std::lock_guard lock(mMutex);
    const auto found = mBuffers.find(handle);
    return found == mBuffers.end() ? nullptr : found->second;
}

void Device::post(std::function<void()> task) {
    {
        const std::lock_guard lock(mQueueMutex);
        mQueue.push_back(std::move(task));
        if (!mWorker.joinable()) {
            mWorker = std::thread([this] { work(); });
        }
    }
    mPosted.notify_one();
}

void Device::drain() {
    std::unique_lock lock(mQueueMutex);
    mDone.wait(lock, [this] { return mQueue.empty() && !mIsRunning; });
}

void Device::work() {
    std::unique_lock lock(mQueueMutex);
    while (true) {
        mPosted.wait(lock, [this] { return mEnds || !mQueue.empty(); });
        if (mQueue.empty()) {
            return;
        }
        std::function<void()> task = std::move(mQueue.front());
        mQueue.pop_front();
        mIsRunning = true;
        lock.unlock();
        task();
        task = nullptr;
        lock.lock();
        mIsRunning = false;
        mDone.notify_all();
    }
}

}  // namespace halyard::vendor
