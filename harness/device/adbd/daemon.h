// SPDX-License-Identifier: Apache-2.0
//
// The daemon: listens, and knows which services there are.

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "harness/device/adbd/authorization.h"
#include "harness/device/adbd/byte_queue.h"
#include "harness/device/adbd/child_processes.h"
#include "harness/device/adbd/client_socket.h"
#include "harness/device/adbd/connection.h"
#include "harness/device/adbd/event_loop.h"
#include "harness/device/adbd/shell_service.h"

namespace halyard::adbd {

struct DaemonSettings {
    std::string address = "0.0.0.0";
    uint16_t port = 5555;  // 0: any free one
    std::string root;      // stands before every path of a transfer; empty: none
    ShellSettings shell;
    const AuthorizedKeys* keys = nullptr;  // null: everybody may connect
    bool allowReboot = false;
    // How long a client may take to be let in.
    std::chrono::milliseconds patience{10'000};
    // Memory of all queues; beyond it, the connection that holds most is closed.
    size_t mostQueued = size_t{64} << 20;
};

class Daemon {
  public:
    // Listens already when it returns.
    static Result<std::unique_ptr<Daemon>> create(DaemonSettings settings);
    ~Daemon();

    uint16_t port() const { return mPort; }
    // Serves until stop(), which a signal handler may not call but a callback may.
    void run() { mLoop->run(); }
    EventLoop& loop() { return *mLoop; }
    size_t connections() const { return mConnections.size(); }
    // Memory of all queues now.
    size_t queued() const { return mQueued.bytes(); }

  private:
    explicit Daemon(DaemonSettings settings);
    Status listen();
    void openSpare();
    void onClient();
    // False if no client can be asked to go.
    bool makePlace();
    void onTooMuchQueued();
    std::unique_ptr<Service> openService(std::string_view destination, Stream& stream);

    const DaemonSettings mSettings;
    ConnectionSettings mConnectionSettings;
    std::unique_ptr<EventLoop> mLoop;
    std::unique_ptr<ChildProcesses> mChildren;
    QueueAccount mQueued;
    FileDescriptor mListener;
    FileDescriptor mSpare;
    uint16_t mPort = 0;
    std::list<std::unique_ptr<ClientSocket>> mConnections;  // oldest first
};

}  // namespace halyard::adbd
