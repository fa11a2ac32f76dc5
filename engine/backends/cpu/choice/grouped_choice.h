// SPDX-License-Identifier: Apache-2.0
//
// Which form computes a convolution in groups: a GEMM of each group, or vectors that have the
// output channels of several groups (gemm/grouped_conv.h).

#pragma once

#include <cstdint>

#include "engine/backends/cpu/choice/form_choice.h"
#include "engine/backends/cpu/choice/gemm_choice.h"
#include "engine/base/status.h"

namespace halyard::engine::cpu {

// Groups that a vector of so many lanes has the channels of: those of the input and of the output.
int64_t groupsOfVector(int64_t groupDepth, int64_t groupColumns, int64_t lanes);

struct GroupedChoice {
    Form form = Form::FLOAT_GEMM;
    LostForms lost;
};

// `layer`: a convolution with lanes of the float kernels and groups above 1.
GroupedChoice chooseGrouped(const GemmLayer& layer);

}  // namespace halyard::engine::cpu
