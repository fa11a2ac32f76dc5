// SPDX-License-Identifier: Apache-2.0
//
// GEMM for each matrix of a batch in tiles, through local memory.

#pragma once

#include "engine/backends/gpu/kernels/batch_gemm.h"
#include "engine/backends/gpu/kernels/gemm_chooser.h"
#include "engine/backends/gpu/planning/step_plan.h"
#include "engine/base/status.h"

namespace halyard::engine::gpu {

// The forms of a step's batch GEMM. Operands of two types have no tiles.
GemmChoices batchGemmChoices(const StepPlan& step, const BatchGemm& gemm);

// With a tiled one of them.
Status addTiledBatchGemm(StepPlan& step, const BatchGemm& gemm, const GemmForm& form);

}  // namespace halyard::engine::gpu
