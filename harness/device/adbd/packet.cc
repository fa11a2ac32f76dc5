// SPDX-License-Identifier: Apache-2.0

#include "harness/device/adbd/packet.h"

#include <cstring>
#include <numeric>
#include <string>

namespace halyard::adbd {

uint32_t checksumOf(std::span<const uint8_t> payload) {
    return std::accumulate(payload.begin(), payload.end(), uint32_t{0});
}

void appendPacket(ByteQueue& out, Command command, uint32_t arg0, uint32_t arg1,
                  std::span<const uint8_t> payload, bool withChecksum) {
    const auto word = static_cast<uint32_t>(command);
    const PacketHeader header = {
            .command = word,
            .arg0 = arg0,
            .arg1 = arg1,
            .length = static_cast<uint32_t>(payload.size()),
            .checksum = withChecksum ? checksumOf(payload) : 0,
            .magic = ~word,
    };
    out.append({reinterpret_cast<const uint8_t*>(&header), sizeof(header)});
    out.append(payload);
}

Result<PacketHeader> parseHeader(std::span<const uint8_t> bytes) {
    PacketHeader header;
    memcpy(&header, bytes.data(), sizeof(header));
    if (header.magic != ~header.command) {
        return invalidArgument("packet with a wrong magic word");
    }
    if (header.length > kLargestPayload) {
        return invalidArgument("packet with a payload of " + std::to_string(header.length) +
                               " bytes");
    }
    return header;
}

}  // namespace halyard::adbd
