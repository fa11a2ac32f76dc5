// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/base/status.h"
#include "hal/hidl/codec.h"
#include "hal/hidl/message_queue.h"
#include "hal/memory/shared_memory.h"

namespace halyard::hal::hidl {

// A queue in memory of this process, and how it is sent.
struct OwnQueue {
    ExportedMemory memory;
    std::array<HidlGrantor, 4> grantors;
    MessageQueue queue;
    uint32_t quantum = 0;
    static constexpr uint32_t kFlags = 1;  // one reader and one writer

    // Of `length` data of so many bytes.
    static Result<OwnQueue> create(size_t datum, size_t length) {
        const uint64_t ring = uint64_t{length} * datum;
        OwnQueue own;
        uint32_t offset = 0;
        for (size_t i = 0; i < own.grantors.size(); ++i) {
            const uint64_t extent = i == 2 ? ring : i == 3 ? 4 : 8;
            own.grantors[i].offset = offset;
            own.grantors[i].extent = extent;
            offset += static_cast<uint32_t>((extent + 7) / 8 * 8);
        }
        HALYARD_ASSIGN_OR_RETURN(own.memory, createSharedMemory(offset));
        own.quantum = static_cast<uint32_t>(datum);
        HALYARD_ASSIGN_OR_RETURN(own.queue, MessageQueue::open({.grantors = own.grantors,
                                                                .handle = own.memory.handle,
                                                                .quantum = own.quantum,
                                                                .flags = kFlags},
                                                               datum, nullptr));
        return own;
    }

    template <typename Datum>
    void write(ParcelWriter& writer) const {
        HidlFmq<Datum> wire;
        wire.grantors = makeVec(writer, std::span<const HidlGrantor>(grantors));
        wire.handleAddress = makeHandle(writer, memory.handle).address;
        wire.quantum = quantum;
        wire.flags = kFlags;
        writeValue(writer, wire);
    }
};

}  // namespace halyard::hal::hidl
