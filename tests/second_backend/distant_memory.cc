// SPDX-License-Identifier: Apache-2.0

#include "tests/second_backend/distant_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

namespace halyard::engine {
namespace {

size_t inPages(size_t bytes) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    return (bytes + page - 1) / page * page;
}

class LateQueue final : public DeviceQueue {
  public:
    explicit LateQueue(DistantMemory& memory) : mMemory(memory) {}

    Status copyIn(const DevicePlace& to, std::span<const std::byte> from,
                  const Checkpoint& checkpoint) override {
        return mMemory.copyIn(to, from, checkpoint);
    }
    Status copyOut(std::span<std::byte> to, const DevicePlace& from,
                   const Checkpoint& checkpoint) override {
        HALYARD_RETURN_IF_ERROR(finish());
        return mMemory.copyOut(to, from, checkpoint);
    }
    Status beginCopyOut(std::span<std::byte> to, const DevicePlace& from,
                        const Checkpoint& checkpoint) override {
        std::vector<std::byte> bytes(to.size());
        HALYARD_RETURN_IF_ERROR(mMemory.copyOut(bytes, from, checkpoint));
        mLate.emplace_back(to, std::move(bytes));
        return {};
    }
    Status finish() override {
        for (const auto& [to, bytes] : mLate) {
            std::ranges::copy(bytes, to.begin());
        }
        mLate.clear();
        return {};
    }

  private:
    DistantMemory& mMemory;
    std::vector<std::pair<std::span<std::byte>, std::vector<std::byte>>> mLate;
};

}  // namespace

Status toldToFail() {
    return {StatusCode::INTERNAL, "fails because it was told to"};
}

DistantBuffer::~DistantBuffer() {
    mMemory.inUse -= mBytes;
    munmap(mBase, inPages(mBytes));
}

void DistantBuffer::open() {
    const std::lock_guard lock(mMutex);
    if (mUsers++ == 0 && mprotect(mBase, inPages(mBytes), PROT_READ | PROT_WRITE) != 0) {
        abort();
    }
}

void DistantBuffer::close() {
    const std::lock_guard lock(mMutex);
    if (--mUsers == 0 && mprotect(mBase, inPages(mBytes), PROT_NONE) != 0) {
        abort();
    }
}

Result<std::unique_ptr<DeviceBuffer>> DistantMemory::allocate(size_t bytes) {
    if (failsToAllocate) {
        return Status(StatusCode::RESOURCE_EXHAUSTED, std::string(toldToFail().message()));
    }
    void* const base = bytes > mCapacity - inUse ? MAP_FAILED
                                                 : mmap(nullptr, inPages(bytes), PROT_NONE,
                                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) {
        return Status(StatusCode::RESOURCE_EXHAUSTED,
                      "there is no room for " + std::to_string(bytes) + " bytes");
    }
    inUse += bytes;
    return std::unique_ptr<DeviceBuffer>(
            std::make_unique<DistantBuffer>(*this, static_cast<std::byte*>(base), bytes));
}

Result<std::unique_ptr<DeviceQueue>> DistantMemory::makeQueue() {
    return std::unique_ptr<DeviceQueue>(std::make_unique<LateQueue>(*this));
}

Status DistantMemory::copyIn(const DevicePlace& to, std::span<const std::byte> from,
                             const Checkpoint& checkpoint) {
    if (failsToCopyIn) {
        return toldToFail();
    }
    auto& buffer = static_cast<DistantBuffer&>(*to.buffer);
    if (to.offset > buffer.size() || from.size() > buffer.size() - to.offset) {
        return internalError("was asked to copy to beyond a block's end");
    }
    const OpenBuffer open(buffer);
    ++copiesIn;
    copiedBytes += from.size();
    return copyInChunks(buffer.base() + to.offset, from.data(), from.size(), checkpoint,
                        "while it was copied");
}

Status DistantMemory::copyOut(std::span<std::byte> to, const DevicePlace& from,
                              const Checkpoint& checkpoint) {
    if (failsToCopyOut) {
        return toldToFail();
    }
    auto& buffer = static_cast<DistantBuffer&>(*from.buffer);
    if (from.offset > buffer.size() || to.size() > buffer.size() - from.offset) {
        return internalError("was asked to copy from beyond a block's end");
    }
    const OpenBuffer open(buffer);
    ++copiesOut;
    copiedBytes += to.size();
    return copyInChunks(to.data(), buffer.base() + from.offset, to.size(), checkpoint,
                        "while it was copied");
}

Status DistantMemory::copyWithin(const DevicePlace& to, const DevicePlace& from, size_t bytes,
                                 const Checkpoint& checkpoint) {
    auto& target = static_cast<DistantBuffer&>(*to.buffer);
    auto& source = static_cast<DistantBuffer&>(*from.buffer);
    const OpenBuffer openTarget(target);
    const OpenBuffer openSource(source);
    return copyInChunks(target.base() + to.offset, source.base() + from.offset, bytes, checkpoint,
                        "while it was copied");
}

}  // namespace halyard::engine
