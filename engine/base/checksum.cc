// SPDX-License-Identifier: Apache-2.0

#include "engine/base/checksum.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace halyard {
namespace {

// Odd, so that multiplying with them is one to one, as exclusive or and rotating are. The second
// spreads what the first leaves in the highest bits.
constexpr uint64_t kFirst = 0x9e3779b97f4a7c15;
constexpr uint64_t kSecond = 0xd6e8feb86659fd93;

uint64_t mix(uint64_t lane, uint64_t word) {
    return std::rotl((lane ^ word) * kFirst, 29) * kSecond;
}

}  // namespace

void Checksum::addBlock(const uint8_t* block) {
    for (uint64_t& lane : mLanes) {
        uint64_t word = 0;
        std::memcpy(&word, block, sizeof word);
        block += sizeof word;
        lane = mix(lane, word);
    }
}

void Checksum::add(std::span<const uint8_t> bytes) {
    const size_t have = mLength % kBlock;
    mLength += bytes.size();
    if (have > 0) {
        const size_t count = std::min(kBlock - have, bytes.size());
        std::copy_n(bytes.data(), count, mRest.data() + have);
        bytes = bytes.subspan(count);
        if (have + count < kBlock) {
            return;
        }
        addBlock(mRest.data());
    }
    for (; bytes.size() >= kBlock; bytes = bytes.subspan(kBlock)) {
        addBlock(bytes.data());
    }
    std::ranges::copy(bytes, mRest.begin());
}

uint64_t Checksum::value() const {
    Checksum whole = *this;
    const size_t have = mLength % kBlock;
    std::fill(whole.mRest.begin() + static_cast<std::ptrdiff_t>(have), whole.mRest.end(), 0);
    whole.addBlock(whole.mRest.data());
    uint64_t sum = mix(0, mLength);
    for (const uint64_t lane : whole.mLanes) {
        sum = mix(sum, lane);
    }
    return sum ^ (sum >> 32);
}

}  // namespace halyard
