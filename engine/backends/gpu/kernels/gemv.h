// SPDX-License-Identifier: Apache-2.0
//
// Sums of products of a few rows with many, as fully connected layers have them: bound by what of
// the weights is read, so that many items read each row of them.

#pragma once

#include <cstdint>

#include "engine/backends/gpu/kernels/weighted_sum.h"
#include "engine/backends/gpu/planning/step_plan.h"
#include "engine/base/status.h"
#include "engine/graph/nodes.h"

namespace halyard::engine::gpu {

// Products of the step's first node: pointwise, of one group.
Status addGemv(StepPlan& step, const Geometry& geometry, Activation activation);

}  // namespace halyard::engine::gpu
