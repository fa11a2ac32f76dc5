// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>

namespace halyard::engine {

// Every tensor in the arena and every workspace starts at a multiple of this many bytes. Tensors
// bound to the caller's memory are aligned to their element size only.
inline constexpr size_t kTensorAlignment = 64;

}  // namespace halyard::engine
