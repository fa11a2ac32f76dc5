// SPDX-License-Identifier: Apache-2.0
//
// The packets of the adb protocol: a header of six little-endian words, then the payload.
// The protocol is described in docs/dev/protocol.md of the Android Debug Bridge.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/base/status.h"
#include "harness/device/adbd/byte_queue.h"

namespace halyard::adbd {

// Four ASCII characters each.
enum class Command : uint32_t {
    CONNECT = 0x4e584e43,  // CNXN(version, largest payload, identity)
    AUTH = 0x48545541,     // AUTH(kind, 0, token, signature or public key)
    OPEN = 0x4e45504f,     // OPEN(sender's stream id, 0, destination)
    OKAY = 0x59414b4f,     // OKAY(sender's id, receiver's id): ready for the next WRITE
    WRITE = 0x45545257,    // WRTE(sender's id, receiver's id, bytes)
    CLOSE = 0x45534c43,    // CLSE(sender's id or 0, receiver's id)
};

inline constexpr uint32_t kVersionWithChecksums = 0x01000000;
inline constexpr uint32_t kVersionWithoutChecksums = 0x01000001;
// The largest payload this daemon takes and sends. adb's own limit was 256 KiB until it became
// 1 MiB; the smaller one bounds what a connection may cost.
inline constexpr uint32_t kLargestPayload = 256 * 1024;
// Clients from before payload sizes were negotiated take no more than this.
inline constexpr uint32_t kSmallestPayload = 4096;

struct PacketHeader {
    uint32_t command = 0;
    uint32_t arg0 = 0;
    uint32_t arg1 = 0;
    uint32_t length = 0;
    uint32_t checksum = 0;
    uint32_t magic = 0;
};
inline constexpr size_t kHeaderSize = sizeof(PacketHeader);

// Sum of the bytes, which the protocol calls a CRC.
uint32_t checksumOf(std::span<const uint8_t> payload);

// Header and payload, ready to be sent.
void appendPacket(ByteQueue& out, Command command, uint32_t arg0, uint32_t arg1,
                  std::span<const uint8_t> payload, bool withChecksum);

// `bytes` holds at least kHeaderSize. INVALID_ARGUMENT if the magic word does not match or the
// payload would be longer than kLargestPayload.
Result<PacketHeader> parseHeader(std::span<const uint8_t> bytes);

}  // namespace halyard::adbd
