// SPDX-License-Identifier: Apache-2.0

#include "engine/numerics/fingerprint.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace halyard::engine {
namespace {

using Bytes = std::span<const std::byte>;

// The algorithm's primes between 2^63 and 2^64.
constexpr uint64_t kPrime0 = 0xc3a5c85c97cb3127;
constexpr uint64_t kPrime1 = 0xb492b66fbe98f273;
constexpr uint64_t kPrime2 = 0x9ae16a3b2f90404f;
constexpr uint64_t kSeed = 81;
constexpr size_t kBlock = 64;
constexpr size_t kBytesPerPause = 1024 * kBlock;

uint64_t littleEndian(Bytes bytes, size_t at, size_t count) {
    uint64_t word = 0;
    for (size_t i = 0; i < count; ++i) {
        word |= std::to_integer<uint64_t>(bytes[at + i]) << (8 * i);
    }
    return word;
}

uint64_t word64(Bytes bytes, size_t at) {
    return littleEndian(bytes, at, sizeof(uint64_t));
}

uint64_t word32(Bytes bytes, size_t at) {
    return littleEndian(bytes, at, sizeof(uint32_t));
}

uint64_t right(uint64_t value, int bits) {
    return std::rotr(value, bits);
}

uint64_t shiftMix(uint64_t value) {
    return value ^ (value >> 47U);
}

uint64_t mix(uint64_t low, uint64_t high, uint64_t factor) {
    const uint64_t a = shiftMix((low ^ high) * factor);
    const uint64_t b = shiftMix((high ^ a) * factor);
    return b * factor;
}

// The factor for lengths up to 64.
uint64_t factorOf(Bytes bytes) {
    return kPrime2 + bytes.size() * 2;
}

uint64_t upTo16(Bytes bytes) {
    const size_t length = bytes.size();
    if (length >= 8) {
        const uint64_t factor = factorOf(bytes);
        const uint64_t a = word64(bytes, 0) + kPrime2;
        const uint64_t b = word64(bytes, length - 8);
        return mix(right(b, 37) * factor + a, (right(a, 25) + b) * factor, factor);
    }
    if (length >= 4) {
        return mix(length + (word32(bytes, 0) << 3U), word32(bytes, length - 4), factorOf(bytes));
    }
    if (length == 0) {
        return kPrime2;
    }
    const auto at = [&](size_t index) { return std::to_integer<uint32_t>(bytes[index]); };
    const uint32_t y = at(0) + (at(length >> 1U) << 8U);
    const uint32_t z = static_cast<uint32_t>(length) + (at(length - 1) << 2U);
    return shiftMix(y * kPrime2 ^ z * kPrime0) * kPrime2;
}

// The words that lengths of 17 to 32 and of 33 to 64 both mix.
struct Ends {
    uint64_t factor = 0;
    uint64_t a = 0;
    uint64_t y = 0;
    uint64_t z = 0;  // before its last mix
};

Ends endsOf(Bytes bytes, uint64_t firstFactor) {
    const size_t length = bytes.size();
    const uint64_t factor = factorOf(bytes);
    const uint64_t a = word64(bytes, 0) * firstFactor;
    const uint64_t b = word64(bytes, 8);
    const uint64_t c = word64(bytes, length - 8) * factor;
    const uint64_t d = word64(bytes, length - 16) * kPrime2;
    return {.factor = factor,
            .a = a,
            .y = right(a + b, 43) + right(c, 30) + d,
            .z = a + right(b + kPrime2, 18) + c};
}

uint64_t upTo32(Bytes bytes) {
    const Ends ends = endsOf(bytes, kPrime1);
    return mix(ends.y, ends.z, ends.factor);
}

uint64_t upTo64(Bytes bytes) {
    const size_t length = bytes.size();
    const auto [factor, a, y, beforeMix] = endsOf(bytes, kPrime2);
    const uint64_t z = mix(y, beforeMix, factor);
    const uint64_t e = word64(bytes, 16) * factor;
    const uint64_t f = word64(bytes, 24);
    const uint64_t g = (y + word64(bytes, length - 32)) * factor;
    const uint64_t h = (z + word64(bytes, length - 24)) * factor;
    return mix(right(e + f, 43) + right(g, 30) + h, e + right(f + a, 18) + g, factor);
}

struct Pair {
    uint64_t first = 0;
    uint64_t second = 0;
};

// 32 bytes from `at` on, and two seeds.
Pair weakHash(Bytes bytes, size_t at, uint64_t a, uint64_t b) {
    const uint64_t last = word64(bytes, at + 24);
    a += word64(bytes, at);
    b = right(b + a + last, 21);
    const uint64_t c = a;
    a += word64(bytes, at + 8) + word64(bytes, at + 16);
    b += right(a, 44);
    return {.first = a + last, .second = b + c};
}

// 56 bytes of state that blocks of 64 bytes go into.
struct State {
    uint64_t x = 0;
    uint64_t y = kSeed * kPrime1 + 113;
    uint64_t z = shiftMix(y * kPrime2 + 113) * kPrime2;
    Pair v = {};
    Pair w = {};

    // The last block weighs two of its terms by 9.
    void add(Bytes bytes, size_t at, uint64_t factor, uint64_t weight) {
        x = right(x + y + v.first + word64(bytes, at + 8), 37) * factor;
        y = right(y + v.second + word64(bytes, at + 48), 42) * factor;
        x ^= w.second * weight;
        y += v.first * weight + word64(bytes, at + 40);
        z = right(z + w.first, 33) * factor;
        v = weakHash(bytes, at, v.second * factor, x + w.first);
        w = weakHash(bytes, at + 32, z + w.second, y + word64(bytes, at + 16));
        std::swap(z, x);
    }
};

}  // namespace

uint64_t fingerprint64(Bytes bytes) {
    return *fingerprint64(bytes, [](size_t) { return Status(); });
}

Result<uint64_t> fingerprint64(Bytes bytes, const std::function<Status(size_t)>& pause) {
    const size_t length = bytes.size();
    if (length <= 16) {
        return upTo16(bytes);
    }
    if (length <= 32) {
        return upTo32(bytes);
    }
    if (length <= kBlock) {
        return upTo64(bytes);
    }
    State state;
    state.x = kSeed * kPrime2 + word64(bytes, 0);
    // Whole blocks, all but the last byte's; then the last 64 bytes, which may overlap them.
    const size_t end = (length - 1) / kBlock * kBlock;
    for (size_t at = 0; at < end; at += kBlock) {
        if (at % kBytesPerPause == 0) {
            HALYARD_RETURN_IF_ERROR(pause(std::min(kBytesPerPause, length - at)));
        }
        state.add(bytes, at, kPrime1, 1);
    }
    const uint64_t factor = kPrime1 + ((state.z & 0xffU) << 1U);
    state.w.first += (length - 1) % kBlock;
    state.v.first += state.w.first;
    state.w.first += state.v.first;
    state.add(bytes, length - kBlock, factor, 9);
    return mix(mix(state.v.first, state.w.first, factor) + shiftMix(state.y) * kPrime0 + state.z,
               mix(state.v.second, state.w.second, factor) + state.x, factor);
}

}  // namespace halyard::engine
