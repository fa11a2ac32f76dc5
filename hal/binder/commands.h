// SPDX-License-Identifier: Apache-2.0
//
// The two streams between a process and the binder driver: commands (BC_*) to it, returns (BR_*)
// from it. Each item is a 32-bit code, whose bits also give the payload's size, and the payload.

#pragma once

#include <linux/android/binder.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/base/status.h"

namespace halyard::hal {

// A oneway call was queued for a process that is frozen, which will get it when it thaws. Newer
// than the headers of some systems.
inline constexpr uint32_t kTransactionPendingFrozen = _IO('r', 20);

// Commands that are waiting to be handed over.
class CommandBuffer {
  public:
    void add(uint32_t command);
    template <typename Payload>
    void add(uint32_t command, const Payload& payload) {
        static_assert(std::is_trivially_copyable_v<Payload>);
        addBytes(command, {reinterpret_cast<const uint8_t*>(&payload), sizeof(payload)});
    }

    std::span<const uint8_t> bytes() const { return mBytes; }
    bool holds(uint32_t command) const;
    // The first `size` bytes, which are whole commands, have been handed over.
    void dropTaken(size_t size);
    // Drops transactions and replies, whose parcels are about to go. What is left refers to nothing
    // outside of it, and can be handed over at any time.
    void dropParcels();

  private:
    // Gives each command with its bytes, code and payload.
    void forEach(const std::function<void(uint32_t command, std::span<const uint8_t> bytes)>& look)
            const;
    void addBytes(uint32_t command, std::span<const uint8_t> payload);

    std::vector<uint8_t> mBytes;
};

// One item that the kernel gave back.
struct Return {
    uint32_t command = 0;
    std::array<uint8_t, sizeof(binder_transaction_data_secctx)> payload = {};

    // The payload, or its beginning, as the struct that belongs to the command.
    template <typename Payload>
    Payload as() const {
        static_assert(std::is_trivially_copyable_v<Payload> && sizeof(Payload) <= sizeof(payload));
        Payload value;
        std::memcpy(&value, payload.data(), sizeof(value));
        return value;
    }
};

// Appends the items of `stream` to `returns`. INTERNAL if an item is cut short or longer than any
// known payload; the items before it are kept.
Status parseReturns(std::span<const uint8_t> stream, std::deque<Return>& returns);

// Whether this file knows what it means.
bool isKnownReturn(uint32_t command);
// "BR_TRANSACTION" and so on; the number of one that is not known.
std::string returnName(uint32_t command);

}  // namespace halyard::hal
