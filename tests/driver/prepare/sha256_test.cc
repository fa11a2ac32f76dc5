// SPDX-License-Identifier: Apache-2.0

#include "driver/prepare/sha256.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "driver/prepare/build_identity.h"

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

std::span<const uint8_t> bytesOf(std::string_view text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// The examples of FIPS 180-4.
TEST(Sha256, IsThatOfTheStandard) {
    Sha256 nothing;
    EXPECT_EQ(hex(nothing.finish()),
              "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    Sha256 letters;
    letters.add(bytesOf("abc"));
    EXPECT_EQ(hex(letters.finish()),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    Sha256 million;
    const std::string part(1000, 'a');
    for (int i = 0; i < 1000; ++i) {
        million.add(bytesOf(part));
    }
    EXPECT_EQ(hex(million.finish()),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(BuildIdentity, IsThatOfTheLinker) {
    EXPECT_EQ(buildIdentity().size(), 20U);
}

}  // namespace
}  // namespace halyard::driver
