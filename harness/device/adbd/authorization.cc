// SPDX-License-Identifier: Apache-2.0

#include "harness/device/adbd/authorization.h"

#include <algorithm>
#include <cstring>

namespace halyard::adbd {

namespace {

constexpr size_t kSignatureSize = 256;

// The DER prefix of a SHA-1 DigestInfo (RFC 8017, section 9.2, note 1).
constexpr std::array<uint8_t, 15> kSha1Prefix = {0x30, 0x21, 0x30, 0x09, 0x06, 0x05, 0x2b, 0x0e,
                                                 0x03, 0x02, 0x1a, 0x05, 0x00, 0x04, 0x14};

Result<std::vector<uint8_t>> decodeBase64(std::string_view text) {
    constexpr std::string_view kAlphabet =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    while (text.ends_with('=')) {
        text.remove_suffix(1);
    }
    std::vector<uint8_t> bytes;
    uint32_t bits = 0;
    int count = 0;
    for (const char character : text) {
        const size_t value = kAlphabet.find(character);
        if (value == std::string_view::npos) {
            return invalidArgument("not base64");
        }
        bits = (bits << 6) | static_cast<uint32_t>(value);
        count += 6;
        if (count >= 8) {
            count -= 8;
            bytes.push_back(static_cast<uint8_t>(bits >> count));
        }
    }
    return bytes;
}

// 00 01 ff … ff 00, the prefix, the token (RFC 8017, section 9.2).
std::array<uint8_t, kSignatureSize> paddedToken(std::span<const uint8_t, kTokenSize> token) {
    std::array<uint8_t, kSignatureSize> padded;
    padded.fill(0xff);
    padded[0] = 0;
    padded[1] = 1;
    auto* end = padded.data() + padded.size();
    auto* tokenAt = std::copy_backward(token.begin(), token.end(), end);
    auto* prefixAt = std::copy_backward(kSha1Prefix.begin(), kSha1Prefix.end(), tokenAt);
    prefixAt[-1] = 0;
    return padded;
}

}  // namespace

Result<AuthorizedKeys> AuthorizedKeys::parse(std::string_view text) {
    AuthorizedKeys keys;
    size_t number = 0;
    while (!text.empty()) {
        ++number;
        std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        line = line.substr(0, line.find_first_of(" \t\r"));
        if (line.empty() || line.starts_with('#')) {
            continue;
        }
        const std::string place = "line " + std::to_string(number);
        Result<std::vector<uint8_t>> bytes = decodeBase64(line);
        if (!bytes.ok()) {
            return bytes.status().withContext(place);
        }
        Result<Key> key = parseKey(*bytes);
        if (!key.ok()) {
            return key.status().withContext(place);
        }
        keys.mKeys.push_back(*key);
    }
    return keys;
}

// {uint32 words, uint32 n0Inverse, modulus, rSquared, uint32 exponent}, all little-endian.
Result<AuthorizedKeys::Key> AuthorizedKeys::parseKey(std::span<const uint8_t> bytes) {
    constexpr size_t kNumberSize = sizeof(Number);
    if (bytes.size() != 12 + 2 * kNumberSize) {
        return invalidArgument("not the size of a 2048-bit key");
    }
    uint32_t words = 0;
    Key key;
    memcpy(&words, bytes.data(), 4);
    memcpy(&key.n0Inverse, bytes.data() + 4, 4);
    memcpy(key.modulus.data(), bytes.data() + 8, kNumberSize);
    memcpy(key.rSquared.data(), bytes.data() + 8 + kNumberSize, kNumberSize);
    memcpy(&key.exponent, bytes.data() + 8 + 2 * kNumberSize, 4);
    if (words != kWords || key.modulus[0] * key.n0Inverse != 0xffffffffU) {
        return invalidArgument("not a 2048-bit key");
    }
    if (key.exponent != 3 && key.exponent != 65537) {
        return invalidArgument("the public exponent is neither 3 nor 65537");
    }
    return key;
}

// Montgomery's a * b / 2^2048 mod modulus, for a, b < modulus; word by word as in Koç, Acar and
// Kaliski, "Analyzing and comparing Montgomery multiplication algorithms" (1996), CIOS.
AuthorizedKeys::Number AuthorizedKeys::multiply(const Key& key, const Number& a, const Number& b) {
    std::array<uint32_t, kWords + 2> t = {};
    for (size_t i = 0; i < kWords; ++i) {
        uint64_t carry = 0;
        for (size_t j = 0; j < kWords; ++j) {
            carry += t[j] + static_cast<uint64_t>(a[j]) * b[i];
            t[j] = static_cast<uint32_t>(carry);
            carry >>= 32;
        }
        carry += t[kWords];
        t[kWords] = static_cast<uint32_t>(carry);
        t[kWords + 1] = static_cast<uint32_t>(carry >> 32);

        const uint32_t m = t[0] * key.n0Inverse;
        carry = (t[0] + static_cast<uint64_t>(m) * key.modulus[0]) >> 32;
        for (size_t j = 1; j < kWords; ++j) {
            carry += t[j] + static_cast<uint64_t>(m) * key.modulus[j];
            t[j - 1] = static_cast<uint32_t>(carry);
            carry >>= 32;
        }
        carry += t[kWords];
        t[kWords - 1] = static_cast<uint32_t>(carry);
        t[kWords] = t[kWords + 1] + static_cast<uint32_t>(carry >> 32);
    }
    Number result;
    std::copy_n(t.begin(), kWords, result.begin());
    const bool tooLarge = t[kWords] != 0 ||
                          !std::lexicographical_compare(result.rbegin(), result.rend(),
                                                        key.modulus.rbegin(), key.modulus.rend());
    if (tooLarge) {
        uint64_t borrow = 0;
        for (size_t i = 0; i < kWords; ++i) {
            const uint64_t difference = uint64_t{result[i]} - key.modulus[i] - borrow;
            result[i] = static_cast<uint32_t>(difference);
            borrow = difference >> 63;
        }
    }
    return result;
}

AuthorizedKeys::Number AuthorizedKeys::power(const Key& key, const Number& base) {
    const Number scaled = multiply(key, base, key.rSquared);
    Number result = scaled;
    // Both exponents are 2^k + 1: square k times, then multiply once; that takes the factor out.
    for (uint32_t bit = key.exponent >> 1; bit != 0; bit >>= 1) {
        result = multiply(key, result, result);
    }
    return multiply(key, result, base);
}

bool AuthorizedKeys::verify(std::span<const uint8_t, kTokenSize> token,
                            std::span<const uint8_t> signature) const {
    if (signature.size() != kSignatureSize) {
        return false;
    }
    Number number;
    for (size_t i = 0; i < kWords; ++i) {
        const uint8_t* bytes = signature.data() + kSignatureSize - 4 * (i + 1);
        number[i] = static_cast<uint32_t>(bytes[0]) << 24 | static_cast<uint32_t>(bytes[1]) << 16 |
                    static_cast<uint32_t>(bytes[2]) << 8 | bytes[3];
    }
    const std::array<uint8_t, kSignatureSize> expected = paddedToken(token);
    return std::any_of(mKeys.begin(), mKeys.end(), [&](const Key& key) {
        if (!std::lexicographical_compare(number.rbegin(), number.rend(), key.modulus.rbegin(),
                                          key.modulus.rend())) {
            return false;
        }
        const Number opened = power(key, number);
        for (size_t i = 0; i < kWords; ++i) {
            const uint8_t* bytes = expected.data() + kSignatureSize - 4 * (i + 1);
            const uint32_t word = static_cast<uint32_t>(bytes[0]) << 24 |
                                  static_cast<uint32_t>(bytes[1]) << 16 |
                                  static_cast<uint32_t>(bytes[2]) << 8 | bytes[3];
            if (opened[i] != word) {
                return false;
            }
        }
        return true;
    });
}

}  // namespace halyard::adbd
