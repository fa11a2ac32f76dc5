// SPDX-License-Identifier: Apache-2.0
//
// Which form computes a depthwise convolution.

#pragma once

#include <cstdint>

#include "engine/backends/cpu/choice/form_choice.h"
#include "engine/backends/cpu/hardware/cpu_tuning.h"
#include "engine/base/status.h"

namespace halyard::engine::cpu {

// The layer that a depthwise form is chosen for.
struct DepthwiseLayer {
    bool isInt8 = false;
    bool isHalf = false;
    int64_t outputH = 1, outputW = 1;
    int64_t channels = 1;
    int64_t multiplier = 1;
    int64_t filterH = 3, filterW = 3;
    int64_t strideH = 1, strideW = 1;
    int64_t dilationH = 1, dilationW = 1;
    int64_t lanes = 4;             // floats of a vector
    bool areFinite = true;         // the weights: zeros around the feature map may meet them
    bool hasSignedWeights = true;  // int8 without a zero point
    bool fitsPairs = true;         // and none of them is -128: 16 bits hold two products

    static DepthwiseLayer of(int64_t output, int64_t channels, int64_t side, int64_t stride,
                             int64_t lanes);
    DepthwiseLayer ofInt8() const {
        DepthwiseLayer layer = *this;
        layer.isInt8 = true;
        return layer;
    }
};

struct DepthwiseChoice {
    Form form = Form::DEPTHWISE_ROWS;
    // Of DEPTHWISE_PATCHES: rows of the output that a padded input tile is for, at most.
    int64_t patchLines = 0;
    LostForms lost;
};

DepthwiseChoice chooseDepthwise(const DepthwiseLayer& layer, const CpuTarget& target);

// Whether `fitsPairs` decides on the form: finding out reads all weights.
bool mayPairProducts(const DepthwiseLayer& layer, InstructionSet set);

// Rows of the output that a padded input tile may have: as many as L1d takes. UNSUPPORTED where
// rows one by one are better, or there is no such kernel.
Result<int64_t> patchLines(const DepthwiseLayer& layer, const DepthwiseTuning& tuning);

}  // namespace halyard::engine::cpu
