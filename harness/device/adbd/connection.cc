// SPDX-License-Identifier: Apache-2.0

#include "harness/device/adbd/connection.h"

#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "engine/base/log.h"

namespace halyard::adbd {

namespace {

constexpr size_t kMostStreams = 256;
// A client that sends without reading is not read from while this much waits for it.
constexpr size_t kOutgoingMark = size_t{4} << 20;

enum class AuthKind : uint32_t { TOKEN = 1, SIGNATURE = 2, PUBLIC_KEY = 3 };

std::span<const uint8_t> bytesOf(std::string_view text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

}  // namespace

Connection::Connection(EventLoop& loop, FileDescriptor socket, const ConnectionSettings& settings,
                       std::function<void()> onClosed)
    : mLoop(loop), mSocket(std::move(socket)), mSettings(settings), mOnClosed(std::move(onClosed)) {
    Result<EventLoop::WatchId> watch =
            mLoop.watch(mSocket.get(), EPOLLIN, [this](uint32_t events) { onSocket(events); });
    if (watch.ok()) {
        mWatch = *watch;
    } else {
        fail(watch.status().message());
    }
}

Connection::~Connection() {
    mLoop.unwatch(mWatch);
}

void Connection::onSocket(uint32_t events) {
    if ((events & EPOLLOUT) != 0) {
        flush();
    }
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 && !mClosed) {
        if (!receive()) {
            fail("the client is gone");
        } else if (!handlePackets()) {
            fail("the client breaks the protocol");
        }
    }
    if (!mClosed) {
        flush();
        updateWatch();
    }
}

bool Connection::receive() {
    // One packet's worth at a time, so that no client starves the others.
    std::array<uint8_t, 65536> buffer;
    const ssize_t size = recv(mSocket.get(), buffer.data(), buffer.size(), 0);
    if (size < 0) {
        return errno == EAGAIN || errno == EINTR;
    }
    mReceived.insert(mReceived.end(), buffer.begin(), buffer.begin() + size);
    return size > 0;
}

bool Connection::handlePackets() {
    size_t position = 0;
    bool good = true;
    while (good && mReceived.size() - position >= kHeaderSize && !mClosed) {
        const std::span<const uint8_t> rest = std::span(mReceived).subspan(position);
        Result<PacketHeader> header = parseHeader(rest);
        if (!header.ok()) {
            good = false;
            break;
        }
        if (rest.size() - kHeaderSize < header->length) {
            break;
        }
        const std::span<const uint8_t> payload = rest.subspan(kHeaderSize, header->length);
        if (mVersion < kVersionWithoutChecksums && checksumOf(payload) != header->checksum) {
            good = false;
            break;
        }
        good = handlePacket(*header, payload);
        position += kHeaderSize + header->length;
    }
    mReceived.erase(mReceived.begin(), mReceived.begin() + static_cast<ptrdiff_t>(position));
    return good;
}

bool Connection::handlePacket(const PacketHeader& header, std::span<const uint8_t> payload) {
    const auto command = static_cast<Command>(header.command);
    if (command == Command::CONNECT) {
        return onConnect(header);
    }
    if (command == Command::AUTH) {
        return onAuth(header, payload);
    }
    if (mPhase != Phase::ONLINE) {
        return false;
    }
    switch (command) {
        case Command::OPEN:
            onOpen(header, payload);
            return true;
        case Command::OKAY:
            if (Stream* stream = findStream(header)) {
                stream->onOkay();
            }
            return true;
        case Command::WRITE:
            if (Stream* stream = findStream(header)) {
                if (!stream->onWrite(payload)) {
                    log(LogLevel::WARNING, "stream closed: the client ignores flow control");
                    closeStream(stream->localId());
                }
            } else {
                // The stream ended while this was under way.
                send(Command::CLOSE, 0, header.arg0, {});
            }
            return true;
        case Command::CLOSE:
            onClose(header);
            return true;
        default:
            return false;
    }
}

bool Connection::onConnect(const PacketHeader& header) {
    if (header.arg0 < kVersionWithChecksums) {
        return false;
    }
    // A client that connects anew on the same socket starts from nothing.
    mStreams.clear();
    mVersion = std::min(header.arg0, kVersionWithoutChecksums);
    mLargestPayload = std::clamp(header.arg1, kSmallestPayload, kLargestPayload);
    if (mSettings.keys == nullptr) {
        greet();
    } else {
        mPhase = Phase::AUTHENTICATING;
        challenge();
    }
    return true;
}

void Connection::greet() {
    mPhase = Phase::ONLINE;
    // The checksum is there for clients of either version.
    appendPacket(mOutgoing, Command::CONNECT, kVersionWithoutChecksums, kLargestPayload,
                 bytesOf(mSettings.banner), true);
}

void Connection::challenge() {
    if (getrandom(mToken.data(), mToken.size(), 0) != static_cast<ssize_t>(mToken.size())) {
        fail("no random token to be had");
        return;
    }
    appendPacket(mOutgoing, Command::AUTH, static_cast<uint32_t>(AuthKind::TOKEN), 0, mToken, true);
}

bool Connection::onAuth(const PacketHeader& header, std::span<const uint8_t> payload) {
    if (mPhase != Phase::AUTHENTICATING) {
        return false;
    }
    switch (static_cast<AuthKind>(header.arg0)) {
        case AuthKind::SIGNATURE:
            if (mSettings.keys->verify(mToken, payload)) {
                greet();
            } else {
                challenge();
            }
            return true;
        case AuthKind::PUBLIC_KEY:
            // There is nobody here to ask whether to trust it: the client stays unauthorized.
            return true;
        default:
            return false;
    }
}

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
        stream = std::make_unique<Stream>(*this, mLastStreamId, remoteId, mLargestPayload);
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
    mLoop.defer([this, alive = std::weak_ptr<bool>(mAlive), localId] {
        if (!alive.expired()) {
            closeStream(localId);
        }
    });
}

void Connection::send(Command command, uint32_t localId, uint32_t remoteId,
                      std::span<const uint8_t> payload) {
    if (mClosed) {
        return;
    }
    appendPacket(mOutgoing, command, localId, remoteId, payload,
                 mVersion < kVersionWithoutChecksums);
    flush();
    updateWatch();
}

void Connection::flush() {
    while (mSent < mOutgoing.size() && !mClosed) {
        const ssize_t size = ::send(mSocket.get(), mOutgoing.data() + mSent,
                                    mOutgoing.size() - mSent, MSG_NOSIGNAL);
        if (size < 0) {
            if (errno == EINTR) {
                continue;
            }
            if (errno != EAGAIN) {
                fail(strerror(errno));
            }
            return;
        }
        mSent += static_cast<size_t>(size);
    }
    mOutgoing.clear();
    mSent = 0;
}

void Connection::updateWatch() {
    const size_t waiting = mOutgoing.size() - mSent;
    uint32_t events = 0;
    if (waiting > 0) {
        events |= EPOLLOUT;
    }
    if (waiting < kOutgoingMark) {
        events |= EPOLLIN;
    }
    mLoop.change(mWatch, events);
}

void Connection::fail(std::string_view reason) {
    if (mClosed) {
        return;
    }
    mClosed = true;
    log(LogLevel::VERBOSE, "connection closed: " + std::string(reason));
    mLoop.unwatch(mWatch);
    mLoop.defer(mOnClosed);
}

}  // namespace halyard::adbd
