// SPDX-License-Identifier: Apache-2.0

#include "engine/base/checksum.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <vector>

namespace halyard {
namespace {

uint64_t sumOf(std::span<const uint8_t> bytes) {
    Checksum sum;
    sum.add(bytes);
    return sum.value();
}

std::vector<uint8_t> counting(size_t size) {
    std::vector<uint8_t> bytes(size);
    std::iota(bytes.begin(), bytes.end(), 0);
    return bytes;
}

TEST(Checksum, IsTheSameHoweverTheStreamIsCut) {
    const std::vector<uint8_t> bytes = counting(200);
    const uint64_t whole = sumOf(bytes);
    for (size_t first = 0; first <= bytes.size(); ++first) {
        Checksum sum;
        sum.add(std::span(bytes).first(first));
        sum.add({});
        sum.add(std::span(bytes).subspan(first));
        ASSERT_EQ(sum.value(), whole) << first;
    }
    Checksum sum;
    for (const uint8_t byte : bytes) {
        sum.add({&byte, 1});
    }
    EXPECT_EQ(sum.value(), whole);
}

TEST(Checksum, CatchesEveryBitThatIsFlipped) {
    std::vector<uint8_t> bytes = counting(100);
    std::set<uint64_t> sums = {sumOf(bytes)};
    for (uint8_t& byte : bytes) {
        for (int bit = 0; bit < 8; ++bit) {
            byte ^= static_cast<uint8_t>(1 << bit);
            EXPECT_TRUE(sums.insert(sumOf(bytes)).second);
            byte ^= static_cast<uint8_t>(1 << bit);
        }
    }
}

TEST(Checksum, CatchesEveryLength) {
    const std::vector<uint8_t> zeros(100);
    std::set<uint64_t> sums;
    for (size_t size = 0; size <= zeros.size(); ++size) {
        EXPECT_TRUE(sums.insert(sumOf(std::span(zeros).first(size))).second) << size;
    }
}

}  // namespace
}  // namespace halyard
