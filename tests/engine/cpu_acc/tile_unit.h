// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace halyard::engine::cpu_test {

// What a processor with AMX has for tiles of 16 rows of 64 bytes, made up: eight of them for each
// thread. Instructions without a configuration end the test, as they would the process.
class TileUnit {
  public:
    static TileUnit& ofThread() {
        thread_local TileUnit unit;
        return unit;
    }

    void configure() {
        mIsConfigured = true;
        mTiles = {};
    }
    void release() { mIsConfigured = false; }
    void zero(size_t tile) { at(tile) = {}; }
    void load(size_t tile, const void* from, ptrdiff_t stride) {
        for (ptrdiff_t row = 0; row < 16; ++row) {
            std::memcpy(&at(tile)[static_cast<size_t>(row) * 64],
                        static_cast<const uint8_t*>(from) + row * stride, 64);
        }
    }
    void store(size_t tile, void* to, ptrdiff_t stride) {
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

  private:
    using Tile = std::array<uint8_t, 1024>;

    Tile& at(size_t tile) {
        if (!mIsConfigured) {
            std::fputs("a tile instruction without a configuration\n", stderr);
            std::abort();
        }
        return mTiles[tile];
    }

    bool mIsConfigured = false;
    std::array<Tile, 8> mTiles = {};
};

}  // namespace halyard::engine::cpu_test
