// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "engine/base/file_descriptor.h"
#include "harness/device/adbd/byte_queue.h"
#include "harness/device/adbd/connection.h"
#include "harness/device/adbd/event_loop.h"

namespace halyard::adbd {

// A connection and the socket that carries it. A client that is not let in within `patience` is
// hung up on, however many bytes it has sent by then; one that was let in may be silent for ever.
class ClientSocket {
  public:
    // `socket` is non-blocking. `onClosed` runs once, from a deferred task, when the connection is
    // over for whatever reason.
    ClientSocket(EventLoop& loop, FileDescriptor socket, const ConnectionSettings& settings,
                 QueueAccount& queued, std::chrono::milliseconds patience,
                 std::function<void()> onClosed);
    ~ClientSocket();
    ClientSocket(const ClientSocket&) = delete;
    ClientSocket& operator=(const ClientSocket&) = delete;

    bool closed() const { return mClosed; }
    bool online() const { return mConnection.online(); }
    size_t queued() const { return mConnection.queued(); }
    void close(std::string_view reason);

  private:
    void onSocket(uint32_t events);
    void receive();
    void flush();
    // Chooses the events to wait for: room in the socket, bytes from it, the end of our patience.
    void update();

    EventLoop& mLoop;
    FileDescriptor mSocket;
    const std::chrono::milliseconds mPatience;
    const std::function<void()> mOnClosed;
    EventLoop::WatchId mWatch = EventLoop::kNoWatch;
    EventLoop::TimerId mTimer = EventLoop::kNoTimer;
    bool mClosed = false;
    Connection mConnection;
};

}  // namespace halyard::adbd
