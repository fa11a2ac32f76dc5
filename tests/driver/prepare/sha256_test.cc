// SPDX-License-Identifier: Apache-2.0

#include "driver/prepare/sha256.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace halyard::driver {
namespace {

std::string hex(const Sha256::Digest& digest) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (const uint8_t byte : digest) {
        text += kDigits[byte >> 4U];
        text += kDigits[byte & 15U];
    }
    return text;
}

std::span<const uint8_t> bytesIn(std::string_view text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// The examples of FIPS 180-4.
TEST(Sha256, IsThatOfTheStandard) {
    Sha256 nothing;
    EXPECT_EQ(hex(nothing.finish()),
              "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    Sha256 letters;
    letters.add(bytesIn("abc"));
    EXPECT_EQ(hex(letters.finish()),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    Sha256 million;
    const std::string part(1000, 'a');
    for (int i = 0; i < 1000; ++i) {
        million.add(bytesIn(part));
    }
    EXPECT_EQ(hex(million.finish()),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// Of every length around a block's, cut anywhere: padding takes one block or two.
TEST(Sha256, IsTheSameByTheProcessorsInstructions) {
    if (Sha256::fastest() == Sha256::portable()) {
        GTEST_SKIP() << "this processor has none";
    }
    const unsigned seed = testing::UnitTest::GetInstance()->random_seed();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    for (size_t size = 0; size < 5 * Sha256::kBlock; ++size) {
        std::vector<uint8_t> bytes(size);
        for (uint8_t& byte : bytes) {
            byte = static_cast<uint8_t>(random());
        }
        Sha256 whole(Sha256::portable());
        whole.add(bytes);
        Sha256 cut;
        for (std::span<const uint8_t> rest = bytes; !rest.empty();) {
            const size_t part = std::min<size_t>(rest.size(), random() % (2 * Sha256::kBlock));
            cut.add(rest.first(part));
            rest = rest.subspan(part);
        }
        ASSERT_EQ(hex(whole.finish()), hex(cut.finish())) << size << " bytes";
    }
}

// 5.1.1's limits: 55 bytes and their padding are one block, 56 are two. By OpenSSL's dgst.
TEST(Sha256, PadsToWholeBlocks) {
    const std::map<size_t, std::string_view> known = {
            {55, "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
            {56, "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"},
            {63, "7d3e74a05d7db15bce4ad9ec0658ea98e3f06eeecf16b4c6fff2da457ddc2f34"},
            {64, "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
            {65, "635361c48bb9eab14198e76ea8ab7f1a41685d6ad62aa9146d301d4f17eb0ae0"},
            {119, "31eba51c313a5c08226adf18d4a359cfdfd8d2e816b13f4af952f7ea6584dcfb"},
            {120, "2f3d335432c70b580af0e8e1b3674a7c020d683aa5f73aaaedfdc55af904c21c"},
    };
    for (const Sha256::Compress compress : {Sha256::portable(), Sha256::fastest()}) {
        for (const auto& [size, expected] : known) {
            Sha256 hash(compress);
            hash.add(bytesIn(std::string(size, 'a')));
            EXPECT_EQ(hex(hash.finish()), expected) << size;
        }
    }
}

}  // namespace
}  // namespace halyard::driver
