// SPDX-License-Identifier: Apache-2.0
//
// The daemon: listens, and knows which services there are.

#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "harness/device/adbd/authorization.h"
#include "harness/device/adbd/child_processes.h"
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

  private:
    explicit Daemon(DaemonSettings settings);
    Status listen();
    void openSpare();
    void onClient();
    std::unique_ptr<Service> openService(std::string_view destination, Stream& stream);

    const DaemonSettings mSettings;
    ConnectionSettings mConnectionSettings;
    std::unique_ptr<EventLoop> mLoop;
    std::unique_ptr<ChildProcesses> mChildren;
    FileDescriptor mListener;
    FileDescriptor mSpare;
    uint16_t mPort = 0;
    std::list<std::unique_ptr<Connection>> mConnections;
};

}  // namespace halyard::adbd
