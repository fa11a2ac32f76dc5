// SPDX-License-Identifier: Apache-2.0
//
// MessageQueue: a fast message queue (FMQ) that a client made, of one reader and one writer in
// step, with an event word to sleep on. The client can write to all of it at any time: every
// counter is read once and checked, and what is read is copied before it is looked at.
//
// Counters are bytes that have gone through the ring since it was made; the ring is indexed by
// their remainder.

#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "driver/clients/account.h"
#include "driver/model/memory.h"
#include "engine/base/status.h"
#include "hal/hidl/layout.h"
#include "hal/memory/native_handle.h"

namespace halyard::hal::hidl {

// Not thread-safe, but for wake().
class MessageQueue {
  public:
    // The layout of a queue, as its descriptor says.
    struct Layout {
        std::span<const HidlGrantor> grantors;
        NativeHandle handle;  // borrowed
        uint32_t quantum = 0;
        uint32_t flags = 0;
    };
    // Maps the queue and charges that to the account. INVALID_ARGUMENT says what is wrong with the
    // layout: `datum`: bytes that it has to be of.
    static Result<MessageQueue> open(const Layout& layout, size_t datum,
                                     const driver::Account* account);

    // As many bytes as can be in it at once.
    size_t capacity() const { return mRing.bytes.size(); }

    // Everything that is there, as bytes, whole data; empty: nothing. INVALID_ARGUMENT where the
    // counters contradict each other: all that was there is passed over then.
    Status read(std::vector<std::byte>& bytes);
    // All of it or, where there is no room, nothing: false.
    bool write(std::span<const std::byte> bytes);

    // Until there may be something to read, wake() was called, or so long.
    void awaitData(std::chrono::nanoseconds patience);
    // From any thread.
    void wake();

  private:
    enum Bit : uint32_t { NOT_FULL = 1, NOT_EMPTY = 2 };

    struct Part {
        driver::MemoryUse use;
        std::span<uint8_t> bytes;
    };

    std::atomic_ref<uint64_t> readCounter() const;
    std::atomic_ref<uint64_t> writeCounter() const;
    std::atomic_ref<uint32_t> event() const;
    void signal(uint32_t bit);
    // How many bytes from `counter` on lie in the ring before it begins anew.
    size_t untilEnd(uint64_t counter) const;

    Part mRead;
    Part mWritten;
    Part mRing;
    Part mEvent;
    size_t mDatum = 0;
};

}  // namespace halyard::hal::hidl
