// SPDX-License-Identifier: Apache-2.0
//
// Shells and commands: "shell:", "shell,v2,...:" and "exec:".

#pragma once

#include <memory>
#include <string_view>

#include "engine/base/status.h"
#include "harness/device/adbd/child_processes.h"
#include "harness/device/adbd/event_loop.h"
#include "harness/device/adbd/shell_process.h"
#include "harness/device/adbd/stream.h"

namespace halyard::adbd {

// "shell,v2,TERM=xterm,raw:ls -l". INVALID_ARGUMENT if it is not a shell's or has an unknown
// option.
Result<ShellRequest> parseShellRequest(std::string_view destination);

// Starts the process; the service kills it and its process group if the stream ends before it.
Result<std::unique_ptr<Service>> openShell(EventLoop& loop, ChildProcesses& children,
                                           const ShellSettings& settings,
                                           const ShellRequest& request, Stream& stream);

}  // namespace halyard::adbd
