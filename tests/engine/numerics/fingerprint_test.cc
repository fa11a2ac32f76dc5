// SPDX-License-Identifier: Apache-2.0

#include "engine/numerics/fingerprint.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <utility>
#include <vector>

namespace halyard::engine {
namespace {

// Bytes 37 i + 11, and what Google's FarmHash gives for the first so many of them (pyfarmhash
// 0.5.1): both sides of every length that another branch begins with.
TEST(Fingerprint, IsThatOfFarmHash) {
    std::vector<std::byte> bytes;
    for (size_t i = 0; i < 300; ++i) {
        bytes.push_back(static_cast<std::byte>(37 * i + 11));
    }
    for (const auto& [length, expected] : {std::pair<size_t, uint64_t>{0, 0x9ae16a3b2f90404f},
                                           {1, 0x4271b80e2915c76a},
                                           {3, 0x373a2b2a12e0c581},
                                           {4, 0xcc1e778137ae6d69},
                                           {7, 0x960838fbc6d9c975},
                                           {8, 0x7d507025ed4eecfd},
                                           {15, 0x834f200cfa7ed95f},
                                           {16, 0xd836480326a974d6},
                                           {17, 0x5cded6cb65c9dac6},
                                           {31, 0x52a467e87c92d522},
                                           {32, 0xa03300e1b2be6da7},
                                           {33, 0x839154ca67815696},
                                           {63, 0x7cf64a4bd1b2b67e},
                                           {64, 0x000f03eac52d3535},
                                           {65, 0xfb360c5023f60db6},
                                           {127, 0xd70e348fcbf64d04},
                                           {128, 0x33ef435f17af1739},
                                           {129, 0xc30a81b637d2e4dd},
                                           {200, 0x51320a19a60cbd6e},
                                           {256, 0x10102b86eca72cdb}}) {
        EXPECT_EQ(fingerprint64(std::span<const std::byte>(bytes).first(length)), expected)
                << length << " bytes";
    }
}

TEST(Fingerprint, DoesNotMindWhereTheBytesLie) {
    std::vector<std::byte> bytes(80);
    const uint64_t first = fingerprint64(std::span(bytes).first(72));
    for (size_t offset = 1; offset < 8; ++offset) {
        EXPECT_EQ(fingerprint64(std::span(bytes).subspan(offset, 72)), first);
    }
}

}  // namespace
}  // namespace halyard::engine
