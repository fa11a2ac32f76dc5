// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "engine/backends/gpu/kernels/gemm_chooser.h"
#include "engine/backends/gpu/planning/step_plan.h"

namespace halyard::engine::gpu {

// Of the GEMM that node `which` of a step is; its first input is x.
inline GemmNeeds gemmNeedsOf(const StepPlan& step, size_t which = 0) {
    return {.x = step.input(0, which).type,
            .mayRound = step.mayRound(),
            .facts = step.facts(),
            .matrixFeatures = step.matrixFeatures()};
}

}  // namespace halyard::engine::gpu
