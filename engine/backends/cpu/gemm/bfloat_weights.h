// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <string_view>

#include "engine/backends/cpu/gemm/conv_gemm_definition.h"
#include "engine/base/fields.h"
#include "engine/base/half.h"
#include "engine/plan/packing_recipe.h"

namespace halyard::engine::cpu {

// Whether bfloat16 has each of the weights, bit for bit: then two bytes are all of one. Of most
// weights one look is enough to see that it does not. Those that are packed away can't be seen.
struct AreBfloat16 {
    ConvGemmFilter filter;
    ConstantSource<float> weights;

    static constexpr std::string_view kName = "are bfloat16";
    HALYARD_FIELDS(filter, weights)

    bool holds() const {
        return weights.data != nullptr &&
               std::all_of(weights.data, weights.data + filter.channels * filter.depth(),
                           isBFloat16);
    }
};

}  // namespace halyard::engine::cpu
