// SPDX-License-Identifier: Apache-2.0
//
// Reductions that other nodes come down to.

#pragma once

#include "engine/backends/gpu/step_plan.h"
#include "engine/base/status.h"
#include "engine/numerics/activation_range.h"

namespace halyard::engine::gpu {

// Whether the device has groups that are large enough for reductions of neighbouring columns.
bool hasColumns(const DeviceFacts& facts);

// On such a device: the mean over height and width of the step's input, of floats [N, H, W, C],
// limited to the range.
Status addMeanOfPictures(StepPlan& step, RealRange range);

}  // namespace halyard::engine::gpu
