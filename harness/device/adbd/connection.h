// SPDX-License-Identifier: Apache-2.0
//
// One client's connection: the handshake, and its streams.

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/device/adbd/authorization.h"
#include "harness/device/adbd/event_loop.h"
#include "harness/device/adbd/file_descriptor.h"
#include "harness/device/adbd/packet.h"
#include "harness/device/adbd/stream.h"

namespace halyard::adbd {

// Finds the service for what a client wants to open ("shell:ls", "sync:"), null if there is none.
using ServiceFactory =
        std::function<std::unique_ptr<Service>(std::string_view destination, Stream& stream)>;

struct ConnectionSettings {
    std::string banner;  // "device::name=value;...;features=..."
    ServiceFactory openService;
    const AuthorizedKeys* keys = nullptr;  // null: everybody is let in
};

class Connection : public PacketSink {
  public:
    // `socket` is non-blocking. `onClosed` runs once, from a deferred task, when the connection is
    // over for whatever reason: a lost client or one that breaks the protocol.
    Connection(EventLoop& loop, FileDescriptor socket, const ConnectionSettings& settings,
               std::function<void()> onClosed);
    ~Connection() override;

    void send(Command command, uint32_t localId, uint32_t remoteId,
              std::span<const uint8_t> payload) override;
    void streamEnded(uint32_t localId) override;

  private:
    enum class Phase : uint8_t { CONNECTING, AUTHENTICATING, ONLINE };

    void onSocket(uint32_t events);
    bool receive();
    // Handles the complete packets received so far. False: the client breaks the protocol.
    bool handlePackets();
    bool handlePacket(const PacketHeader& header, std::span<const uint8_t> payload);
    bool onConnect(const PacketHeader& header);
    bool onAuth(const PacketHeader& header, std::span<const uint8_t> payload);
    void onOpen(const PacketHeader& header, std::span<const uint8_t> payload);
    void onClose(const PacketHeader& header);
    Stream* findStream(const PacketHeader& header);
    void closeStream(uint32_t localId);
    void greet();
    void challenge();
    void flush();
    void updateWatch();
    void fail(std::string_view reason);

    EventLoop& mLoop;
    FileDescriptor mSocket;
    const ConnectionSettings& mSettings;
    std::function<void()> mOnClosed;
    EventLoop::WatchId mWatch = EventLoop::kNoWatch;
    Phase mPhase = Phase::CONNECTING;
    // Until the versions are agreed, packets carry checksums.
    uint32_t mVersion = kVersionWithChecksums;
    size_t mLargestPayload = kSmallestPayload;
    std::array<uint8_t, kTokenSize> mToken = {};
    std::vector<uint8_t> mReceived;
    std::vector<uint8_t> mOutgoing;
    size_t mSent = 0;  // of mOutgoing
    std::map<uint32_t, std::unique_ptr<Stream>> mStreams;
    uint32_t mLastStreamId = 0;
    bool mClosed = false;
    // Deferred tasks hold it weakly: they may run after the connection's end.
    std::shared_ptr<bool> mAlive = std::make_shared<bool>(true);
};

}  // namespace halyard::adbd
