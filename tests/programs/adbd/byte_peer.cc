// SPDX-License-Identifier: Apache-2.0

#include "tests/programs/adbd/byte_peer.h"

#include <chrono>
#include <cstring>
#include <utility>

namespace halyard::adbd::testing {

std::span<const uint8_t> bytesOf(std::string_view text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string packet(Command command, uint32_t arg0, uint32_t arg1, std::string_view payload) {
    QueueAccount account;
    ByteQueue queue(account);
    appendPacket(queue, command, arg0, arg1, bytesOf(payload), true);
    return {reinterpret_cast<const char*>(queue.bytes().data()), queue.size()};
}

std::vector<Packet> takePackets(std::string& bytes) {
    std::vector<Packet> packets;
    size_t at = 0;
    while (bytes.size() - at >= kHeaderSize) {
        PacketHeader header;
        memcpy(&header, bytes.data() + at, sizeof(header));
        if (bytes.size() - at - kHeaderSize < header.length) {
            break;
        }
        packets.push_back({header, bytes.substr(at + kHeaderSize, header.length)});
        at += kHeaderSize + header.length;
    }
    bytes.erase(0, at);
    return packets;
}

BytePeer::BytePeer(ServiceFactory openService, const AuthorizedKeys* keys) {
    loop = EventLoop::create().value();
    settings.banner = "device::";
    settings.openService = std::move(openService);
    settings.keys = keys;
    connection = std::make_unique<Connection>(*loop, settings, queued, [] {});
}

void BytePeer::connect(uint32_t largestPayload) {
    static_cast<void>(send(packet(Command::CONNECT, kVersionWithoutChecksums, largestPayload)));
    take();
}

uint32_t BytePeer::open(uint32_t id, std::string_view destination) {
    static_cast<void>(send(packet(Command::OPEN, id, 0, destination)));
    for (const Packet& answer : take()) {
        if (answer.is(Command::OKAY) && answer.header.arg1 == id) {
            return answer.header.arg0;
        }
    }
    return 0;
}

std::vector<Packet> BytePeer::take() {
    do {
        const std::span<const uint8_t> bytes = connection->outgoing();
        mIncomplete.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        connection->onSent(bytes.size());
        loop->runOnce(std::chrono::milliseconds(0));
    } while (!connection->outgoing().empty());
    return takePackets(mIncomplete);
}

}  // namespace halyard::adbd::testing
