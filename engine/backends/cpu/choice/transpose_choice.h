// SPDX-License-Identifier: Apache-2.0
//
// Which form computes a transposed convolution (gemm/stride_phase.h).

#pragma once

#include <cstdint>

#include "engine/backends/cpu/choice/form_choice.h"
#include "engine/backends/cpu/choice/gemm_choice.h"
#include "engine/backends/cpu/hardware/cpu_tuning.h"
#include "engine/base/status.h"

namespace halyard::engine::cpu {

// Each stride phase is a GEMM with work items of its own.
inline constexpr int64_t kMostStridePhases = 1024;

// What a choice depends on. Extents that only a run tells are kUnknownExtent.
struct TransposeLayer {
    GemmLayer::Elements elements = GemmLayer::Elements::FLOAT;
    int64_t batches = 1, outputH = 1, outputW = 1;
    int64_t inputH = 1, inputW = 1;
    int64_t inputC = 1, outputC = 1;
    int64_t filterH = 1, filterW = 1;
    int64_t strideH = 1, strideW = 1;
    int64_t left = 0;  // of what the filters cover, positions that are no output's
};

struct TransposeChoice {
    Form form = Form::STRIDE_PHASES;
    double cycles = 0.0;  // estimated, on one core; 0 where extents are unknown
    LostForms lost;
};

TransposeChoice chooseTranspose(const TransposeLayer& layer, const CpuTuning& tuning);

// Whether there are floats, of known extents, and lines that are not work for too long.
Status isLegalWithCol2im(const TransposeLayer& layer, const CpuTuning& tuning);

// Whether all phases of a line see the same taps and end together.
Status isLegalWithMergedPhases(const TransposeLayer& layer);

}  // namespace halyard::engine::cpu
