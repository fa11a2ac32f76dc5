// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/programs/compiler_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "engine/backends/gpu/opencl/open_cl.h"
#include "engine/backends/gpu/programs/program_build.h"

namespace halyard::engine::gpu {
namespace {

// A compiler without work gives back what it holds, a context on the device among it.
constexpr int kIdleMilliseconds = 10'000;
// No text and no binary is larger.
constexpr uint32_t kMostBytes = uint32_t{1} << 28;
constexpr int kSocket = 3;  // of the keeper and of the compiler, which have no other descriptors

enum class Kind : uint32_t {
    BUILD,    // the source of a program
    ATTEMPT,  // the same
    DONE,     // what was asked for
    FAILED,   // words
};

struct Header {
    Kind kind = Kind::FAILED;
    uint32_t size = 0;
};

struct Message {
    Kind kind = Kind::FAILED;
    std::vector<uint8_t> bytes;
};

bool sendAll(int socket, const void* data, size_t size) {
    const auto* at = static_cast<const uint8_t*>(data);
    while (size > 0) {
        const ssize_t sent = send(socket, at, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent <= 0) {
            return false;
        }
        at += sent;
        size -= static_cast<size_t>(sent);
    }
    return true;
}

bool receiveAll(int socket, void* data, size_t size) {
    auto* at = static_cast<uint8_t*>(data);
    while (size > 0) {
        const ssize_t received = recv(socket, at, size, 0);
        if (received < 0 && errno == EINTR) {
            continue;
        }
        if (received <= 0) {
            return false;
        }
        at += received;
        size -= static_cast<size_t>(received);
    }
    return true;
}

bool sendMessage(int socket, Kind kind, std::span<const uint8_t> bytes) {
    const Header header = {.kind = kind, .size = static_cast<uint32_t>(bytes.size())};
    return bytes.size() <= kMostBytes && sendAll(socket, &header, sizeof header) &&
           sendAll(socket, bytes.data(), bytes.size());
}

bool sendFailure(int socket, std::string_view words) {
    return sendMessage(socket, Kind::FAILED,
                       {reinterpret_cast<const uint8_t*>(words.data()), words.size()});
}

// Nothing where the other side is gone.
std::optional<Message> receiveMessage(int socket) {
    Header header;
    if (!receiveAll(socket, &header, sizeof header) || header.size > kMostBytes) {
        return std::nullopt;
    }
    Message message = {.kind = header.kind, .bytes = {}};
    message.bytes.resize(header.size);
    if (!receiveAll(socket, message.bytes.data(), message.bytes.size())) {
        return std::nullopt;
    }
    return message;
}

// Whether something is to be read before the time is over: 1; 0: it is over; -1: failed.
int waitFor(int socket, int milliseconds) {
    pollfd polled = {.fd = socket, .events = POLLIN, .revents = 0};
    int ready = 0;
    do {
        ready = poll(&polled, 1, milliseconds);
    } while (ready < 0 && errno == EINTR);
    return ready;
}

// A new process lets go of all that is its parent's, but for the socket.
void begin(int socket, const char* name) {
    dup2(socket, kSocket);
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; i < kSocket; ++i) {
        dup2(nothing, i);
    }
    const long most = std::min(sysconf(_SC_OPEN_MAX), 65536L);
    for (int i = kSocket + 1; i < most; ++i) {
        close(i);
    }
    prctl(PR_SET_NAME, name);
    // They end when their socket does.
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
}

[[noreturn]] void compile(const DeviceChoice& choice) {
    const Result<std::shared_ptr<const Device>> device = Device::open(choice);
    while (const std::optional<Message> request = receiveMessage(kSocket)) {
        if (!device.ok()) {
            sendFailure(kSocket, device.status().message());
            continue;
        }
        const std::string source(request->bytes.begin(), request->bytes.end());
        if (request->kind == Kind::ATTEMPT) {
            const Result<int32_t> number = attemptSource(**device, source);
            if (number.ok()) {
                const auto bytes = std::as_bytes(std::span(&*number, 1));
                sendMessage(kSocket, Kind::DONE,
                            {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
            } else {
                sendFailure(kSocket, number.status().message());
            }
            continue;
        }
        const Result<ProgramHandle> program = buildFromSource(**device, source);
        if (!program.ok()) {
            sendFailure(kSocket, program.status().message());
            continue;
        }
        sendMessage(kSocket, Kind::DONE, binaryOf(**device, program->get()));
    }
    _exit(0);
}

// Forks a process that does work(socket), and never returns. Its number and this side's socket.
template <typename Work>
std::pair<pid_t, int> forkWith(const char* name, Work work) {
    std::array<int, 2> sockets = {-1, -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0) {
        return {-1, -1};
    }
    const pid_t pid = fork();
    if (pid == 0) {
        begin(sockets[1], name);
        work();
        _exit(0);
    }
    close(sockets[1]);
    if (pid < 0) {
        close(sockets[0]);
        return {-1, -1};
    }
    return {pid, sockets[0]};
}

// Whether there is such a library, as a process that ends at once finds it: this one is to load
// nothing.
bool loadsElsewhere(const OpenClPaths& paths) {
    const pid_t pid = fork();
    if (pid == 0) {
        _exit(OpenCl::loadsAny(paths) ? 0 : 1);
    }
    int status = 0;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    // One that dies of it says nothing of what becomes of the next.
    return pid < 0 || !WIFEXITED(status) || WEXITSTATUS(status) == 0;
}

class Keeper {
  public:
    Keeper(const DeviceChoice& choice, std::chrono::milliseconds longest)
        : mChoice(choice), mLongest(static_cast<int>(longest.count())) {}

    [[noreturn]] void keep() {
        while (true) {
            if (waitFor(kSocket, mCompiler > 0 ? kIdleMilliseconds : -1) == 0) {
                endCompiler();
                continue;
            }
            const std::optional<Message> request = receiveMessage(kSocket);
            if (!request.has_value()) {
                endCompiler();
                _exit(0);
            }
            const std::string failure = answer(*request);
            if (!failure.empty()) {
                sendFailure(kSocket, failure);
            }
        }
    }

  private:
    // Has the request answered; otherwise says why not.
    std::string answer(const Message& request) {
        if (mCompiler <= 0) {
            std::tie(mCompiler, mToCompiler) =
                    forkWith("opencl compiler", [this] { compile(mChoice); });
        }
        if (mCompiler <= 0) {
            return "there is no process for the compiler";
        }
        if (!sendMessage(mToCompiler, request.kind, request.bytes)) {
            return "the compiler " + endCompiler();
        }
        if (waitFor(mToCompiler, mLongest) == 0) {
            endCompiler();
            return "the compiler took longer than " + std::to_string(mLongest) + " ms";
        }
        const std::optional<Message> message = receiveMessage(mToCompiler);
        if (!message.has_value()) {
            return "the compiler " + endCompiler();
        }
        sendMessage(kSocket, message->kind, message->bytes);
        if (request.kind == Kind::ATTEMPT && message->kind == Kind::FAILED) {
            // Its context may be of no use any more.
            endCompiler();
        }
        return "";
    }

    // How it has come to its end, unless it does now.
    std::string endCompiler() {
        if (mCompiler <= 0) {
            return "";
        }
        int status = 0;
        // One that has closed its socket is about to die by itself.
        usleep(100'000);
        if (waitpid(mCompiler, &status, WNOHANG) == 0) {
            kill(mCompiler, SIGKILL);
            waitpid(mCompiler, &status, 0);
        }
        close(mToCompiler);
        mCompiler = -1;
        return WIFSIGNALED(status) ? "died of signal " + std::to_string(WTERMSIG(status))
                                   : "ended by itself";
    }

    const DeviceChoice& mChoice;
    const int mLongest;
    pid_t mCompiler = -1;
    int mToCompiler = -1;
};

}  // namespace

Result<std::unique_ptr<CompilerProcess>> CompilerProcess::start(const DeviceChoice& choice,
                                                                std::chrono::milliseconds longest) {
    std::array<int, 2> sockets = {-1, -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0) {
        return Status(StatusCode::UNAVAILABLE, std::string("socketpair(): ") + strerror(errno));
    }
    FileDescriptor own(sockets[0]);
    FileDescriptor other(sockets[1]);
    // A grandchild is init's child: the driver need not wait for it when system calls are filtered.
    const pid_t pid = fork();
    if (pid == 0) {
        if (fork() != 0) {
            _exit(0);
        }
        // Signals to the driver's group, to stop it or to end it, are not meant for it.
        setsid();
        begin(other.get(), "opencl keeper");
        const uint8_t isNeeded = loadsElsewhere(choice.paths()) ? 1 : 0;
        sendAll(kSocket, &isNeeded, sizeof isNeeded);
        if (isNeeded == 0) {
            _exit(0);
        }
        Keeper(choice, longest).keep();
    }
    if (pid < 0) {
        return Status(StatusCode::UNAVAILABLE, std::string("fork(): ") + strerror(errno));
    }
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    other.reset();
    // Not before it has let go of this process's files: a reader of them waits for their end.
    uint8_t isNeeded = 0;
    if (!receiveAll(own.get(), &isNeeded, sizeof isNeeded)) {
        return Status(StatusCode::UNAVAILABLE, "the process for the compiler has ended");
    }
    if (isNeeded == 0) {
        return std::unique_ptr<CompilerProcess>();
    }
    return std::make_unique<CompilerProcess>(std::move(own));
}

namespace {

Result<std::vector<uint8_t>> ask(int socket, Kind wish, const std::string& source) {
    const std::span text(reinterpret_cast<const uint8_t*>(source.data()), source.size());
    std::optional<Message> answer;
    if (sendMessage(socket, wish, text)) {
        answer = receiveMessage(socket);
    }
    if (!answer.has_value()) {
        return internalError("the process that keeps the compiler is gone");
    }
    if (answer->kind != Kind::DONE) {
        return internalError(std::string(answer->bytes.begin(), answer->bytes.end()));
    }
    return std::move(answer->bytes);
}

}  // namespace

Result<std::vector<uint8_t>> CompilerProcess::build(const std::string& source) {
    const std::lock_guard lock(mMutex);
    return ask(mSocket.get(), Kind::BUILD, source);
}

Result<std::vector<uint8_t>> CompilerProcess::build(
        std::span<const std::unique_ptr<CompilerProcess>> processes, const std::string& source) {
    for (const std::unique_ptr<CompilerProcess>& process : processes) {
        if (const std::unique_lock lock(process->mMutex, std::try_to_lock); lock.owns_lock()) {
            return ask(process->mSocket.get(), Kind::BUILD, source);
        }
    }
    return processes.back()->build(source);
}

Result<int32_t> CompilerProcess::attempt(const std::string& source) {
    const std::lock_guard lock(mMutex);
    HALYARD_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes,
                             ask(mSocket.get(), Kind::ATTEMPT, source));
    int32_t number = 0;
    if (bytes.size() != sizeof number) {
        return internalError("an attempt has no number");
    }
    std::memcpy(&number, bytes.data(), sizeof number);
    return number;
}

}  // namespace halyard::engine::gpu
