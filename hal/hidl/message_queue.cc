// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/message_queue.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "hal/memory/shared_memory.h"

namespace halyard::hal::hidl {
namespace {

constexpr uint32_t kSynchronized = 1;  // one reader and one writer
// Ten times what NNAPI's runtime makes. What is read of it lies in the service's memory.
constexpr uint64_t kLargestRing = uint64_t{1} << 18;
constexpr size_t kMostDescriptors = 4;
// A sleeper is woken in tens of microseconds; who is asked again at once need not sleep. On a
// machine of one or two processors the other side needs the one that would be spent on looking.
constexpr std::chrono::microseconds kPollingWindow{20};

enum Which : size_t { READ, WRITTEN, RING, EVENT };
constexpr std::array<const char*, 4> kNames = {"the read counter", "the write counter", "the ring",
                                               "the event word"};

}  // namespace

Result<MessageQueue> MessageQueue::open(const Layout& layout, size_t datum,
                                        const driver::Account* account) {
    if (layout.quantum != datum) {
        return invalidArgument("a queue of " + std::to_string(layout.quantum) +
                               " bytes each, where there are " + std::to_string(datum));
    }
    if (layout.flags != kSynchronized) {
        return invalidArgument("a queue that is not of one reader and one writer");
    }
    if (layout.grantors.size() != kNames.size()) {
        return invalidArgument("a queue of " + std::to_string(layout.grantors.size()) +
                               " parts, where it has " + std::to_string(kNames.size()));
    }
    const std::vector<int>& descriptors = layout.handle.fds;
    if (descriptors.empty() || descriptors.size() > kMostDescriptors) {
        return invalidArgument("a queue of " + std::to_string(descriptors.size()) + " descriptors");
    }
    std::array<Part, 4> parts;
    for (size_t i = 0; i < parts.size(); ++i) {
        const HidlGrantor& grantor = layout.grantors[i];
        const uint64_t least = i == EVENT ? sizeof(uint32_t) : sizeof(uint64_t);
        const auto wrong = [&](const std::string& what) {
            return invalidArgument(std::string(kNames[i]) + " of a queue " + what);
        };
        if (grantor.fdIndex >= descriptors.size()) {
            return wrong("lies in descriptor " + std::to_string(grantor.fdIndex));
        }
        if (grantor.offset % sizeof(uint64_t) != 0) {
            return wrong("is not aligned");
        }
        if (i == RING ? grantor.extent == 0 || grantor.extent % datum != 0 ||
                                grantor.extent > kLargestRing
                      : grantor.extent < least || grantor.extent > sizeof(uint64_t)) {
            return wrong("has " + std::to_string(grantor.extent) + " bytes");
        }
        const uint64_t end = grantor.offset + grantor.extent;
        const driver::SharedMemory memory = importAshmem(descriptors[grantor.fdIndex], end);
        Result<driver::MemoryUse> use =
                memory->use({.begin = grantor.offset, .end = end, .touched = end}, account);
        if (!use.ok()) {
            return use.status().withContext(std::string(kNames[i]) + " of a queue");
        }
        if (!use->writable()) {
            return wrong("is read-only");
        }
        HALYARD_ASSIGN_OR_RETURN(parts[i].bytes, use->bytes(grantor.offset, grantor.extent));
        parts[i].use = std::move(*use);
    }
    MessageQueue queue;
    queue.mRead = std::move(parts[READ]);
    queue.mWritten = std::move(parts[WRITTEN]);
    queue.mRing = std::move(parts[RING]);
    queue.mEvent = std::move(parts[EVENT]);
    queue.mDatum = datum;
    return queue;
}

std::atomic_ref<uint64_t> MessageQueue::readCounter() const {
    return std::atomic_ref(*reinterpret_cast<uint64_t*>(mRead.bytes.data()));
}

std::atomic_ref<uint64_t> MessageQueue::writeCounter() const {
    return std::atomic_ref(*reinterpret_cast<uint64_t*>(mWritten.bytes.data()));
}

std::atomic_ref<uint32_t> MessageQueue::event() const {
    return std::atomic_ref(*reinterpret_cast<uint32_t*>(mEvent.bytes.data()));
}

size_t MessageQueue::untilEnd(uint64_t counter) const {
    return mRing.bytes.size() - static_cast<size_t>(counter % mRing.bytes.size());
}

Status MessageQueue::read(std::vector<std::byte>& bytes) {
    bytes.clear();
    const uint64_t written = writeCounter().load(std::memory_order_acquire);
    const uint64_t from = readCounter().load(std::memory_order_relaxed);
    const uint64_t size = written - from;
    Status status;
    if (size > mRing.bytes.size() || size % mDatum != 0) {
        status = invalidArgument("the counters of a queue, " + std::to_string(from) + " and " +
                                 std::to_string(written) + ", contradict each other");
    } else if (size > 0) {
        bytes.resize(static_cast<size_t>(size));
        const size_t first = std::min(bytes.size(), untilEnd(from));
        const uint8_t* const ring = mRing.bytes.data();
        std::memcpy(bytes.data(), ring + from % mRing.bytes.size(), first);
        std::memcpy(bytes.data() + first, ring, bytes.size() - first);
    }
    readCounter().store(written, std::memory_order_release);
    if (size > 0) {
        signal(NOT_FULL);
    }
    return status;
}

bool MessageQueue::write(std::span<const std::byte> bytes) {
    const uint64_t from = readCounter().load(std::memory_order_acquire);
    const uint64_t to = writeCounter().load(std::memory_order_relaxed);
    const uint64_t used = to - from;
    if (used > mRing.bytes.size() || bytes.size() > mRing.bytes.size() - used) {
        return false;
    }
    const size_t first = std::min(bytes.size(), untilEnd(to));
    uint8_t* const ring = mRing.bytes.data();
    std::memcpy(ring + to % mRing.bytes.size(), bytes.data(), first);
    std::memcpy(ring, bytes.data() + first, bytes.size() - first);
    writeCounter().store(to + bytes.size(), std::memory_order_release);
    signal(NOT_EMPTY);
    return true;
}

void MessageQueue::signal(uint32_t bit) {
    if ((event().fetch_or(bit) & bit) == 0) {
        syscall(SYS_futex, mEvent.bytes.data(), FUTEX_WAKE_BITSET, INT_MAX, nullptr, nullptr, bit);
    }
}

void MessageQueue::wake() {
    signal(NOT_EMPTY);
}

void MessageQueue::awaitData(std::chrono::nanoseconds patience) {
    static const bool kPolls = std::thread::hardware_concurrency() > 2;
    const auto isEmpty = [&] {
        return writeCounter().load(std::memory_order_acquire) ==
               readCounter().load(std::memory_order_relaxed);
    };
    const auto window = std::chrono::steady_clock::now() + kPollingWindow;
    while (kPolls && isEmpty() && std::chrono::steady_clock::now() < window) {
        std::this_thread::yield();
    }
    const uint32_t before = event().fetch_and(~uint32_t{NOT_EMPTY});
    if ((before & NOT_EMPTY) != 0 || !isEmpty()) {
        return;
    }
    timespec until = {};
    clock_gettime(CLOCK_MONOTONIC, &until);
    const auto whole = std::chrono::duration_cast<std::chrono::seconds>(patience);
    until.tv_sec += whole.count();
    until.tv_nsec += (patience - whole).count();
    if (until.tv_nsec >= 1'000'000'000) {
        until.tv_nsec -= 1'000'000'000;
        ++until.tv_sec;
    }
    syscall(SYS_futex, mEvent.bytes.data(), FUTEX_WAIT_BITSET, before & ~uint32_t{NOT_EMPTY},
            &until, nullptr, NOT_EMPTY);
}

}  // namespace halyard::hal::hidl
