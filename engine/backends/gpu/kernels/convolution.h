// SPDX-License-Identifier: Apache-2.0
//
// Convolution as GEMM.

#pragma once

#include "engine/backends/gpu/kernels/weighted_sum.h"
#include "engine/base/status.h"
#include "engine/graph/nodes.h"
#include "engine/graph/tensor.h"

namespace halyard::engine::gpu {

// All shapes are known.
Result<Geometry> geometryOf(const Conv2d& node, const Shape& x, const Shape& filter,
                            const Shape& output);

}  // namespace halyard::engine::gpu
