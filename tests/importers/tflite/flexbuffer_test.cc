// SPDX-License-Identifier: Apache-2.0

#include "importers/tflite/flexbuffer.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/importers/tflite/flexbuffer_writer.h"

namespace halyard::tflite {
namespace {

std::vector<uint8_t> sample() {
    return flexMap(
            {{"flag", flexBool(true)}, {"least", flexInteger(-3)}, {"real", flexFloat(0.5F)}});
}

double numberOf(const std::vector<uint8_t>& bytes, std::string_view key) {
    const Result<FlexMap> map = FlexMap::create(bytes);
    EXPECT_TRUE(map.ok()) << map.status().toString();
    const Result<std::optional<double>> found = map->number(key);
    EXPECT_TRUE(found.ok()) << found.status().toString();
    return found.ok() ? found->value_or(-1000) : -2000;
}

TEST(FlexMapTest, HasNumbersByTheirKeys) {
    EXPECT_EQ(numberOf(sample(), "flag"), 1);
    EXPECT_EQ(numberOf(sample(), "least"), -3);
    EXPECT_EQ(numberOf(sample(), "real"), 0.5);
    EXPECT_EQ(numberOf(sample(), "rea"), -1000);
    EXPECT_EQ(numberOf(sample(), "real1"), -1000);
}

// {"a": 7, "b": 300 indirectly}, with a byte for each number, as other writers pack them.
TEST(FlexMapTest, ReadsNarrowAndIndirectNumbers) {
    const std::vector<uint8_t> bytes = {
            0x2C,       0x01,                // 300, of two bytes
            'a',        0,          'b', 0,  // keys
            2,                               // as many
            5,          4,                   // how far back they lie
            2,          1,          2,       // the keys, their width, and how many values
            7,          13,                  // 7, and how far back 300 lies
            1 << 2 | 0, 6 << 2 | 1, 4,   9 << 2, 1};
    EXPECT_EQ(numberOf(bytes, "a"), 7);
    EXPECT_EQ(numberOf(bytes, "b"), 300);
}

TEST(FlexMapTest, RefusesWhatIsNoNumber) {
    const std::vector<uint8_t> bytes = flexMap({{"text", {.type = 5, .bits = 4}}});
    const Result<FlexMap> map = FlexMap::create(bytes);
    ASSERT_TRUE(map.ok());
    EXPECT_FALSE(map->number("text").ok());
}

TEST(FlexMapTest, RefusesWhatIsNoMap) {
    EXPECT_FALSE(FlexMap::create({}).ok());
    EXPECT_FALSE(FlexMap::create(std::vector<uint8_t>{5, 1 << 2, 1}).ok());
    const std::vector<uint8_t> whole = sample();
    for (size_t length = 0; length < whole.size(); ++length) {
        EXPECT_FALSE(FlexMap::create(std::span(whole).first(length)).ok()) << length;
    }
}

TEST(FlexMapTest, ReadsNothingOutsideOfMutatedBytes) {
    std::mt19937 random(46);  // NOLINT(cert-msc51-cpp)
    for (int round = 0; round < 20000; ++round) {
        std::vector<uint8_t> bytes = sample();
        for (int change = 0; change < 3; ++change) {
            bytes[random() % bytes.size()] = static_cast<uint8_t>(random());
        }
        // Of its own, so that a sanitizer sees its end.
        const std::vector<uint8_t> copy(bytes);
        if (const Result<FlexMap> map = FlexMap::create(copy); map.ok()) {
            for (const std::string_view key : {"flag", "least", "real", "none"}) {
                (void)map->number(key).ok();
            }
        }
    }
}

}  // namespace
}  // namespace halyard::tflite
