// SPDX-License-Identifier: Apache-2.0

#include "harness/device/adbd/daemon.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/programs/adbd/byte_peer.h"

namespace halyard::adbd {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::Packet;
using testing::packet;

// A client's socket. The daemon serves when the test says so, on the same thread.
class Client {
  public:
    explicit Client(uint16_t port) : mSocket(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address = {};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::connect(mSocket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)),
                  0);
    }
    void send(const std::string& bytes) {
        // It may have been hung up on meanwhile.
        static_cast<void>(::send(mSocket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
    }
    void connect() { send(packet(Command::CONNECT, kVersionWithoutChecksums, 65536)); }
    // The packets that have come so far.
    std::vector<Packet> read() {
        std::array<char, 65536> buffer;
        ssize_t size = 0;
        while ((size = recv(mSocket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT)) > 0) {
            mReceived.append(buffer.data(), static_cast<size_t>(size));
        }
        mHungUp = size == 0 || (errno != EAGAIN && errno != EINTR);
        return testing::takePackets(mReceived);
    }
    bool hungUp() {
        read();
        return mHungUp;
    }

  private:
    FileDescriptor mSocket;
    std::string mReceived;
    bool mHungUp = false;
};

class DaemonTest : public ::testing::Test {
  protected:
    // Every setting but those of the test is the daemon's own.
    void start(std::function<void(DaemonSettings&)> change = [](DaemonSettings&) {}) {
        DaemonSettings settings;
        change(settings);
        settings.address = "127.0.0.1";
        settings.port = 0;
        settings.shell.shell = "/bin/sh";
        Result<std::unique_ptr<Daemon>> daemon = Daemon::create(std::move(settings));
        ASSERT_TRUE(daemon.ok()) << daemon.status().toString();
        mDaemon = std::move(daemon).value();
    }
    std::unique_ptr<Client> client() {
        auto made = std::make_unique<Client>(mDaemon->port());
        serve(milliseconds(5));
        return made;
    }
    void serve(milliseconds time) {
        const auto end = steady_clock::now() + time;
        do {
            mDaemon->loop().runOnce(milliseconds(1));
        } while (steady_clock::now() < end);
    }
    // Whether it comes true while the daemon serves.
    template <typename Condition>
    bool soon(Condition condition) {
        const auto end = steady_clock::now() + std::chrono::seconds(20);
        while (steady_clock::now() < end) {
            if (condition()) {
                return true;
            }
            mDaemon->loop().runOnce(milliseconds(1));
        }
        return false;
    }
    std::unique_ptr<Client> onlineClient() {
        auto made = client();
        made->connect();
        EXPECT_TRUE(soon([&] { return !made->read().empty(); }));
        return made;
    }

    std::unique_ptr<Daemon> mDaemon;
};

constexpr milliseconds kShort{150};
constexpr size_t kPlaces = 32;

TEST_F(DaemonTest, HangsUpOnAClientThatSaysNothing) {
    start([](DaemonSettings& settings) { settings.patience = kShort; });
    auto silent = client();
    EXPECT_FALSE(silent->hungUp());
    EXPECT_TRUE(soon([&] { return silent->hungUp(); }));
    EXPECT_EQ(mDaemon->connections(), 0U);
}

TEST_F(DaemonTest, BytesNowAndThenDoNotBuyTime) {
    start([](DaemonSettings& settings) { settings.patience = kShort; });
    auto slow = client();
    const std::string bytes = packet(Command::CONNECT, kVersionWithoutChecksums, 65536);
    size_t sent = 0;
    EXPECT_TRUE(soon([&] {
        if (sent + 1 < bytes.size()) {
            slow->send(bytes.substr(sent++, 1));
            serve(milliseconds(20));
        }
        return slow->hungUp();
    }));
}

TEST_F(DaemonTest, HandshakesThatLeadNowhereDoNotBuyTime) {
    const AuthorizedKeys none;
    start([&](DaemonSettings& settings) {
        settings.keys = &none;
        settings.patience = kShort;
    });
    auto stranger = client();
    EXPECT_TRUE(soon([&] {
        stranger->connect();
        stranger->send(packet(Command::AUTH, 2, 0, std::string(256, 'x')));
        serve(milliseconds(20));
        return stranger->hungUp();
    }));
}

TEST_F(DaemonTest, AClientThatWasLetInMayBeSilent) {
    start([](DaemonSettings& settings) { settings.patience = kShort; });
    auto idle = onlineClient();
    serve(3 * kShort);
    EXPECT_FALSE(idle->hungUp());
    idle->send(packet(Command::OPEN, 1, 0, "sync:"));
    EXPECT_TRUE(soon([&] { return !idle->read().empty(); }));
}

TEST_F(DaemonTest, TheOldestSilentOneGivesWay) {
    start();
    auto first = onlineClient();
    std::vector<std::unique_ptr<Client>> silent;
    for (size_t i = 1; i < kPlaces; ++i) {
        silent.push_back(client());
    }
    EXPECT_EQ(mDaemon->connections(), kPlaces);
    auto newcomer = onlineClient();
    EXPECT_FALSE(newcomer->hungUp());
    EXPECT_FALSE(first->hungUp());
    EXPECT_TRUE(silent[0]->hungUp());
    EXPECT_FALSE(silent[1]->hungUp());
    EXPECT_EQ(mDaemon->connections(), kPlaces);
}

TEST_F(DaemonTest, AClientThatWasLetInDoesNotGiveWay) {
    start();
    std::vector<std::unique_ptr<Client>> online;
    for (size_t i = 0; i < kPlaces; ++i) {
        online.push_back(onlineClient());
    }
    auto newcomer = client();
    EXPECT_TRUE(soon([&] { return newcomer->hungUp(); }));
    for (const auto& one : online) {
        EXPECT_FALSE(one->hungUp());
    }
    // A place that is given up is free again.
    online.pop_back();
    serve(milliseconds(20));
    EXPECT_FALSE(onlineClient()->hungUp());
}

TEST_F(DaemonTest, TheOneThatHoldsMostIsClosed) {
    const std::string file =
            (std::filesystem::temp_directory_path() / ("large-" + std::to_string(getpid())))
                    .string();
    std::ofstream(file) << std::string(2'000'000, 'x');
    start([](DaemonSettings& settings) { settings.mostQueued = 6'000'000; });
    auto honest = onlineClient();
    auto hog = onlineClient();
    const auto receive = [&](Client& client, uint32_t id) {
        client.send(packet(Command::OPEN, id, 0, "sync:"));
        uint32_t stream = 0;
        EXPECT_TRUE(soon([&] {
            for (const Packet& one : client.read()) {
                stream = one.is(Command::OKAY) && one.header.arg1 == id ? one.header.arg0 : stream;
            }
            return stream != 0 || client.hungUp();
        }));
        const auto length = static_cast<uint32_t>(file.size());
        client.send(packet(Command::WRITE, id, stream,
                           "RECV" + std::string(reinterpret_cast<const char*>(&length), 4) + file));
    };
    receive(*honest, 1);
    for (uint32_t id = 1; id <= 60 && !hog->hungUp(); ++id) {
        receive(*hog, id);
        EXPECT_LT(mDaemon->queued(), 7'000'000U);
    }
    EXPECT_TRUE(soon([&] { return hog->hungUp(); }));
    EXPECT_TRUE(soon([&] { return mDaemon->connections() == 1; }));
    EXPECT_FALSE(honest->hungUp());
    honest->send(packet(Command::OPEN, 2, 0, "sync:"));
    EXPECT_TRUE(soon([&] {
        for (const Packet& one : honest->read()) {
            if (one.is(Command::OKAY) && one.header.arg1 == 2) {
                return true;
            }
        }
        return false;
    }));
    std::filesystem::remove(file);
}

}  // namespace
}  // namespace halyard::adbd
