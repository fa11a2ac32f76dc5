// SPDX-License-Identifier: Apache-2.0
//
// A client's description of a queue, and its writes to one, each by itself.

#include "hal/hidl/message_queue.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "driver/clients/account.h"
#include "engine/base/file_descriptor.h"
#include "hal/hidl/client/own_queue.h"

namespace halyard::hal::hidl {
namespace {

constexpr size_t kDatum = 16;
constexpr size_t kLength = 8;
constexpr size_t kRing = kLength * kDatum;

enum Part : size_t { READ, WRITTEN, RING, EVENT };

// A layout that can be changed, in memory that is large enough for more than the queue.
struct Said {
    ExportedMemory memory = createSharedMemory(size_t{1} << 20).value();
    std::vector<HidlGrantor> grantors = std::vector<HidlGrantor>(4);
    NativeHandle handle = memory.handle;
    uint32_t quantum = kDatum;
    uint32_t flags = OwnQueue::kFlags;

    Said() {
        const std::array<uint64_t, 4> extents = {8, 8, kRing, 4};
        for (size_t i = 0; i < grantors.size(); ++i) {
            grantors[i].offset = static_cast<uint32_t>(1024 * i);
            grantors[i].extent = extents[i];
        }
    }
    Result<MessageQueue> open(const driver::Account* account = nullptr) const {
        return MessageQueue::open(
                {.grantors = grantors, .handle = handle, .quantum = quantum, .flags = flags},
                kDatum, account);
    }
    template <typename T>
    void put(Part part, T value) const {
        std::memcpy(memory.memory->map()->data() + grantors[part].offset, &value, sizeof value);
    }
    uint64_t counter(Part part) const {
        uint64_t value = 0;
        std::memcpy(&value, memory.memory->map()->data() + grantors[part].offset, sizeof value);
        return value;
    }
};

void expectRefused(const std::string& message, const std::function<void(Said&)>& change) {
    Said said;
    change(said);
    const Status status = said.open().status();
    EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT) << message;
    EXPECT_EQ(status.message().substr(0, message.size()), message) << status.message();
}

TEST(MessageQueues, AreTakenAsTheySay) {
    const Said said;
    const Result<MessageQueue> queue = said.open();
    ASSERT_TRUE(queue.ok()) << queue.status().toString();
    EXPECT_EQ(queue->capacity(), kRing);
}

TEST(MessageQueues, AreOfOneReaderAndOneWriterAndOfTheDataThatTheyAreFor) {
    for (const uint32_t quantum : {0U, 8U, 15U, 32U}) {
        expectRefused("a queue of " + std::to_string(quantum) + " bytes each",
                      [&](Said& said) { said.quantum = quantum; });
    }
    for (const uint32_t flags : {0U, 2U, 3U}) {
        expectRefused("a queue that is not of one reader and one writer",
                      [&](Said& said) { said.flags = flags; });
    }
}

TEST(MessageQueues, HaveFourPartsInAFewDescriptors) {
    for (const size_t parts : {0U, 3U, 5U}) {
        expectRefused("a queue of " + std::to_string(parts) + " parts, where it has 4",
                      [&](Said& said) { said.grantors.resize(parts); });
    }
    for (const size_t descriptors : {0U, 5U, 1000U}) {
        expectRefused("a queue of " + std::to_string(descriptors) + " descriptors",
                      [&](Said& said) { said.handle.fds.resize(descriptors, said.handle.fds[0]); });
    }
    Said four;
    four.handle.fds.resize(4, four.handle.fds[0]);
    for (uint32_t i = 0; i < 4; ++i) {
        four.grantors[i].fdIndex = i;
    }
    EXPECT_TRUE(four.open().ok());
    for (const uint32_t index : {1U, 0xffffffffU}) {
        expectRefused("the ring of a queue lies in descriptor " + std::to_string(index),
                      [&](Said& said) { said.grantors[RING].fdIndex = index; });
    }
}

TEST(MessageQueues, HavePartsThatLieWhereTheyMay) {
    for (const uint32_t offset : {1U, 4U, 1025U}) {
        expectRefused("the event word of a queue is not aligned",
                      [&](Said& said) { said.grantors[EVENT].offset = offset; });
    }
    for (const uint32_t offset : {1U << 20U, (1U << 20U) - 1024, 0xfffffff8U}) {
        Said said;
        said.grantors[RING].offset = offset;
        EXPECT_EQ(said.open().ok(), offset + kRing <= 1U << 20U) << offset;
    }
}

TEST(MessageQueues, HavePartsOfTheirSizes) {
    for (const Part part : {READ, WRITTEN}) {
        for (const uint64_t extent : {0U, 4U, 7U, 9U, 16U}) {
            expectRefused(part == READ ? "the read counter of a queue has "
                                       : "the write counter of a queue has ",
                          [&](Said& said) { said.grantors[part].extent = extent; });
        }
    }
    for (const uint64_t extent : {0U, 2U, 3U, 9U}) {
        expectRefused("the event word of a queue has " + std::to_string(extent) + " bytes",
                      [&](Said& said) { said.grantors[EVENT].extent = extent; });
    }
    constexpr uint64_t kLargest = uint64_t{1} << 18;
    for (const uint64_t extent : {uint64_t{0}, uint64_t{kDatum - 1}, uint64_t{kRing + 1},
                                  kLargest + kDatum, ~uint64_t{15}}) {
        expectRefused("the ring of a queue has " + std::to_string(extent) + " bytes",
                      [&](Said& said) { said.grantors[RING].extent = extent; });
    }
    Said largest;
    largest.grantors[RING].offset = 1U << 19U;
    largest.grantors[RING].extent = kLargest;
    EXPECT_TRUE(largest.open().ok());
}

TEST(MessageQueues, AreNotInMemoryThatCantBeWritten) {
    const Said said;
    const FileDescriptor readOnly(::open(
            ("/proc/self/fd/" + std::to_string(said.handle.fds[0])).c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(readOnly.valid());
    expectRefused("the read counter of a queue is read-only",
                  [&](Said& changed) { changed.handle.fds = {readOnly.get()}; });
}

TEST(MessageQueues, AreMappedOnTheAccount) {
    driver::Account account;
    account.mappings = std::make_shared<Budget>(4);
    account.sharedMemory = std::make_shared<Budget>(size_t{1} << 20);
    const Said said;
    {
        const Result<MessageQueue> queue = said.open(&account);
        ASSERT_TRUE(queue.ok()) << queue.status().toString();
        EXPECT_EQ(account.mappings->reserved(), 4U);
        EXPECT_GE(account.sharedMemory->reserved(), 4 * kRing);
        EXPECT_EQ(said.open(&account).status().code(), StatusCode::RESOURCE_EXHAUSTED);
    }
    EXPECT_EQ(account.mappings->reserved(), 0U);
    EXPECT_EQ(account.sharedMemory->reserved(), 0U);
}

// The counters are the client's: 64 bits each that say anything.
TEST(MessageQueues, ReadNothingThatTheirCountersContradict) {
    const Said said;
    MessageQueue queue = said.open().value();
    std::vector<std::byte> bytes;
    for (const uint64_t from : {uint64_t{0}, uint64_t{kDatum}, ~uint64_t{0} - 15}) {
        for (const uint64_t more : {uint64_t{kRing + kDatum}, uint64_t{1}, uint64_t{kDatum + 8},
                                    ~uint64_t{0}, ~uint64_t{0} - 15, uint64_t{1} << 63}) {
            said.put(READ, from);
            said.put(WRITTEN, from + more);
            bytes.resize(3);
            EXPECT_EQ(queue.read(bytes).code(), StatusCode::INVALID_ARGUMENT) << more;
            EXPECT_TRUE(bytes.empty());
            EXPECT_EQ(said.counter(READ), from + more) << "it is passed over";
        }
        for (const uint64_t more : {uint64_t{0}, uint64_t{kDatum}, uint64_t{kRing}}) {
            said.put(READ, from);
            said.put(WRITTEN, from + more);
            EXPECT_TRUE(queue.read(bytes).ok());
            EXPECT_EQ(bytes.size(), more);
        }
    }
}

TEST(MessageQueues, WriteNothingWhereThereIsNoRoomForAllOfIt) {
    const Said said;
    MessageQueue queue = said.open().value();
    const std::vector<std::byte> datum(kDatum, std::byte{7});
    for (const uint64_t used :
         {uint64_t{kRing}, uint64_t{kRing + 1}, uint64_t{kRing - 1}, ~uint64_t{0}}) {
        said.put(READ, uint64_t{0});
        said.put(WRITTEN, used);
        EXPECT_FALSE(queue.write(datum)) << used;
        EXPECT_EQ(said.counter(WRITTEN), used);
    }
    said.put(READ, uint64_t{kDatum});
    said.put(WRITTEN, uint64_t{kRing});
    EXPECT_TRUE(queue.write(datum)) << "in the place of the first";
    EXPECT_FALSE(queue.write(datum));
    std::vector<std::byte> bytes;
    EXPECT_TRUE(queue.read(bytes).ok());
    ASSERT_EQ(bytes.size(), kRing);
    EXPECT_EQ(bytes.back(), std::byte{7});
    EXPECT_EQ(bytes.front(), std::byte{0});
}

// The event word is the client's as well: it may say that there is something where there is
// nothing, and nothing where there is something. Neither is slept through.
TEST(MessageQueues, AwaitNothingWhereThereIsSomethingOrIsSaidToBe) {
    constexpr uint32_t kNotEmpty = 2;
    constexpr std::chrono::seconds kPatience(20);
    const Said said;
    MessageQueue queue = said.open().value();
    const auto begin = std::chrono::steady_clock::now();
    said.put(EVENT, kNotEmpty);
    queue.awaitData(kPatience);
    said.put(EVENT, uint32_t{0});
    said.put(WRITTEN, uint64_t{kDatum});
    queue.awaitData(kPatience);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, kPatience);
}

TEST(MessageQueues, AwaitDataNoLongerThanTheyAreTold) {
    const Said said;
    MessageQueue queue = said.open().value();
    const auto begin = std::chrono::steady_clock::now();
    queue.awaitData(std::chrono::milliseconds(30));
    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(30));
}

}  // namespace
}  // namespace halyard::hal::hidl
