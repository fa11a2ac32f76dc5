// SPDX-License-Identifier: Apache-2.0
//
// A client's packets into adbd: handshake, streams, flow control, file transfer and shells. All of
// it happens on a thread whose root is an empty folder, so that transfers reach no file outside and
// there is no shell to run; without the right to that, streams only echo.

#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "harness/device/adbd/authorization.h"
#include "harness/device/adbd/child_processes.h"
#include "harness/device/adbd/connection.h"
#include "harness/device/adbd/shell_service.h"
#include "harness/device/adbd/sync_service.h"
#include "tests/fuzz/choices.h"
#include "tests/fuzz/finding.h"
#include "tests/fuzz/target.h"
#include "tests/programs/adbd/byte_peer.h"

namespace halyard::fuzz {
namespace {

using adbd::Command;

constexpr size_t kMostSteps = 48;
constexpr size_t kMostRounds = 64;  // of answers, one after the other
constexpr size_t kMostQueued = size_t{8} << 20;

class EchoService final : public adbd::Service {
  public:
    explicit EchoService(adbd::Stream& stream) : mStream(stream) {}
    size_t onInput(std::span<const uint8_t> bytes) override {
        const size_t taken = std::min(bytes.size(), mStream.room());
        mStream.write(bytes.first(taken));
        return taken;
    }
    bool wantsMore() const override { return mStream.room() > 0; }
    void onRoom() override { mStream.takeInput(); }

  private:
    adbd::Stream& mStream;
};

// A client's packets, one by one.
class Client {
  public:
    Client(adbd::testing::BytePeer& peer, Choices choices) : mPeer(peer), mChoices(choices) {}

    void run() {
        for (size_t step = 0; step < kMostSteps && !mChoices.empty(); ++step) {
            packet(step == 0);
            const std::string outgoing = std::exchange(mOutgoing, {});
            if (!mPeer.send(outgoing).ok() || !mPeer.connection->failure().ok()) {
                return;
            }
            require(mPeer.connection->queued() <= kMostQueued, "queues are bounded");
            if (mReads) {
                receive();
            }
        }
    }

  private:
    void receive() {
        for (size_t rounds = 0; rounds < kMostRounds; ++rounds) {
            std::string acknowledgements;
            for (const adbd::testing::Packet& packet : mPeer.take()) {
                if (packet.is(Command::WRITE) && mAcknowledges) {
                    acknowledgements += adbd::testing::packet(Command::OKAY, packet.header.arg1,
                                                              packet.header.arg0);
                }
            }
            if (acknowledgements.empty() || !mPeer.send(acknowledgements).ok()) {
                return;
            }
        }
    }

    std::string destination() {
        static constexpr std::array<std::string_view, 14> kDestinations = {
                "sync:",       "echo:",        "sync:",   "shell:",  "shell,v2,TERM=dumb,raw:ls",
                "exec:ls",     "shell,pty:",   "root:",   "remount", "shell,v2,pty,TERM=x:",
                "reboot:frob", "sync:\0trail", "shell,,", ""};
        if (mChoices.oneIn(8)) {
            const auto bytes = mChoices.take(mChoices.below(32));
            return {bytes.begin(), bytes.end()};
        }
        return std::string(mChoices.of(kDestinations));
    }

    // A message of the sync protocol, or the beginning of one.
    std::vector<uint8_t> syncMessage() {
        static constexpr std::array<std::string_view, 14> kIds = {
                "SEND", "DATA", "DONE", "RECV", "STAT", "LIST", "QUIT",
                "SND2", "RCV2", "STA2", "LST2", "LIS2", "OKAY", "FAIL"};
        static constexpr std::array<std::string_view, 10> kPaths = {
                "/a",        "/a,33188", "/d/b,33261",   "/l,41471", "",
                "/d/b,0777", "/",        "/../../etc/x", "/a,",      "/d/,99999999999"};
        std::vector<uint8_t> message;
        const auto word = [&](uint32_t value) {
            const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
            message.insert(message.end(), bytes, bytes + sizeof(value));
        };
        const auto text = [&](std::string_view words) {
            message.insert(message.end(), words.begin(), words.end());
        };
        const std::string_view id = mChoices.of(kIds);
        text(id);
        if (id == "DONE") {
            word(mChoices.number<uint32_t>());
        } else if (id == "DATA") {
            const auto bytes = mChoices.take(mChoices.below(80));
            word(static_cast<uint32_t>(mChoices.oneIn(8) ? mChoices.number<uint32_t>()
                                                         : bytes.size()));
            message.insert(message.end(), bytes.begin(), bytes.end());
        } else {
            const std::string_view path = mChoices.of(kPaths);
            word(static_cast<uint32_t>(mChoices.oneIn(16) ? mChoices.number<uint32_t>()
                                                          : path.size()));
            text(path);
            if (id == "SND2" || id == "RCV2") {
                text(id);
                word(static_cast<uint32_t>(0100644));
                word(static_cast<uint32_t>(mChoices.below(8)));
            }
        }
        return message;
    }

    // shell_v2: a kind, a length and so many bytes.
    std::vector<uint8_t> shellPacket() {
        std::vector<uint8_t> packet = {static_cast<uint8_t>(mChoices.below(7))};
        const auto bytes = mChoices.take(mChoices.below(40));
        const uint32_t length = mChoices.oneIn(8) ? mChoices.number<uint32_t>()
                                                  : static_cast<uint32_t>(bytes.size());
        const auto* word = reinterpret_cast<const uint8_t*>(&length);
        packet.insert(packet.end(), word, word + sizeof(length));
        packet.insert(packet.end(), bytes.begin(), bytes.end());
        return packet;
    }

    std::vector<uint8_t> payload() {
        std::vector<uint8_t> bytes;
        switch (mChoices.below(5)) {
            case 0: {
                const auto taken = mChoices.take(mChoices.below(64));
                return {taken.begin(), taken.end()};
            }
            case 1:
                return std::vector<uint8_t>(mChoices.below(70000), 'x');
            case 2:
                return shellPacket();
            default:
                for (size_t count = 1 + mChoices.below(4); count > 0; --count) {
                    const std::vector<uint8_t> message = syncMessage();
                    bytes.insert(bytes.end(), message.begin(), message.end());
                }
                return bytes;
        }
    }

    uint32_t id() {
        return mChoices.oneIn(16) ? mChoices.number<uint32_t>()
                                  : static_cast<uint32_t>(1 + mChoices.below(3));
    }

    void packet(bool first) {
        switch (first && !mChoices.oneIn(8) ? 0 : mChoices.below(11)) {
            case 0:
                send(Command::CONNECT, mChoices.oneIn(8) ? mChoices.number<uint32_t>() : 0x01000001,
                     mChoices.oneIn(8) ? mChoices.number<uint32_t>() : adbd::kLargestPayload, {});
                break;
            case 1:
                send(Command::AUTH, static_cast<uint32_t>(mChoices.below(5)), 0,
                     std::vector<uint8_t>(256, static_cast<uint8_t>(mChoices.below(256))));
                break;
            case 2:
            case 3: {
                const std::string name = destination();
                send(Command::OPEN, id(), 0, {name.begin(), name.end()});
                break;
            }
            case 4:
                send(Command::OKAY, id(), id(), {});
                break;
            case 5:
                send(Command::CLOSE, mChoices.oneIn(4) ? 0 : id(), id(), {});
                break;
            case 6: {
                const auto raw = mChoices.take(mChoices.below(64));
                mOutgoing.insert(mOutgoing.end(), raw.begin(), raw.end());
                break;
            }
            case 7:
                mAcknowledges = !mAcknowledges;
                break;
            case 8:
                mReads = !mReads;
                break;
            default:
                send(Command::WRITE, id(), id(), payload());
        }
    }

    void send(Command command, uint32_t arg0, uint32_t arg1, const std::vector<uint8_t>& payload) {
        mOutgoing += adbd::testing::packet(
                command, arg0, arg1,
                {reinterpret_cast<const char*>(payload.data()), payload.size()});
    }

    adbd::testing::BytePeer& mPeer;
    Choices mChoices;
    std::string mOutgoing;
    bool mAcknowledges = true;
    bool mReads = true;
};

class Daemon {
  public:
    Daemon(bool jailed, bool authorizes)
        : mJailed(jailed),
          mPeer([this](std::string_view destination,
                       adbd::Stream& stream) { return open(destination, stream); },
                authorizes ? &mNoKeys : nullptr) {
        mChildren = adbd::ChildProcesses::create(*mPeer.loop).value();
    }
    ~Daemon() {
        mPeer.connection.reset();
        mChildren.reset();
        while (mStartsShells && waitpid(-1, nullptr, 0) > 0) {
        }
    }
    Daemon(const Daemon&) = delete;
    Daemon& operator=(const Daemon&) = delete;

    void serve(Choices choices) { Client(mPeer, choices).run(); }

  private:
    std::unique_ptr<adbd::Service> open(std::string_view destination, adbd::Stream& stream) {
        if (mJailed && destination == "sync:") {
            return adbd::openSync("", stream);
        }
        if (destination == "echo:") {
            return std::make_unique<EchoService>(stream);
        }
        const auto request = adbd::parseShellRequest(destination);
        if (!mJailed || !request.ok()) {
            return nullptr;
        }
        mStartsShells = true;
        auto shell = adbd::openShell(*mPeer.loop, *mChildren, {}, *request, stream);
        return shell.ok() ? std::move(*shell) : nullptr;
    }

    const bool mJailed;
    bool mStartsShells = false;
    const adbd::AuthorizedKeys mNoKeys;
    adbd::testing::BytePeer mPeer;
    std::unique_ptr<adbd::ChildProcesses> mChildren;
};

// Where the daemon runs.
class Jail {
  public:
    Jail() {
        // As the daemon does: a shell that has ended is told by the write.
        signal(SIGPIPE, SIG_IGN);
        mThread = std::thread([this] { serve(); });
    }

    void run(Choices choices) {
        std::unique_lock lock(mMutex);
        mChoices = choices;
        mWanted = true;
        mChanged.notify_all();
        mChanged.wait(lock, [this] { return !mWanted; });
    }

  private:
    static const std::string& folder() {
        static const std::string& kFolder =
                *new std::string("/tmp/halyard-fuzz-adbd-" + std::to_string(getpid()));
        return kFolder;
    }

    void serve() {
        const bool made = mkdir(folder().c_str(), 0700) == 0;
        std::atexit([] { rmdir(folder().c_str()); });
        const bool jailed =
                made && unshare(CLONE_FS) == 0 && chroot(folder().c_str()) == 0 && chdir("/") == 0;
        std::unique_lock lock(mMutex);
        for (;;) {
            mChanged.wait(lock, [this] { return mWanted; });
            const bool authorizes = mChoices.oneIn(8);
            Daemon(jailed, authorizes).serve(mChoices);
            if (jailed) {
                clear();
            }
            mWanted = false;
            mChanged.notify_all();
        }
    }

    // The next run finds what the first one found.
    static void clear() {
        std::error_code none;
        for (const auto& entry : std::filesystem::directory_iterator("/", none)) {
            std::filesystem::remove_all(entry.path(), none);
        }
    }

    std::mutex mMutex;
    std::condition_variable mChanged;
    Choices mChoices{{}};
    bool mWanted = false;
    std::thread mThread;
};

}  // namespace

void run(std::span<const uint8_t> bytes) {
    // Never destroyed: its thread outlives the last run.
    static Jail& jail = *new Jail;
    jail.run(Choices(bytes));
}

}  // namespace halyard::fuzz
