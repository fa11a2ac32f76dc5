// SPDX-License-Identifier: Apache-2.0

#include "harness/device/adbd/daemon.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "engine/base/log.h"
#include "harness/device/adbd/sync_service.h"

namespace halyard::adbd {

namespace {

constexpr ptrdiff_t kMostConnections = 32;

// Only what is served here: with a feature that is missing, clients fall back to older ways.
constexpr std::string_view kBanner =
        "device::ro.product.name=halyard;ro.product.model=Halyard;ro.product.device=halyard;"
        "features=shell_v2,stat_v2,ls_v2,fixed_push_mkdir";

// Answers with a line of text and ends.
class AnswerService : public Service {
  public:
    AnswerService(std::string text, Stream& stream) : mText(std::move(text)), mStream(stream) {}
    size_t onInput(std::span<const uint8_t> bytes) override { return bytes.size(); }
    bool wantsMore() const override { return true; }
    void onRoom() override {
        const std::string text = std::exchange(mText, {});
        mStream.write({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
        mStream.finish();
    }

  private:
    std::string mText;
    Stream& mStream;
};

std::string rebootDevice(std::string_view how) {
    sync();
    const int command = how == "poweroff" ? RB_POWER_OFF : RB_AUTOBOOT;
    return reboot(command) == 0 ? "" : std::string("reboot failed: ") + strerror(errno) + "\n";
}

Status systemFailure(std::string_view call) {
    return internalError(std::string(call) + ": " + strerror(errno));
}

}  // namespace

Daemon::Daemon(DaemonSettings settings)
    : mSettings(std::move(settings)),
      mQueued(mSettings.mostQueued, [this] { mLoop->defer([this] { onTooMuchQueued(); }); }) {
    mConnectionSettings.banner = kBanner;
    mConnectionSettings.keys = mSettings.keys;
    mConnectionSettings.openService = [this](std::string_view destination, Stream& stream) {
        return openService(destination, stream);
    };
}

// The connections go first: their services release children and watches.
Daemon::~Daemon() {
    mConnections.clear();
}

Result<std::unique_ptr<Daemon>> Daemon::create(DaemonSettings settings) {
    std::unique_ptr<Daemon> daemon(new Daemon(std::move(settings)));
    HALYARD_ASSIGN_OR_RETURN(daemon->mLoop, EventLoop::create());
    HALYARD_ASSIGN_OR_RETURN(daemon->mChildren, ChildProcesses::create(*daemon->mLoop));
    HALYARD_RETURN_IF_ERROR(daemon->listen());
    return daemon;
}

Status Daemon::listen() {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(mSettings.port);
    if (inet_pton(AF_INET, mSettings.address.c_str(), &address.sin_addr) != 1) {
        return invalidArgument(mSettings.address + " is not an IPv4 address");
    }
    mListener.reset(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!mListener.valid()) {
        return systemFailure("socket");
    }
    const int on = 1;
    setsockopt(mListener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    socklen_t size = sizeof(address);
    if (bind(mListener.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) {
        return systemFailure("bind");
    }
    if (::listen(mListener.get(), SOMAXCONN) != 0) {
        return systemFailure("listen");
    }
    if (getsockname(mListener.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
        return systemFailure("getsockname");
    }
    mPort = ntohs(address.sin_port);
    openSpare();
    return mLoop->watch(mListener.get(), EPOLLIN, [this](uint32_t) { onClient(); }).status();
}

void Daemon::openSpare() {
    mSpare.reset(open("/dev/null", O_RDONLY | O_CLOEXEC));
}

void Daemon::onClient() {
    FileDescriptor client(accept4(mListener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!client.valid() && (errno == EMFILE || errno == ENFILE)) {
        // Left in the queue, it would keep the loop busy: the spare descriptor takes it off.
        mSpare.reset();
        client.reset(accept4(mListener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        client.reset();
        openSpare();
        log(LogLevel::WARNING, "out of file descriptors: a connection was turned away");
    }
    if (!client.valid()) {
        return;
    }
    if (!makePlace()) {
        log(LogLevel::WARNING, "too many connections: one was turned away");
        return;
    }
    // Requests are small and waited for; keep-alive finds clients that vanished without a word.
    const int on = 1;
    setsockopt(client.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(client.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    const auto place = mConnections.emplace(mConnections.end());
    *place = std::make_unique<ClientSocket>(*mLoop, std::move(client), mConnectionSettings, mQueued,
                                            mSettings.patience,
                                            [this, place] { mConnections.erase(place); });
}

bool Daemon::makePlace() {
    const auto isOpen = [](const auto& connection) { return !connection->closed(); };
    if (std::count_if(mConnections.begin(), mConnections.end(), isOpen) < kMostConnections) {
        return true;
    }
    // Clients that were let in stay.
    const auto oldest = std::find_if(
            mConnections.begin(), mConnections.end(),
            [&](const auto& connection) { return isOpen(connection) && !connection->online(); });
    if (oldest == mConnections.end()) {
        return false;
    }
    (*oldest)->close("it gives way to a newer one");
    return true;
}

void Daemon::onTooMuchQueued() {
    size_t queued = 0;
    ClientSocket* largest = nullptr;
    for (const auto& connection : mConnections) {
        if (!connection->closed()) {
            queued += connection->queued();
            if (largest == nullptr || connection->queued() > largest->queued()) {
                largest = connection.get();
            }
        }
    }
    if (queued > mSettings.mostQueued) {
        log(LogLevel::WARNING, "too much is queued: the connection that holds most is closed");
        largest->close("it holds too much");
        onTooMuchQueued();
    }
}

std::unique_ptr<Service> Daemon::openService(std::string_view destination, Stream& stream) {
    if (destination == "sync:") {
        return openSync(mSettings.root, stream);
    }
    const size_t colon = destination.find(':');
    const std::string_view name = destination.substr(0, colon);
    const std::string_view argument =
            colon == std::string_view::npos ? std::string_view() : destination.substr(colon + 1);
    if (name == "shell" || name == "exec" || name.starts_with("shell,")) {
        Result<ShellRequest> request = parseShellRequest(destination);
        if (!request.ok()) {
            log(LogLevel::WARNING, request.status().message());
            return nullptr;
        }
        Result<std::unique_ptr<Service>> service =
                openShell(*mLoop, *mChildren, mSettings.shell, *request, stream);
        if (!service.ok()) {
            log(LogLevel::WARNING, service.status().message());
            return nullptr;
        }
        return std::move(service).value();
    }
    std::string answer;
    if (name == "reboot") {
        answer = mSettings.allowReboot ? rebootDevice(argument)
                                       : "reboot is not allowed on this device\n";
    } else if (name == "root") {
        answer = geteuid() == 0 ? "adbd is already running as root\n"
                                : "adbd cannot run as root on this device\n";
    } else if (name == "unroot") {
        answer = geteuid() == 0 ? "adbd cannot run as another user on this device\n"
                                : "adbd not running as root\n";
    } else if (name == "remount") {
        answer = "remount is not supported on this device\n";
    } else if (name == "tcpip" || name == "usb") {
        answer = "adbd serves only TCP port " + std::to_string(mPort) + " on this device\n";
    } else {
        return nullptr;
    }
    return std::make_unique<AnswerService>(std::move(answer), stream);
}

}  // namespace halyard::adbd
