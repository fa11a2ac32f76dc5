// SPDX-License-Identifier: Apache-2.0

#include "harness/device/adbd/connection.h"

#include <sys/random.h>

#include <algorithm>
#include <utility>

#include "engine/base/log.h"

namespace halyard::adbd {

namespace {

constexpr size_t kMostStreams = 256;
// While this much waits for a client, nothing is read from it, none of its packets is handled and
// its streams send nothing: what is above the mark is one packet's doing.
constexpr size_t kOutgoingMark = size_t{1} << 20;

enum class AuthKind : uint32_t { TOKEN = 1, SIGNATURE = 2, PUBLIC_KEY = 3 };

std::span<const uint8_t> bytesOf(std::string_view text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace

Connection::Connection(EventLoop& loop, const ConnectionSettings& settings, QueueAccount& queued,
                       std::function<void()> onOutgoing)
    : mLoop(loop),
      mSettings(settings),
      mQueued(&queued),
      mOnOutgoing(std::move(onOutgoing)),
      mReceived(mQueued),
      mOutgoing(mQueued) {}

// ---- Bytes -------------------------------------------------------------------------------------

Status Connection::receive(std::span<const uint8_t> bytes) {
    mReceived.append(bytes);
    handlePackets();
    return mFailure;
}

bool Connection::wantsMore() const {
    return mOutgoing.size() < kOutgoingMark;
}

bool Connection::hasRoom() {
    mStalled = mStalled || !wantsMore();
    return wantsMore();
}

void Connection::onSent(size_t count) {
    mOutgoing.take(count);
    if (mStalled && wantsMore()) {
        mStalled = false;
        defer([this] { resume(); });
    }
}

void Connection::resume() {
    handlePackets();
    // In turn, so that no stream waits for ever behind others.
    for (size_t i = 0; i < mStreams.size() && hasRoom(); ++i) {
        auto next = mStreams.upper_bound(mLastResumed);
        if (next == mStreams.end()) {
            next = mStreams.begin();
        }
        mLastResumed = next->first;
        next->second->onSinkRoom();
    }
    mOnOutgoing();
}

void Connection::defer(std::function<void()> task) {
    mLoop.defer([alive = std::weak_ptr<bool>(mAlive), task = std::move(task)] {
        if (!alive.expired()) {
            task();
        }
    });
}

void Connection::send(Command command, uint32_t localId, uint32_t remoteId,
                      std::span<const uint8_t> payload) {
    appendPacket(mOutgoing, command, localId, remoteId, payload,
                 mVersion < kVersionWithoutChecksums);
    mOnOutgoing();
}

// ---- Packets -----------------------------------------------------------------------------------

void Connection::handlePackets() {
    while (mFailure.ok() && mReceived.size() >= kHeaderSize && hasRoom()) {
        const std::span<const uint8_t> rest = mReceived.bytes();
        Result<PacketHeader> header = parseHeader(rest);
        if (!header.ok()) {
            mFailure = header.status();
            return;
        }
        if (rest.size() - kHeaderSize < header->length) {
            return;
        }
        const std::span<const uint8_t> payload = rest.subspan(kHeaderSize, header->length);
        if (mVersion < kVersionWithoutChecksums && checksumOf(payload) != header->checksum) {
            mFailure = invalidArgument("packet with a wrong checksum");
            return;
        }
        mFailure = handlePacket(*header, payload);
        mReceived.take(kHeaderSize + header->length);
    }
}

Status Connection::handlePacket(const PacketHeader& header, std::span<const uint8_t> payload) {
    const auto command = static_cast<Command>(header.command);
    if (command == Command::CONNECT) {
        return onConnect(header);
    }
    if (command == Command::AUTH) {
        return onAuth(header, payload);
    }
    if (mPhase != Phase::ONLINE) {
        return invalidArgument("packet before the client was let in");
    }
    switch (command) {
        case Command::OPEN:
            onOpen(header, payload);
            return {};
        case Command::OKAY:
            if (Stream* stream = findStream(header)) {
                stream->onOkay();
            }
            return {};
        case Command::WRITE:
            onWrite(header, payload);
            return {};
        case Command::CLOSE:
            onClose(header);
            return {};
        default:
            return invalidArgument("unknown packet");
    }
}

// ---- Handshake ---------------------------------------------------------------------------------

Status Connection::onConnect(const PacketHeader& header) {
    if (header.arg0 < kVersionWithChecksums) {
        return invalidArgument("unknown version of the protocol");
    }
    // A client that connects anew on the same socket starts from nothing.
    mStreams.clear();
    mVersion = std::min(header.arg0, kVersionWithoutChecksums);
    mLargestPayload = std::clamp(header.arg1, kSmallestPayload, kLargestPayload);
    if (mSettings.keys == nullptr) {
        greet();
        return {};
    }
    mPhase = Phase::AUTHENTICATING;
    return challenge();
}

void Connection::greet() {
    mPhase = Phase::ONLINE;
    // The checksum is there for clients of either version.
    appendPacket(mOutgoing, Command::CONNECT, kVersionWithoutChecksums, kLargestPayload,
                 bytesOf(mSettings.banner), true);
    mOnOutgoing();
}

Status Connection::challenge() {
    if (getrandom(mToken.data(), mToken.size(), 0) != static_cast<ssize_t>(mToken.size())) {
        return internalError("no random token to be had");
    }
    appendPacket(mOutgoing, Command::AUTH, static_cast<uint32_t>(AuthKind::TOKEN), 0, mToken, true);
    mOnOutgoing();
    return {};
}

Status Connection::onAuth(const PacketHeader& header, std::span<const uint8_t> payload) {
    if (mPhase != Phase::AUTHENTICATING) {
        return invalidArgument("AUTH without a challenge");
    }
    switch (static_cast<AuthKind>(header.arg0)) {
        case AuthKind::SIGNATURE:
            if (mSettings.keys->verify(mToken, payload)) {
                greet();
                return {};
            }
            return challenge();
        case AuthKind::PUBLIC_KEY:
            // A device without a screen can't ask whether to trust it: the client stays
            // unauthorized.
            return {};
        default:
            return invalidArgument("unknown kind of AUTH");
    }
}

// ---- Streams -----------------------------------------------------------------------------------

void Connection::onOpen(const PacketHeader& header, std::span<const uint8_t> payload) {
    const uint32_t remoteId = header.arg0;
    if (remoteId == 0) {
        return;
    }
    std::string_view destination(reinterpret_cast<const char*>(payload.data()), payload.size());
    destination = destination.substr(0, destination.find('\0'));

    std::unique_ptr<Service> service;
    std::unique_ptr<Stream> stream;
    if (mStreams.size() < kMostStreams) {
        do {
            ++mLastStreamId;
        } while (mLastStreamId == 0 || mStreams.contains(mLastStreamId));
        stream = std::make_unique<Stream>(*this, mQueued, mLastStreamId, remoteId, mLargestPayload);
        service = mSettings.openService(destination, *stream);
    }
    if (service == nullptr) {
        send(Command::CLOSE, 0, remoteId, {});
        return;
    }
    Stream& opened = *stream;
    mStreams.emplace(opened.localId(), std::move(stream));
    send(Command::OKAY, opened.localId(), remoteId, {});
    opened.start(std::move(service));
}

void Connection::onWrite(const PacketHeader& header, std::span<const uint8_t> payload) {
    Stream* stream = findStream(header);
    if (stream == nullptr) {
        // The stream ended while this was under way.
        send(Command::CLOSE, 0, header.arg0, {});
    } else if (!stream->onWrite(payload)) {
        log(LogLevel::WARNING, "stream closed: the client ignores flow control");
        closeStream(stream->localId());
    }
}

void Connection::onClose(const PacketHeader& header) {
    // The sender's id may be 0, which real clients send too.
    const auto found = mStreams.find(header.arg1);
    if (found != mStreams.end() && (header.arg0 == 0 || header.arg0 == found->second->remoteId())) {
        closeStream(found->first);
    }
}

Stream* Connection::findStream(const PacketHeader& header) {
    const auto found = mStreams.find(header.arg1);
    return found != mStreams.end() && found->second->remoteId() == header.arg0 ? found->second.get()
                                                                               : nullptr;
}

void Connection::closeStream(uint32_t localId) {
    const auto found = mStreams.find(localId);
    if (found != mStreams.end()) {
        const std::unique_ptr<Stream> stream = std::move(found->second);
        mStreams.erase(found);
        // Both sides say CLOSE; clients wait for ours.
        send(Command::CLOSE, stream->localId(), stream->remoteId(), {});
    }
}

void Connection::streamEnded(uint32_t localId) {
    defer([this, localId] { closeStream(localId); });
}

}  // namespace halyard::adbd
