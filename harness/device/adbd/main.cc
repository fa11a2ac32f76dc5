// SPDX-License-Identifier: Apache-2.0
//
// adbd for the virtual device: speaks the Android Debug Bridge protocol over TCP.

#include <fcntl.h>
#include <getopt.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/log.h"
#include "harness/device/adbd/daemon.h"

namespace halyard::adbd {

namespace {

constexpr const char* kUsage =
        "Usage: adbd [options]\n"
        "Serves adb clients over TCP.\n"
        "  --port N          port to listen on; 0: any free one (default 5555)\n"
        "  --listen ADDRESS  IPv4 address to listen on (default 0.0.0.0, with --root 127.0.0.1)\n"
        "  --shell PATH      shell that runs commands (default /system/bin/sh)\n"
        "  --root DIR        folder that stands for / in transfers and where commands start\n"
        "  --auth-keys FILE  let in only clients with one of these RSA keys (adb_keys format)\n"
        "  --allow-reboot    let clients reboot the machine\n"
        "  -v, --verbose     log more\n"
        "  -h, --help        print this\n"
        "Prints \"listening on ADDRESS:PORT\" once it serves.\n";

Result<std::string> readFile(const std::string& path) {
    FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::string text;
    std::array<char, 4096> buffer;
    ssize_t size = 0;
    while (file.valid() && (size = read(file.get(), buffer.data(), buffer.size())) > 0) {
        text.append(buffer.data(), static_cast<size_t>(size));
    }
    if (!file.valid() || size < 0) {
        return invalidArgument(path + ": " + strerror(errno));
    }
    return text;
}

Result<AuthorizedKeys> readKeys(const std::string& path) {
    HALYARD_ASSIGN_OR_RETURN(const std::string text, readFile(path));
    Result<AuthorizedKeys> keys = AuthorizedKeys::parse(text);
    if (!keys.ok()) {
        return keys.status().withContext(path);
    }
    return keys;
}

int fail(std::string_view message) {
    fprintf(stderr, "adbd: %.*s\n", static_cast<int>(message.size()), message.data());
    return 1;
}

// SIGTERM and SIGINT end the loop, so that services are ended in order.
Result<FileDescriptor> endOnSignals(EventLoop& loop) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    FileDescriptor descriptor(signalfd(-1, &signals, SFD_CLOEXEC));
    if (!descriptor.valid()) {
        return internalError("signalfd failed");
    }
    HALYARD_RETURN_IF_ERROR(
            loop.watch(descriptor.get(), EPOLLIN, [&loop](uint32_t) { loop.stop(); }).status());
    return descriptor;
}

int run(int argc, char** argv) {
    enum Option : int { PORT = 256, LISTEN, SHELL, ROOT, AUTH_KEYS, ALLOW_REBOOT };
    constexpr std::array<option, 9> kOptions = {{
            {"port", required_argument, nullptr, PORT},
            {"listen", required_argument, nullptr, LISTEN},
            {"shell", required_argument, nullptr, SHELL},
            {"root", required_argument, nullptr, ROOT},
            {"auth-keys", required_argument, nullptr, AUTH_KEYS},
            {"allow-reboot", no_argument, nullptr, ALLOW_REBOOT},
            {"verbose", no_argument, nullptr, 'v'},
            {"help", no_argument, nullptr, 'h'},
            {},
    }};
    DaemonSettings settings;
    std::optional<std::string> address;
    std::optional<AuthorizedKeys> keys;
    int choice = 0;
    while ((choice = getopt_long(argc, argv, "vh", kOptions.data(), nullptr)) != -1) {
        switch (choice) {
            case PORT: {
                const char* end = optarg + strlen(optarg);
                const auto parsed = std::from_chars(optarg, end, settings.port);
                if (parsed.ec != std::errc() || parsed.ptr != end) {
                    return fail(std::string("not a port: ") + optarg);
                }
                break;
            }
            case LISTEN:
                address = optarg;
                break;
            case SHELL:
                settings.shell.shell = optarg;
                break;
            case ROOT:
                settings.root = optarg;
                settings.shell.directory = optarg;
                break;
            case AUTH_KEYS: {
                Result<AuthorizedKeys> read = readKeys(optarg);
                if (!read.ok()) {
                    return fail(read.status().message());
                }
                keys = std::move(read).value();
                settings.keys = &*keys;
                break;
            }
            case ALLOW_REBOOT:
                settings.allowReboot = true;
                break;
            case 'v':
                setLogThreshold(LogLevel::VERBOSE);
                break;
            case 'h':
                fputs(kUsage, stdout);
                return 0;
            default:
                fputs(kUsage, stderr);
                return 1;
        }
    }
    if (optind != argc) {
        return fail(std::string("unexpected argument ") + argv[optind]);
    }
    // On a host, only the host itself should get a shell.
    settings.address = address.value_or(settings.root.empty() ? "0.0.0.0" : "127.0.0.1");

    // A process that ends without reading its input must not take the daemon along.
    signal(SIGPIPE, SIG_IGN);
    // Nor must a file that grows past a limit: the write fails, and the client is told.
    signal(SIGXFSZ, SIG_IGN);
    Result<std::unique_ptr<Daemon>> daemon = Daemon::create(settings);
    if (!daemon.ok()) {
        return fail(daemon.status().message());
    }
    Result<FileDescriptor> signals = endOnSignals((*daemon)->loop());
    if (!signals.ok()) {
        return fail(signals.status().message());
    }
    printf("listening on %s:%u\n", settings.address.c_str(), (*daemon)->port());
    fflush(stdout);
    (*daemon)->run();
    return 0;
}

}  // namespace

}  // namespace halyard::adbd

int main(int argc, char** argv) {
    return halyard::adbd::run(argc, argv);
}
