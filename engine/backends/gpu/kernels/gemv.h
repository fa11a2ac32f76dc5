// SPDX-License-Identifier: Apache-2.0
//
// GEMV, as fully connected layers of few rows are: bound by the weights that are read, so that a
// team of work-items reads each row of them.

#pragma once

#include <cstdint>

#include "engine/backends/gpu/kernels/multiply_accumulate.h"
#include "engine/backends/gpu/planning/step_plan.h"
#include "engine/base/status.h"
#include "engine/graph/nodes.h"

namespace halyard::engine::gpu {

// GEMM of the step's first node, which is pointwise and not grouped.
Status addGemv(StepPlan& step, const Geometry& geometry, Activation activation);

}  // namespace halyard::engine::gpu
