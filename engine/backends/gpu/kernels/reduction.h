// SPDX-License-Identifier: Apache-2.0
//
// Reductions that other nodes come down to.

#pragma once

#include "engine/backends/gpu/kernels/mean.h"
#include "engine/backends/gpu/planning/step_plan.h"
#include "engine/base/status.h"

namespace halyard::engine::gpu {

// Whether the device has work-groups that are large enough for reductions of neighbouring columns.
bool hasColumns(const DeviceFacts& facts);

// On such a device: the mean over height and width of the step's input, of floats [N, H, W, C],
// by the rule of `mean`.
Status addMeanOfFeatureMaps(StepPlan& step, const Mean& mean);

}  // namespace halyard::engine::gpu
