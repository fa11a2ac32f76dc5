// SPDX-License-Identifier: Apache-2.0
//
// Functions of elements as maps, for what computes them on its way to the store.

#pragma once

#include <cstddef>

#include "engine/backends/gpu/kernels/map.h"
#include "engine/backends/gpu/planning/step_plan.h"
#include "engine/graph/nodes.h"

namespace halyard::engine::gpu {

// Of node `which` of the step, which is such a node and supported.
Map mapOf(const Activate& node, StepPlan& step, size_t which);
Map mapOf(const Binary& node, StepPlan& step, size_t which);

}  // namespace halyard::engine::gpu
