// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>

#include "engine/base/half.h"

namespace halyard::engine {

// to[i] = toHalf(from[i]), by vectors on AArch64, in a thread that rounds to nearest. Whether
// binary16 holds them: no number became infinity. Arrays must not overlap.
bool roundToHalves(const float* from, int64_t count, Half* to);

}  // namespace halyard::engine
