// SPDX-License-Identifier: Apache-2.0
//
// SHA-256 (FIPS 180-4), by the processor's instructions for it where it has them (Intel's SHA
// extensions, Armv8's SHA2). Its time depends on how much is added, not on what.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace halyard::driver {

class Sha256 {
  public:
    using Digest = std::array<uint8_t, 32>;
    using State = std::array<uint32_t, 8>;
    static constexpr size_t kBlock = 64;

    // Takes whole blocks, one after the other, into the state.
    using Compress = void (*)(State& state, std::span<const uint8_t> blocks);

    // By the fastest that this processor has.
    Sha256() : Sha256(fastest()) {}
    explicit Sha256(Compress compress) : mCompress(compress) {}
    Sha256(const Sha256&) = delete;
    Sha256& operator=(const Sha256&) = delete;

    // However the stream is cut, the result is the same.
    void add(std::span<const uint8_t> bytes);
    // Of all that was added. The last call.
    Digest finish();

    static Compress fastest();
    static Compress portable();

  private:
    const Compress mCompress;
    State mState = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    // Bytes that do not fill a block yet.
    std::array<uint8_t, kBlock> mRest = {};
    uint64_t mLength = 0;
};

}  // namespace halyard::driver
