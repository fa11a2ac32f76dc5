// SPDX-License-Identifier: Apache-2.0
//
// Checksum: 64 bits over a stream of bytes, as fast as memory is read. It catches every change
// within one word of eight bytes, and all but about one in 2^64 of those that come by chance; it is
// no proof of where bytes come from.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace halyard {

class Checksum {
  public:
    // However the stream is cut, the result is the same.
    void add(std::span<const uint8_t> bytes);
    uint64_t value() const;

  private:
    static constexpr size_t kLanes = 8;
    static constexpr size_t kBlock = kLanes * sizeof(uint64_t);

    void addBlock(const uint8_t* block);

    std::array<uint64_t, kLanes> mLanes = {1, 2, 3, 4, 5, 6, 7, 8};
    std::array<uint8_t, kBlock> mRest = {};  // of the last block
    uint64_t mLength = 0;
};

}  // namespace halyard
