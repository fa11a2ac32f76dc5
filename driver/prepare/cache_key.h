// SPDX-License-Identifier: Apache-2.0
//
// CacheKey: the key by which a device authenticates what it keeps in its clients' files. A client
// that has the files does not have the key, and so can't forge them.

#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>

#include "driver/options/options.h"
#include "driver/prepare/sha256.h"
#include "engine/base/status.h"

namespace halyard::driver {

class CacheKey {
  public:
    using Bytes = std::array<uint8_t, 32>;

    // The key in the folder, which exists; made of the kernel's random numbers where there is none
    // yet. INVALID_ARGUMENT where others could have put it there or can read it: the folder, those
    // above it and the file have to belong to this process's user or root, only these may change
    // them (engine/base/trusted_path.h), and only these may read the file. INTERNAL where it
    // can't be read or made.
    static Result<std::shared_ptr<const CacheKey>> open(const std::string& folder);

    explicit CacheKey(const Bytes& bytes) : mBytes(bytes) {}
    ~CacheKey();
    CacheKey(const CacheKey&) = delete;
    CacheKey& operator=(const CacheKey&) = delete;

    // HMAC-SHA256 (RFC 2104) of the parts, one after the other.
    Sha256::Digest authenticate(std::initializer_list<std::span<const uint8_t>> parts) const;

  private:
    Bytes mBytes;
};

// That of the folder which the options name; null where they name none, and, with a warning, where
// there is none to be had: models are prepared all the same.
std::shared_ptr<const CacheKey> openCacheKey(const Options& options);

// Whether both are the same, in a time that does not tell where they differ.
bool equalDigests(std::span<const uint8_t> left, std::span<const uint8_t> right);

}  // namespace halyard::driver
