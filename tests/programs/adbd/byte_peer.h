// SPDX-License-Identifier: Apache-2.0
//
// A client of a Connection without sockets: it hands over bytes, and takes what is sent when it
// likes.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/device/adbd/connection.h"

namespace halyard::adbd::testing {

struct Packet {
    PacketHeader header;
    std::string payload;
    bool is(Command command) const { return header.command == static_cast<uint32_t>(command); }
};

// A packet as it goes over the wire, with a checksum.
std::string packet(Command command, uint32_t arg0, uint32_t arg1, std::string_view payload = {});
// Cuts whole packets off the front of `bytes`.
std::vector<Packet> takePackets(std::string& bytes);
std::span<const uint8_t> bytesOf(std::string_view text);

class BytePeer {
  public:
    explicit BytePeer(ServiceFactory openService, const AuthorizedKeys* keys = nullptr);

    // The handshake; what the daemon says to it is taken.
    void connect(uint32_t largestPayload = kLargestPayload);
    // Sends OPEN; the daemon's id of the stream, 0 if it was refused. All that is sent is taken.
    uint32_t open(uint32_t id, std::string_view destination);
    Status send(std::string_view bytes) { return connection->receive(bytesOf(bytes)); }
    // Everything the daemon has to send until it waits for the client again.
    std::vector<Packet> take();

    std::unique_ptr<EventLoop> loop;
    ConnectionSettings settings;
    QueueAccount queued;
    std::unique_ptr<Connection> connection;

  private:
    std::string mIncomplete;
};

}  // namespace halyard::adbd::testing
