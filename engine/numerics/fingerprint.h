// SPDX-License-Identifier: Apache-2.0
//
// FarmHash's Fingerprint64, whose value for given bytes never changes (github.com/google/farmhash,
// namespace farmhashna). LSH_PROJECTION is defined by it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "engine/base/status.h"

namespace halyard::engine {

// Of bytes at any address; words are read as little-endian on every machine.
uint64_t fingerprint64(std::span<const std::byte> bytes);
// The same of very many bytes: `pause` is told each time how many have gone in since the last, some
// ten thousand, and a failure of its ends the work.
Result<uint64_t> fingerprint64(std::span<const std::byte> bytes,
                               const std::function<Status(size_t)>& pause);

}  // namespace halyard::engine
