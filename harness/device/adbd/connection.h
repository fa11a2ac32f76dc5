// SPDX-License-Identifier: Apache-2.0
//
// One client's connection: the handshake, and its streams. It takes and gives bytes; what carries
// them is a ClientSocket's business.

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "harness/device/adbd/authorization.h"
#include "harness/device/adbd/byte_queue.h"
#include "harness/device/adbd/event_loop.h"
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
    // `settings` and `queued` outlive the connection. `onOutgoing` runs whenever bytes have come to
    // outgoing(), also from within receive().
    Connection(EventLoop& loop, const ConnectionSettings& settings, QueueAccount& queued,
               std::function<void()> onOutgoing);

    // Takes what the client sent and handles the packets that are whole, as long as there is room
    // for what they bring about; the rest is handled once there is. A failure is the end: the
    // client breaks the protocol.
    Status receive(std::span<const uint8_t> bytes);
    // False while so much waits for the client that nothing more should be received from it.
    bool wantsMore() const;
    // Bytes to be sent, and the count of those that were. Packets that had waited for that are
    // handled later: failure() says if one of them breaks the protocol.
    std::span<const uint8_t> outgoing() const { return mOutgoing.bytes(); }
    void onSent(size_t count);

    // Whether the client was let in.
    bool online() const { return mPhase == Phase::ONLINE; }
    // Not OK once it has broken the protocol: the connection is over.
    const Status& failure() const { return mFailure; }
    // Memory of all queues.
    size_t queued() const { return mQueued.bytes(); }

    void send(Command command, uint32_t localId, uint32_t remoteId,
              std::span<const uint8_t> payload) override;
    bool hasRoom() override;
    void streamEnded(uint32_t localId) override;

  private:
    enum class Phase : uint8_t { CONNECTING, AUTHENTICATING, ONLINE };

    // Runs `task` later, if the connection is still there then.
    void defer(std::function<void()> task);
    void handlePackets();
    Status handlePacket(const PacketHeader& header, std::span<const uint8_t> payload);
    Status onConnect(const PacketHeader& header);
    Status onAuth(const PacketHeader& header, std::span<const uint8_t> payload);
    void onOpen(const PacketHeader& header, std::span<const uint8_t> payload);
    void onWrite(const PacketHeader& header, std::span<const uint8_t> payload);
    void onClose(const PacketHeader& header);
    Stream* findStream(const PacketHeader& header);
    void closeStream(uint32_t localId);
    void greet();
    Status challenge();
    // Goes on with what had to wait for room.
    void resume();

    EventLoop& mLoop;
    const ConnectionSettings& mSettings;
    QueueAccount mQueued;
    const std::function<void()> mOnOutgoing;
    Phase mPhase = Phase::CONNECTING;
    Status mFailure;
    // Until the versions are agreed, packets carry checksums.
    uint32_t mVersion = kVersionWithChecksums;
    size_t mLargestPayload = kSmallestPayload;
    std::array<uint8_t, kTokenSize> mToken = {};
    ByteQueue mReceived;
    ByteQueue mOutgoing;
    bool mStalled = false;  // something waits for room in mOutgoing
    std::map<uint32_t, std::unique_ptr<Stream>> mStreams;
    uint32_t mLastStreamId = 0;
    uint32_t mLastResumed = 0;  // stream
    // Deferred tasks hold it weakly: they may run after the connection's end.
    std::shared_ptr<bool> mAlive = std::make_shared<bool>(true);
};

}  // namespace halyard::adbd
