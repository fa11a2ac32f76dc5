// SPDX-License-Identifier: Apache-2.0
//
// Shells and commands: "shell:", "shell,v2,...:" and "exec:".

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/base/status.h"
#include "harness/device/adbd/child_processes.h"
#include "harness/device/adbd/event_loop.h"
#include "harness/device/adbd/stream.h"

namespace halyard::adbd {

struct ShellSettings {
    std::string shell = "/system/bin/sh";
    std::string directory = "/";  // where commands start
};

struct ShellRequest {
    // Whether the stream carries packets (shell_v2): standard error apart, exit status, window
    // size.
    bool packets = false;
    bool terminal = false;  // on a pseudo-terminal
    std::string terminalType = "dumb";
    std::string command;  // empty: an interactive shell
};

// "shell,v2,TERM=xterm,raw:ls -l". INVALID_ARGUMENT if it is not a shell's or has an unknown
// option.
Result<ShellRequest> parseShellRequest(std::string_view destination);

// Starts the process; the service kills it and its process group if the stream ends before it.
Result<std::unique_ptr<Service>> openShell(EventLoop& loop, ChildProcesses& children,
                                           const ShellSettings& settings,
                                           const ShellRequest& request, Stream& stream);

}  // namespace halyard::adbd
