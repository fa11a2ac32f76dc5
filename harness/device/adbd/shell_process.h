// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <sys/types.h>

#include <string>

#include "engine/base/file_descriptor.h"
#include "engine/base/status.h"

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

// A started process and our ends of its standard streams, all non-blocking. On a pseudo-terminal
// input and output are the same file, and there is no separate error.
struct ShellProcess {
    pid_t pid = -1;
    FileDescriptor input;
    FileDescriptor output;
    FileDescriptor error;  // only with ShellRequest::packets and no terminal
};

// The process leads a session and a process group of its own. UNAVAILABLE or INTERNAL if the system
// refuses; a shell that can't be run shows as exit status 127.
Result<ShellProcess> startShellProcess(const ShellSettings& settings, const ShellRequest& request);

}  // namespace halyard::adbd
