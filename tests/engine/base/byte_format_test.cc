// SPDX-License-Identifier: Apache-2.0

#include "engine/base/byte_format.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace halyard {
namespace {

using Bytes = std::vector<uint8_t>;

TEST(ByteReader, TakesNoFlagButZeroAndOne) {
    for (int value = 0; value < 256; ++value) {
        const Bytes bytes = {static_cast<uint8_t>(value)};
        bool flag = value != 1;
        const Status status = ByteReader(bytes, "it").getFlag(flag);
        EXPECT_EQ(status.ok(), value < 2) << value;
        EXPECT_TRUE(!status.ok() || flag == (value == 1)) << value;
    }
}

TEST(ByteReader, CountsNoMoreThanThereAreBytesOf) {
    for (const uint32_t said : {0U, 3U, 4U, 0x80000000U, 0xffffffffU}) {
        ByteWriter writer;
        writer.put(said);
        for (const uint8_t byte : {1, 2, 3}) {
            writer.put(byte);
        }
        const Bytes bytes = writer.take();
        EXPECT_EQ(ByteReader(bytes, "it").getCount().ok(), said <= 3) << said;
        EXPECT_EQ(ByteReader(bytes, "it").getText().ok(), said <= 3) << said;
        std::vector<uint8_t> list;
        EXPECT_EQ(ByteReader(bytes, "it").getList(list).ok(), said <= 3) << said;
        // Two bytes of the three are one number; no list of more has room.
        std::vector<uint16_t> numbers;
        EXPECT_EQ(ByteReader(bytes, "it").getList(numbers).ok(), said <= 1) << said;
    }
}

TEST(ByteReader, HasRoomForNoMoreThanCanCome) {
    const Bytes bytes(100);
    const ByteReader reader(bytes, "it");
    EXPECT_EQ(reader.roomFor(3, 10), 3U);
    EXPECT_EQ(reader.roomFor(1'000'000, 10), 10U);
    EXPECT_EQ(reader.roomFor(1'000'000, 101), 0U);
}

TEST(ByteReader, EndsWhereItEnds) {
    const Bytes bytes = {1, 0};
    ByteReader reader(bytes, "the model");
    bool flag = false;
    ASSERT_TRUE(reader.getFlag(flag).ok());
    EXPECT_EQ(reader.finish().message(), "there is more than the model");
    ASSERT_TRUE(reader.getFlag(flag).ok());
    EXPECT_TRUE(reader.finish().ok());
    EXPECT_EQ(reader.getFlag(flag).message(), "the model ends early");
}

}  // namespace
}  // namespace halyard
