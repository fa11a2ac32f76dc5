// SPDX-License-Identifier: Apache-2.0

#include "harness/device/adbd/shell_service.h"

#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

namespace halyard::adbd {

namespace {

// The packets of shell_v2: a byte that says what follows, a length, the bytes.
enum class PacketId : uint8_t {
    STDIN = 0,
    STDOUT = 1,
    STDERR = 2,
    EXIT = 3,
    CLOSE_STDIN = 4,
    WINDOW_SIZE = 5,  // "rows x columns, width x height" in digits: 24x80,640x480
};
constexpr size_t kPacketHead = 5;
constexpr size_t kLongestWindowSize = 64;

class ShellService : public Service {
  public:
    ShellService(EventLoop& loop, ChildProcesses& children, const ShellRequest& request,
                 ShellProcess process, Stream& stream)
        : mLoop(loop),
          mChildren(children),
          mPackets(request.packets),
          mTerminal(request.terminal),
          mPid(process.pid),
          mStream(stream),
          mInput{std::move(process.input), PacketId::STDIN},
          mOutput{std::move(process.output), PacketId::STDOUT},
          mError{std::move(process.error), PacketId::STDERR} {}

    ~ShellService() override {
        for (Pipe* pipe : {&mInput, &mOutput, &mError}) {
            shut(*pipe);
        }
        mChildren.release(mPid, !mFinished);
    }

    Status start() {
        mChildren.watch(mPid, [this](int status) {
            mExitStatus = status;
            finishIfDone();
        });
        HALYARD_RETURN_IF_ERROR(watchOutput(mOutput));
        HALYARD_RETURN_IF_ERROR(watchOutput(mError));
        return {};
    }

    size_t onInput(std::span<const uint8_t> bytes) override {
        return mPackets ? takePackets(bytes) : feed(bytes);
    }

    bool wantsMore() const override { return mInput.watch == EventLoop::kNoWatch; }

    void onRoom() override {
        for (Pipe* pipe : {&mOutput, &mError}) {
            if (!watchOutput(*pipe).ok()) {
                shut(*pipe);
            }
        }
        finishIfDone();
    }

  private:
    struct Pipe {
        FileDescriptor descriptor;
        PacketId id;
        EventLoop::WatchId watch = EventLoop::kNoWatch;
    };

    Status watchOutput(Pipe& pipe) {
        if (pipe.descriptor.valid() && pipe.watch == EventLoop::kNoWatch) {
            HALYARD_ASSIGN_OR_RETURN(pipe.watch,
                                     mLoop.watch(pipe.descriptor.get(), EPOLLIN,
                                                 [this, &pipe](uint32_t) { drain(pipe); }));
        }
        return {};
    }

    // Hang-ups and errors can't be masked, so a descriptor that must wait is not watched at all.
    void unwatch(Pipe& pipe) { mLoop.unwatch(std::exchange(pipe.watch, EventLoop::kNoWatch)); }

    void shut(Pipe& pipe) {
        unwatch(pipe);
        pipe.descriptor.reset();
    }

    // ---- from the process to the client ---------------------------------------------------------

    void drain(Pipe& pipe) {
        const size_t room = mStream.room();
        if (room <= kPacketHead) {
            unwatch(pipe);  // until onRoom()
            return;
        }
        std::array<uint8_t, 32768> buffer;
        const size_t most = std::min(buffer.size(), room - kPacketHead);
        const ssize_t size = read(pipe.descriptor.get(), buffer.data(), most);
        if (size > 0) {
            deliver(pipe.id, std::span(buffer).first(static_cast<size_t>(size)));
        } else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
            // A terminal whose last user is gone reports EIO.
            shut(pipe);
            finishIfDone();
        }
    }

    void deliver(PacketId id, std::span<const uint8_t> bytes) {
        if (mPackets) {
            std::array<uint8_t, kPacketHead> head = {static_cast<uint8_t>(id)};
            const auto length = static_cast<uint32_t>(bytes.size());
            memcpy(head.data() + 1, &length, sizeof(length));
            mStream.write(head);
        }
        mStream.write(bytes);
    }

    void finishIfDone() {
        if (mFinished || !mExitStatus.has_value() || mOutput.descriptor.valid() ||
            mError.descriptor.valid()) {
            return;
        }
        if (mPackets) {
            const std::array<uint8_t, 1> status = {static_cast<uint8_t>(*mExitStatus)};
            deliver(PacketId::EXIT, status);
        }
        mFinished = true;
        mStream.finish();
    }

    // ---- from the client to the process ---------------------------------------------------------

    // Writes what the pipe takes; input for a process that reads no more is dropped.
    size_t feed(std::span<const uint8_t> bytes) {
        size_t written = 0;
        while (written < bytes.size() && mInput.descriptor.valid()) {
            const ssize_t size =
                    write(mInput.descriptor.get(), bytes.data() + written, bytes.size() - written);
            if (size > 0) {
                written += static_cast<size_t>(size);
            } else if (errno == EAGAIN) {
                if (waitForInputRoom()) {
                    return written;
                }
                shut(mInput);
            } else if (errno != EINTR) {
                shut(mInput);
            }
        }
        return bytes.size();
    }

    bool waitForInputRoom() {
        if (mInput.watch == EventLoop::kNoWatch) {
            Result<EventLoop::WatchId> watch =
                    mLoop.watch(mInput.descriptor.get(), EPOLLOUT, [this](uint32_t) {
                        unwatch(mInput);
                        mStream.takeInput();
                    });
            if (!watch.ok()) {
                return false;
            }
            mInput.watch = *watch;
        }
        return true;
    }

    size_t takePackets(std::span<const uint8_t> bytes) {
        size_t taken = 0;
        while (taken < bytes.size()) {
            const std::span<const uint8_t> rest = bytes.subspan(taken);
            if (mInPacket == 0) {
                if (rest.size() < kPacketHead) {
                    break;
                }
                mPacketId = static_cast<PacketId>(rest[0]);
                memcpy(&mInPacket, rest.data() + 1, sizeof(mInPacket));
                taken += kPacketHead;
                if (mPacketId == PacketId::CLOSE_STDIN && !mTerminal) {
                    shut(mInput);
                }
                continue;
            }
            const size_t available = std::min<size_t>(rest.size(), mInPacket);
            const size_t used = takeBody(rest.first(available));
            mInPacket -= static_cast<uint32_t>(used);
            taken += used;
            if (used < available) {
                break;
            }
        }
        return taken;
    }

    // Part or all of the body of the packet at hand.
    size_t takeBody(std::span<const uint8_t> bytes) {
        switch (mPacketId) {
            case PacketId::STDIN:
                return feed(bytes);
            case PacketId::WINDOW_SIZE:
                mWindowSize.append(reinterpret_cast<const char*>(bytes.data()),
                                   std::min(bytes.size(), kLongestWindowSize - mWindowSize.size()));
                if (bytes.size() == mInPacket) {
                    setWindowSize(std::exchange(mWindowSize, {}));
                }
                return bytes.size();
            default:
                return bytes.size();
        }
    }

    void setWindowSize(const std::string& text) {
        winsize size = {};
        if (mTerminal && mOutput.descriptor.valid() &&
            sscanf(text.c_str(), "%4hux%4hu,%4hux%4hu", &size.ws_row, &size.ws_col, &size.ws_xpixel,
                   &size.ws_ypixel) == 4) {
            ioctl(mOutput.descriptor.get(), TIOCSWINSZ, &size);
        }
    }

    EventLoop& mLoop;
    ChildProcesses& mChildren;
    const bool mPackets;
    const bool mTerminal;
    const pid_t mPid;
    Stream& mStream;
    Pipe mInput;
    Pipe mOutput;
    Pipe mError;
    std::optional<int> mExitStatus;
    bool mFinished = false;
    PacketId mPacketId = PacketId::STDIN;
    uint32_t mInPacket = 0;  // bytes of the packet at hand that are still to come
    std::string mWindowSize;
};

}  // namespace

Result<ShellRequest> parseShellRequest(std::string_view destination) {
    const size_t colon = destination.find(':');
    if (colon == std::string_view::npos) {
        return invalidArgument("no colon");
    }
    ShellRequest request;
    request.command = destination.substr(colon + 1);
    std::string_view options = destination.substr(0, colon);
    if (options == "exec") {
        return request;
    }
    // Without a word on it, an interactive shell has a terminal and a command has none.
    request.terminal = request.command.empty();
    bool first = true;
    while (!options.empty()) {
        const std::string_view option = options.substr(0, options.find(','));
        options.remove_prefix(std::min(options.size(), option.size() + 1));
        if (first) {
            if (option != "shell") {
                return invalidArgument("not a shell");
            }
            first = false;
        } else if (option == "v2") {
            request.packets = true;
        } else if (option == "raw") {
            request.terminal = false;
        } else if (option == "pty") {
            request.terminal = true;
        } else if (option.starts_with("TERM=")) {
            request.terminalType = option.substr(5);
        } else {
            return invalidArgument("unknown shell option " + std::string(option));
        }
    }
    if (first) {
        return invalidArgument("not a shell");
    }
    return request;
}

Result<std::unique_ptr<Service>> openShell(EventLoop& loop, ChildProcesses& children,
                                           const ShellSettings& settings,
                                           const ShellRequest& request, Stream& stream) {
    HALYARD_ASSIGN_OR_RETURN(ShellProcess process, startShellProcess(settings, request));
    auto service =
            std::make_unique<ShellService>(loop, children, request, std::move(process), stream);
    HALYARD_RETURN_IF_ERROR(service->start());
    return std::unique_ptr<Service>(std::move(service));
}

}  // namespace halyard::adbd
