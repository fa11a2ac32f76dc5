// SPDX-License-Identifier: Apache-2.0
//
// The scalars that place a 2-D window, which convolutions and poolings share.

#pragma once

#include <cstddef>

#include "driver/ops/lowering.h"
#include "engine/base/status.h"
#include "engine/graph/nodes.h"

namespace halyard::driver {

// Reads the padding at `position`: with `isExplicit` left, right, top and bottom, otherwise NNAPI's
// scheme code; then the strides by width and height. Moves `position` past what it has read.
// INVALID_ARGUMENT: negative padding, a stride below 1, an unknown scheme.
Result<engine::Window2d> readWindow(const Lowering& lowering, bool isExplicit, size_t& position);

// The dilations by width and height at `position`, or 1 where the operation ends before them.
Status readDilation(const Lowering& lowering, size_t position, engine::Window2d& window);

}  // namespace halyard::driver
