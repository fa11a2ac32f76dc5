// SPDX-License-Identifier: Apache-2.0
//
// Which form computes a depthwise convolution of int8 or FLOAT16. One of FLOAT32 has a single form.

#pragma once

#include <cstdint>

#include "engine/backends/cpu/choice/form_choice.h"
#include "engine/backends/cpu/vectors/instruction_set.h"

namespace halyard::engine::cpu {

// The layer that an int8 depthwise form is chosen for.
struct Int8DepthwiseLayer {
    int64_t channels = 1;
    bool blocksOverlap = true;  // of channels: the last one may have some of the one before
    int64_t filterH = 3, filterW = 3;
    int64_t strideW = 1;
    int64_t dilationW = 1;
    bool hasSignedWeights = true;  // int8 without a zero point
    bool fitsPairs = true;         // and none of them is -128: 16 bits hold two products
};

struct DepthwiseChoice {
    Form form = Form::INT8_DEPTHWISE_WIDENED;
    LostForms lost;
};

DepthwiseChoice chooseInt8Depthwise(const Int8DepthwiseLayer& layer, InstructionSet set);

// Whether `fitsPairs` decides on the form: finding out reads all weights.
bool mayPairProducts(const Int8DepthwiseLayer& layer, InstructionSet set);

// The form of a layer of FLOAT16. `isRough`: results may be as rough as sums of binary16 are.
DepthwiseChoice chooseHalfDepthwise(bool isRough, InstructionSet set);

}  // namespace halyard::engine::cpu
