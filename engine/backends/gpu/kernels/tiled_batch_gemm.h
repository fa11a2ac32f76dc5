// SPDX-License-Identifier: Apache-2.0
//
// Products of matrices tile by tile, through a group's own memory.

#pragma once

#include <string>
#include <vector>

#include "engine/backends/gpu/kernels/batch_gemm.h"
#include "engine/backends/gpu/kernels/vector_load.h"
#include "engine/backends/gpu/planning/step_plan.h"
#include "engine/base/status.h"

namespace halyard::engine::gpu {

// How a group's work lies on its items.
struct BatchGemmTile {
    int32_t rows = 0;
    int32_t columns = 0;
    int32_t groupSplitK = 1;
    int32_t words = 32;       // of a row, at a time
    int32_t itemRows = 0;     // of an item; with the device's matrices tiles of 16, of a warp
    int32_t itemColumns = 0;  // the same, of 8
};

struct BatchGemmForm {
    BatchGemmTile form = {};
    VectorLoad vectors = {};
    bool isMatrix = false;
    bool aAcross = false;  // its vectors would lie across the products of an element
    bool bAcross = false;
    double cycles = 0;

    std::string name() const;
};

// The best first; none for types that have no tiles.
std::vector<BatchGemmForm> batchGemmForms(const StepPlan& step, const BatchGemm& product);

Status addTiledBatchGemm(StepPlan& step, const BatchGemm& product, const BatchGemmForm& choice);

}  // namespace halyard::engine::gpu
