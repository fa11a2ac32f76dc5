// SPDX-License-Identifier: Apache-2.0

#include "harness/device/adbd/connection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "harness/device/adbd/sync_service.h"
#include "tests/programs/adbd/byte_peer.h"

namespace halyard::adbd {
namespace {

using testing::BytePeer;
using testing::Packet;
using testing::packet;

constexpr size_t kMebibyte = size_t{1} << 20;

// Has more to say than anybody wants to hear.
class TalkativeService : public Service {
  public:
    explicit TalkativeService(Stream& stream) : mStream(stream) {}
    size_t onInput(std::span<const uint8_t> bytes) override { return bytes.size(); }
    bool wantsMore() const override { return true; }
    void onRoom() override {
        while (mStream.room() > 0) {
            mStream.write(std::vector<uint8_t>(std::min<size_t>(mStream.room(), 65536)));
        }
    }

  private:
    Stream& mStream;
};

// Takes everything and says nothing.
class SilentService : public Service {
  public:
    size_t onInput(std::span<const uint8_t> bytes) override { return bytes.size(); }
    bool wantsMore() const override { return true; }
    void onRoom() override {}
};

// Takes nothing, and notes when it is told of room.
class BusyService : public Service {
  public:
    explicit BusyService(int& roomCalls) : mRoomCalls(roomCalls) {}
    size_t onInput(std::span<const uint8_t> /*bytes*/) override { return 0; }
    bool wantsMore() const override { return false; }
    void onRoom() override { ++mRoomCalls; }

  private:
    int& mRoomCalls;
};

std::unique_ptr<Service> talkative(std::string_view /*destination*/, Stream& stream) {
    return std::make_unique<TalkativeService>(stream);
}

std::unique_ptr<Service> fileTransfer(std::string_view /*destination*/, Stream& stream) {
    return openSync("", stream);
}

size_t countOf(const std::vector<Packet>& packets, Command command) {
    return static_cast<size_t>(
            std::count_if(packets.begin(), packets.end(),
                          [command](const Packet& one) { return one.is(command); }));
}

std::string syncRequest(const char* name, const std::string& path) {
    const auto length = static_cast<uint32_t>(path.size());
    return name + std::string(reinterpret_cast<const char*>(&length), 4) + path;
}

TEST(ConnectionTest, AcknowledgementsAheadOfTimeDoNotPileUpOutput) {
    BytePeer peer(talkative);
    peer.connect(16'384);
    const uint32_t stream = peer.open(1, "talk:");
    ASSERT_NE(stream, 0U);
    // One socket buffer full of them: each may have the stream send a whole payload.
    constexpr size_t kCount = 65536 / kHeaderSize;
    std::string okays;
    for (size_t i = 0; i < kCount; ++i) {
        okays += packet(Command::OKAY, 1, stream);
    }
    ASSERT_TRUE(peer.send(okays).ok());
    EXPECT_FALSE(peer.connection->wantsMore());
    EXPECT_LT(peer.queued.bytes(), 5 * kMebibyte);
    // None is lost: the client gets a payload for each, as it reads.
    EXPECT_EQ(countOf(peer.take(), Command::WRITE), kCount);
    EXPECT_TRUE(peer.connection->wantsMore());
}

TEST(ConnectionTest, StreamsThatWaitForTheClientTakeTurns) {
    std::vector<Stream*> streams;
    BytePeer peer([&](std::string_view, Stream& stream) {
        streams.push_back(&stream);
        return std::make_unique<SilentService>();
    });
    peer.connect();
    constexpr uint32_t kStreams = 30;
    for (uint32_t id = 1; id <= kStreams; ++id) {
        ASSERT_NE(peer.open(id, "silent:"), 0U);
    }
    // All have something to send at once, and none of it is acknowledged.
    for (Stream* stream : streams) {
        stream->write(std::vector<uint8_t>(kLargestPayload));
    }
    EXPECT_LT(peer.connection->outgoing().size(), 2 * kMebibyte);
    std::set<uint32_t> heard;
    for (const Packet& one : peer.take()) {
        ASSERT_TRUE(one.is(Command::WRITE));
        EXPECT_TRUE(heard.insert(one.header.arg1).second);
    }
    EXPECT_EQ(heard.size(), kStreams);
}

TEST(ConnectionTest, ManyStreamsOpenedAtOnceStayBounded) {
    BytePeer peer(talkative);
    peer.connect();
    std::string opens;
    constexpr uint32_t kStreams = 200;
    for (uint32_t id = 1; id <= kStreams; ++id) {
        opens += packet(Command::OPEN, id, 0, "talk:");
    }
    ASSERT_TRUE(peer.send(opens).ok());
    EXPECT_LT(peer.connection->outgoing().size(), 2 * kMebibyte);
    EXPECT_EQ(countOf(peer.take(), Command::WRITE), kStreams);
}

TEST(ConnectionTest, AnAcknowledgementThatNothingWaitsForIsIgnored) {
    int roomCalls = 0;
    BytePeer peer(
            [&](std::string_view, Stream&) { return std::make_unique<BusyService>(roomCalls); });
    peer.connect();
    const uint32_t stream = peer.open(1, "busy:");
    ASSERT_TRUE(peer.send(packet(Command::OKAY, 1, stream)).ok());
    EXPECT_EQ(roomCalls, 1);  // that of the start
}

TEST(ConnectionTest, SyncRequestsWaitUntilTheirAnswersAreRead) {
    BytePeer peer(fileTransfer);
    peer.connect();
    const uint32_t stream = peer.open(1, "sync:");
    ASSERT_NE(stream, 0U);
    // Each answer is six times its request, and the client reads none of them.
    std::string requests;
    constexpr size_t kRequests = 80'000;
    for (size_t i = 0; i < kRequests; ++i) {
        requests += syncRequest("STA2", "/");
    }
    for (size_t at = 0; at < requests.size(); at += 65536) {
        ASSERT_TRUE(peer.send(packet(Command::WRITE, 1, stream, requests.substr(at, 65536))).ok());
        EXPECT_LT(peer.queued.bytes(), 4 * kMebibyte);
    }
    size_t answered = 0;
    size_t acknowledged = 0;
    for (std::vector<Packet> got = peer.take(); !got.empty(); got = peer.take()) {
        for (const Packet& one : got) {
            acknowledged += one.is(Command::OKAY) ? 1 : 0;
            ASSERT_FALSE(one.is(Command::CLOSE));
            if (one.is(Command::WRITE)) {
                answered += one.payload.size();
                ASSERT_TRUE(peer.send(packet(Command::OKAY, 1, stream)).ok());
            }
        }
    }
    EXPECT_EQ(answered, kRequests * 72);
    EXPECT_GE(acknowledged, 1U);
}

TEST(ConnectionTest, AServiceThatTakesNothingIsSentNoMoreThanTheLimit) {
    int roomCalls = 0;
    BytePeer peer(
            [&](std::string_view, Stream&) { return std::make_unique<BusyService>(roomCalls); });
    peer.connect();
    const uint32_t stream = peer.open(1, "busy:");
    const std::string payload(kLargestPayload, 'x');
    size_t taken = 0;
    for (; taken < 100; ++taken) {
        ASSERT_TRUE(peer.send(packet(Command::WRITE, 1, stream, payload)).ok());
        const std::vector<Packet> answers = peer.take();
        EXPECT_EQ(countOf(answers, Command::OKAY), 0U);
        if (countOf(answers, Command::CLOSE) > 0) {
            break;
        }
    }
    EXPECT_EQ(taken, 4U);
    EXPECT_LT(peer.queued.bytes(), kMebibyte);  // what it had is gone with it
}

TEST(ConnectionTest, PacketsThatHadToWaitAreCheckedAllTheSame) {
    BytePeer peer(talkative);
    peer.connect();
    const uint32_t stream = peer.open(1, "talk:");
    std::string bytes;
    for (int i = 0; i < 100; ++i) {
        bytes += packet(Command::OKAY, 1, stream);
    }
    bytes += std::string(kHeaderSize, '!');
    ASSERT_TRUE(peer.send(bytes).ok());
    peer.take();
    EXPECT_FALSE(peer.connection->failure().ok());
}

TEST(ConnectionTest, ReadQueuesGiveTheirMemoryBack) {
    BytePeer peer(talkative);
    peer.connect();
    for (uint32_t id = 1; id <= 8; ++id) {
        const uint32_t stream = peer.open(id, "talk:");
        EXPECT_GT(peer.queued.bytes(), size_t{kLargestPayload});
        ASSERT_TRUE(peer.send(packet(Command::CLOSE, id, stream)).ok());
        peer.take();
    }
    EXPECT_LE(peer.queued.bytes(), 64 * 1024U);
}

TEST(ConnectionTest, TakesPacketsInPiecesOfAnySize) {
    BytePeer peer(talkative);
    const std::string bytes = packet(Command::CONNECT, kVersionWithChecksums, 4096, "host::") +
                              packet(Command::OPEN, 7, 0, "talk:");
    for (const char byte : bytes) {
        ASSERT_TRUE(peer.send({&byte, 1}).ok());
    }
    const std::vector<Packet> answers = peer.take();
    ASSERT_EQ(answers.size(), 3U);
    EXPECT_TRUE(answers[0].is(Command::CONNECT));
    EXPECT_TRUE(answers[1].is(Command::OKAY));
    EXPECT_EQ(answers[2].payload.size(), 4096U);
}

TEST(ConnectionTest, NothingIsServedBeforeTheHandshake) {
    const AuthorizedKeys none;
    for (const AuthorizedKeys* keys : {static_cast<const AuthorizedKeys*>(nullptr), &none}) {
        for (const Command command :
             {Command::OPEN, Command::OKAY, Command::WRITE, Command::CLOSE}) {
            BytePeer peer(talkative, keys);
            if (keys != nullptr) {
                peer.connect();
                EXPECT_FALSE(peer.connection->online());
            }
            EXPECT_FALSE(peer.send(packet(command, 1, 1, "talk:")).ok());
        }
    }
}

TEST(ConnectionTest, AWrongSignatureIsChallengedAnew) {
    const AuthorizedKeys none;
    BytePeer peer(talkative, &none);
    std::set<std::string> tokens;
    ASSERT_TRUE(peer.send(packet(Command::CONNECT, kVersionWithoutChecksums, 4096)).ok());
    for (int i = 0; i < 3; ++i) {
        const std::vector<Packet> answers = peer.take();
        ASSERT_EQ(answers.size(), 1U);
        EXPECT_TRUE(answers[0].is(Command::AUTH));
        EXPECT_TRUE(tokens.insert(answers[0].payload).second);
        ASSERT_TRUE(peer.send(packet(Command::AUTH, 2, 0, std::string(256, 'x'))).ok());
    }
    EXPECT_FALSE(peer.connection->online());
}

TEST(ConnectionTest, AStreamOfAnotherIdIsNotTouched) {
    BytePeer peer(talkative);
    peer.connect();
    const uint32_t stream = peer.open(1, "talk:");
    // Right number here, wrong one there.
    ASSERT_TRUE(peer.send(packet(Command::CLOSE, 2, stream)).ok());
    ASSERT_TRUE(peer.send(packet(Command::OKAY, 2, stream)).ok());
    EXPECT_TRUE(peer.take().empty());
    ASSERT_TRUE(peer.send(packet(Command::OKAY, 1, stream)).ok());
    EXPECT_EQ(countOf(peer.take(), Command::WRITE), 1U);
    ASSERT_TRUE(peer.send(packet(Command::CLOSE, 0, stream)).ok());
    EXPECT_EQ(countOf(peer.take(), Command::CLOSE), 1U);
}

}  // namespace
}  // namespace halyard::adbd
