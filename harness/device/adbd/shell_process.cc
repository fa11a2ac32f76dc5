// SPDX-License-Identifier: Apache-2.0

#include "harness/device/adbd/shell_process.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

namespace halyard::adbd {

namespace {

// The child's descriptors 0, 1 and 2.
struct ChildEnds {
    FileDescriptor input;
    FileDescriptor output;
    FileDescriptor error;
};

Status systemFailure(std::string_view call) {
    return internalError(std::string(call) + ": " + strerror(errno));
}

Status makePipe(FileDescriptor& reading, FileDescriptor& writing) {
    std::array<int, 2> ends;
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
        return systemFailure("pipe2");
    }
    reading.reset(ends[0]);
    writing.reset(ends[1]);
    return {};
}

void setNonBlocking(const FileDescriptor& descriptor) {
    fcntl(descriptor.get(), F_SETFL, fcntl(descriptor.get(), F_GETFL) | O_NONBLOCK);
}

Status makePipes(bool separateError, ShellProcess& process, ChildEnds& child) {
    HALYARD_RETURN_IF_ERROR(makePipe(child.input, process.input));
    HALYARD_RETURN_IF_ERROR(makePipe(process.output, child.output));
    if (separateError) {
        HALYARD_RETURN_IF_ERROR(makePipe(process.error, child.error));
        setNonBlocking(process.error);
    }
    setNonBlocking(process.input);
    setNonBlocking(process.output);
    return {};
}

Status makeTerminal(ShellProcess& process, ChildEnds& child) {
    FileDescriptor terminal(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (!terminal.valid() || grantpt(terminal.get()) != 0 || unlockpt(terminal.get()) != 0) {
        return systemFailure("no pseudo-terminal");
    }
    std::array<char, 64> name;
    if (ptsname_r(terminal.get(), name.data(), name.size()) != 0) {
        return systemFailure("ptsname_r");
    }
    child.input.reset(open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (!child.input.valid()) {
        return systemFailure(name.data());
    }
    process.input.reset(fcntl(terminal.get(), F_DUPFD_CLOEXEC, 0));
    if (!process.input.valid()) {
        return systemFailure("fcntl");
    }
    process.output = std::move(terminal);
    setNonBlocking(process.output);
    return {};
}

[[noreturn]] void runChild(const ShellSettings& settings, const ShellRequest& request,
                           const ChildEnds& ends) {
    setsid();
    if (request.terminal) {
        ioctl(ends.input.get(), TIOCSCTTY, 0);
    }
    const int input = ends.input.get();
    const int output = request.terminal ? input : ends.output.get();
    const int error = ends.error.valid() ? ends.error.get() : output;
    // dup2 clears close-on-exec; the descriptors that were opened here are all above 2.
    if (dup2(input, 0) < 0 || dup2(output, 1) < 0 || dup2(error, 2) < 0) {
        _exit(126);
    }
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    setenv("TERM", request.terminalType.c_str(), 1);
    if (chdir(settings.directory.c_str()) != 0) {
        dprintf(2, "%s: %s\n", settings.directory.c_str(), strerror(errno));
        _exit(126);
    }
    if (request.command.empty()) {
        execl(settings.shell.c_str(), "sh", nullptr);
    } else {
        execl(settings.shell.c_str(), "sh", "-c", request.command.c_str(), nullptr);
    }
    dprintf(2, "%s: %s\n", settings.shell.c_str(), strerror(errno));
    _exit(127);
}

}  // namespace

Result<ShellProcess> startShellProcess(const ShellSettings& settings, const ShellRequest& request) {
    ShellProcess process;
    ChildEnds ends;
    if (request.terminal) {
        HALYARD_RETURN_IF_ERROR(makeTerminal(process, ends));
    } else {
        HALYARD_RETURN_IF_ERROR(makePipes(request.packets, process, ends));
    }
    process.pid = fork();
    if (process.pid < 0) {
        return systemFailure("fork");
    }
    if (process.pid == 0) {
        runChild(settings, request, ends);
    }
    return process;
}

}  // namespace halyard::adbd
