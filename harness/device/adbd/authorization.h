// SPDX-License-Identifier: Apache-2.0
//
// The RSA keys that may connect, and the check of a client's signature. A client signs the 20-byte
// token it is sent as if that were a SHA-1 digest (PKCS #1 v1.5, 2048 bits), so checking takes one
// modular power and no hash.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"

namespace halyard::adbd {

inline constexpr size_t kTokenSize = 20;

class AuthorizedKeys {
  public:
    // `text` as in adb_keys: per line the base64 of a key in Android's format, then a name. Lines
    // without text or that start with '#' are skipped. INVALID_ARGUMENT names the broken line.
    static Result<AuthorizedKeys> parse(std::string_view text);

    size_t count() const { return mKeys.size(); }
    // Whether one of the keys made `signature` from `token`.
    bool verify(std::span<const uint8_t, kTokenSize> token,
                std::span<const uint8_t> signature) const;

  private:
    static constexpr size_t kWords = 64;          // of 32 bits
    using Number = std::array<uint32_t, kWords>;  // least significant word first

    struct Key {
        Number modulus;
        Number rSquared;     // 2^4096 mod modulus
        uint32_t n0Inverse;  // -1 / modulus[0] mod 2^32
        uint32_t exponent;   // 3 or 65537
    };
    static Result<Key> parseKey(std::span<const uint8_t> bytes);
    static Number multiply(const Key& key, const Number& a, const Number& b);
    static Number power(const Key& key, const Number& base);

    std::vector<Key> mKeys;
};

}  // namespace halyard::adbd
