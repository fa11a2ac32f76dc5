// SPDX-License-Identifier: Apache-2.0

#include "harness/device/adbd/byte_queue.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace halyard::adbd {
namespace {

std::span<const uint8_t> bytesOf(const std::string& text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

TEST(ByteQueueTest, GivesBytesInOrderHoweverTheyAreTaken) {
    QueueAccount account;
    ByteQueue queue(account);
    std::string given;
    std::string got;
    for (size_t step = 1; step < 500; ++step) {
        const std::string piece(step % 37, static_cast<char>('a' + step % 26));
        given += piece;
        queue.append(bytesOf(piece));
        const size_t some = std::min(queue.size(), step % 31);
        got.append(reinterpret_cast<const char*>(queue.bytes().data()), some);
        queue.take(some);
        ASSERT_EQ(queue.size(), given.size() - got.size());
    }
    got.append(reinterpret_cast<const char*>(queue.bytes().data()), queue.size());
    EXPECT_EQ(got, given);
}

TEST(ByteQueueTest, ChargesItsMemoryUpToTheTop) {
    QueueAccount all;
    QueueAccount one(&all);
    std::optional<ByteQueue> queue(one);
    std::optional<ByteQueue> other(all);
    queue->append(std::vector<uint8_t>(100'000));
    other->append(std::vector<uint8_t>(50'000));
    EXPECT_GE(one.bytes(), 100'000U);
    EXPECT_GE(all.bytes(), one.bytes() + 50'000);
    queue->take(100'000);
    EXPECT_LE(one.bytes(), 4096U);
    other.reset();
    queue.reset();
    EXPECT_EQ(one.bytes(), 0U);
    EXPECT_EQ(all.bytes(), 0U);
}

TEST(ByteQueueTest, SaysWhenThereIsMoreThanTheLimit) {
    int over = 0;
    QueueAccount all(10'000, [&] { ++over; });
    QueueAccount one(&all);
    ByteQueue queue(one);
    queue.append(std::vector<uint8_t>(10'000));
    EXPECT_EQ(over, 0);
    queue.append(std::vector<uint8_t>(1));
    EXPECT_EQ(over, 1);
    queue.take(queue.size());
    EXPECT_EQ(over, 1);
}

}  // namespace
}  // namespace halyard::adbd
