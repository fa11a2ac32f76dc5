// SPDX-License-Identifier: Apache-2.0
//
// SHA-256 (FIPS 180-4), as the libcrypto of OpenSSL or BoringSSL computes it: fast where the
// processor has instructions for it.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

namespace halyard::driver {

class Sha256 {
  public:
    using Digest = std::array<uint8_t, 32>;

    Sha256();
    ~Sha256();
    Sha256(const Sha256&) = delete;
    Sha256& operator=(const Sha256&) = delete;

    // However the stream is cut, the result is the same.
    void add(std::span<const uint8_t> bytes);
    // Of all that was added. The last call.
    Digest finish();

  private:
    struct State;
    const std::unique_ptr<State> mState;
};

}  // namespace halyard::driver
