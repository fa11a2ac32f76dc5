// SPDX-License-Identifier: Apache-2.0

#include "harness/device/adbd/client_socket.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "engine/base/log.h"

namespace halyard::adbd {

ClientSocket::ClientSocket(EventLoop& loop, FileDescriptor socket,
                           const ConnectionSettings& settings, QueueAccount& queued,
                           std::chrono::milliseconds patience, std::function<void()> onClosed)
    : mLoop(loop),
      mSocket(std::move(socket)),
      mPatience(patience),
      mOnClosed(std::move(onClosed)),
      mConnection(loop, settings, queued, [this] {
          flush();
          update();
      }) {
    Result<EventLoop::WatchId> watch =
            mLoop.watch(mSocket.get(), EPOLLIN, [this](uint32_t events) { onSocket(events); });
    if (watch.ok()) {
        mWatch = *watch;
        update();
    } else {
        close(watch.status().message());
    }
}

ClientSocket::~ClientSocket() {
    mLoop.unwatch(mWatch);
    mLoop.cancel(mTimer);
}

void ClientSocket::onSocket(uint32_t events) {
    if ((events & EPOLLOUT) != 0) {
        flush();
    }
    if (!mClosed && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
        if (mConnection.wantsMore()) {
            receive();
        } else if ((events & (EPOLLHUP | EPOLLERR)) != 0) {
            // Such events can't be put off, and the bytes that wait will not be read.
            close("the client is gone");
        }
    }
    flush();
    update();
}

void ClientSocket::receive() {
    // A part at a time, so that no client starves the others.
    std::array<uint8_t, 65536> buffer;
    const ssize_t size = recv(mSocket.get(), buffer.data(), buffer.size(), 0);
    if (size > 0) {
        static_cast<void>(mConnection.receive(std::span(buffer).first(static_cast<size_t>(size))));
    } else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
        close("the client is gone");
    }
}

void ClientSocket::flush() {
    while (!mClosed && !mConnection.outgoing().empty()) {
        const std::span<const uint8_t> bytes = mConnection.outgoing();
        const ssize_t size = send(mSocket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (size >= 0) {
            mConnection.onSent(static_cast<size_t>(size));
        } else if (errno == EAGAIN) {
            return;
        } else if (errno != EINTR) {
            close(strerror(errno));
        }
    }
}

void ClientSocket::update() {
    if (!mConnection.failure().ok()) {
        close(mConnection.failure().message());
    }
    if (mClosed) {
        return;
    }
    uint32_t events = 0;
    if (!mConnection.outgoing().empty()) {
        events |= EPOLLOUT;
    }
    if (mConnection.wantsMore()) {
        events |= EPOLLIN;
    }
    mLoop.change(mWatch, events);
    if (online()) {
        mLoop.cancel(std::exchange(mTimer, EventLoop::kNoTimer));
    } else if (mTimer == EventLoop::kNoTimer) {
        mTimer = mLoop.callAfter(mPatience, [this] { close("the client was not let in in time"); });
    }
}

void ClientSocket::close(std::string_view reason) {
    if (!std::exchange(mClosed, true)) {
        log(LogLevel::VERBOSE, "connection closed: " + std::string(reason));
        mLoop.unwatch(std::exchange(mWatch, EventLoop::kNoWatch));
        mLoop.defer(mOnClosed);
    }
}

}  // namespace halyard::adbd
