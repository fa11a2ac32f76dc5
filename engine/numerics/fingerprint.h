// SPDX-License-Identifier: Apache-2.0
//
// FarmHash's Fingerprint64, whose value for given bytes never changes (github.com/google/farmhash,
// namespace farmhashna). LSH_PROJECTION is defined by it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace halyard::engine {

// Of bytes at any address; words are read as little-endian on every machine.
uint64_t fingerprint64(std::span<const std::byte> bytes);

}  // namespace halyard::engine
