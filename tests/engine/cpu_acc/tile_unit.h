// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

namespace halyard::engine::cpu_test {

// An emulated AMX unit for tiles of 16 rows of 64 bytes: eight of them for each thread.
// Instructions without a configuration end the test, as they would the process.
class TileUnit {
  public:
    using Tile = std::array<uint8_t, 1024>;

    static TileUnit& ofThread() {
        thread_local TileUnit unit;
        return unit;
    }

    void configure() {
        mIsConfigured = true;
        mTiles = {};
        mIsLoaded = {};
    }
    void release() { mIsConfigured = false; }
    void zero(size_t tile) {
        at(tile) = {};
        mIsLoaded[tile] = false;
    }
    void load(size_t tile, const void* from, ptrdiff_t stride) {
        ++(mIsLoaded[tile] ? mLoads.overLoaded : mLoads.overFree);
        mIsLoaded[tile] = true;
        for (ptrdiff_t row = 0; row < 16; ++row) {
            std::memcpy(&at(tile)[static_cast<size_t>(row) * 64],
                        static_cast<const uint8_t*>(from) + row * stride, 64);
        }
    }
    void store(size_t tile, void* to, ptrdiff_t stride) {
        mIsLoaded[tile] = false;
        for (ptrdiff_t row = 0; row < 16; ++row) {
            std::memcpy(static_cast<uint8_t*>(to) + row * stride,
                        &at(tile)[static_cast<size_t>(row) * 64], 64);
        }
    }
    // Each sum of a row and a column takes up four products of neighbours of either at a time.
    template <typename Left>
    void multiply(size_t sum, size_t left, size_t right) {
        std::array<uint32_t, 256> sums = {};
        std::memcpy(sums.data(), at(sum).data(), sizeof(sums));
        const auto* const a = reinterpret_cast<const Left*>(at(left).data());
        const auto* const b = reinterpret_cast<const int8_t*>(at(right).data());
        for (size_t row = 0; row < 16; ++row) {
            for (size_t group = 0; group < 16; ++group) {
                for (size_t column = 0; column < 16; ++column) {
                    int32_t products = 0;
                    for (size_t i = 0; i < 4; ++i) {
                        products += a[row * 64 + group * 4 + i] * b[group * 64 + column * 4 + i];
                    }
                    sums[row * 16 + column] += static_cast<uint32_t>(products);
                }
            }
        }
        std::memcpy(at(sum).data(), sums.data(), sizeof(sums));
    }

    // Each sum takes up the products of two bfloat16 at a time: those of even places and of odd
    // ones apart, and then both. Denormals are zero, before and after.
    void multiplyBfloats(size_t sum, size_t left, size_t right) {
        std::array<float, 256> sums = {};
        std::memcpy(sums.data(), at(sum).data(), sizeof(sums));
        const std::array<float, 512> a = bfloatsOf(at(left));
        const std::array<float, 512> b = bfloatsOf(at(right));
        for (size_t row = 0; row < 16; ++row) {
            for (size_t column = 0; column < 16; ++column) {
                float even = 0.0F;
                float odd = 0.0F;
                for (size_t k = 0; k < 16; ++k) {
                    // A product is exact before it is added.
                    even += a[row * 32 + k * 2] * b[k * 32 + column * 2];
                    odd += a[row * 32 + k * 2 + 1] * b[k * 32 + column * 2 + 1];
                }
                float& all = sums[row * 16 + column];
                all = flushed(flushed(all) + flushed(flushed(even) + flushed(odd)));
            }
        }
        std::memcpy(at(sum).data(), sums.data(), sizeof(sums));
    }

    // Loads into tiles that were zero or had been stored, and into those that another load had
    // filled: these take a processor longer where two threads are on a core.
    struct Loads {
        int64_t overFree = 0;
        int64_t overLoaded = 0;
    };
    Loads takeLoads() { return std::exchange(mLoads, {}); }

  private:
    static float flushed(float value) {
        return std::abs(value) < std::numeric_limits<float>::min() ? 0.0F : value;
    }
    static std::array<float, 512> bfloatsOf(const Tile& tile) {
        std::array<float, 512> floats = {};
        for (size_t i = 0; i < floats.size(); ++i) {
            uint16_t upper = 0;
            std::memcpy(&upper, &tile[i * sizeof(upper)], sizeof(upper));
            floats[i] = flushed(std::bit_cast<float>(uint32_t{upper} << 16U));
        }
        return floats;
    }

    Tile& at(size_t tile) {
        if (!mIsConfigured) {
            std::fputs("a tile instruction without a configuration\n", stderr);
            std::abort();
        }
        return mTiles[tile];
    }

    bool mIsConfigured = false;
    std::array<Tile, 8> mTiles = {};
    std::array<bool, 8> mIsLoaded = {};
    Loads mLoads;
};

}  // namespace halyard::engine::cpu_test
