// SPDX-License-Identifier: Apache-2.0
//
// Choices: a fuzzer's bytes as a sequence of decisions. Structure is made from them, so that most
// inputs get past the first checks, and a changed byte changes one decision.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace halyard::fuzz {

// Once the bytes are used up, every decision is the first one (0).
class Choices {
  public:
    explicit Choices(std::span<const uint8_t> bytes) : mBytes(bytes) {}

    bool empty() const { return mBytes.empty(); }

    template <typename T>
    T number() {
        T value = {};
        const std::span<const uint8_t> taken = take(sizeof(T));
        if (!taken.empty()) {
            std::memcpy(&value, taken.data(), taken.size());
        }
        return value;
    }
    // Below `count`, which is at least 1.
    size_t below(size_t count) {
        if (count <= 1) {
            return 0;
        }
        return (count <= 256 ? number<uint8_t>() : number<uint32_t>()) % count;
    }
    // Once in `times`, if the bytes are random; never once they are used up.
    bool oneIn(size_t times) { return below(times) == times - 1; }
    // Up to `most` bytes as they are.
    std::span<const uint8_t> take(size_t most) {
        const std::span<const uint8_t> taken = mBytes.first(std::min(most, mBytes.size()));
        mBytes = mBytes.subspan(taken.size());
        return taken;
    }
    template <typename Range>
    auto& of(Range& range) {
        return range[below(std::size(range))];
    }

  private:
    std::span<const uint8_t> mBytes;
};

}  // namespace halyard::fuzz
