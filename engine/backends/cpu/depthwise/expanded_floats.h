// SPDX-License-Identifier: Apache-2.0
//
// Expanding some channels of a picture of floats and filtering them: what kernels of
// expanded_depthwise.h and residual_by_channels.h have in common.

#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/backends/cpu/depthwise/depthwise_line.h"
#include "engine/backends/cpu/depthwise/expanded_kernel.h"
#include "engine/backends/cpu/depthwise/expanded_picture.h"
#include "engine/backends/cpu/gemm/float_matmul.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/base/status.h"
#include "engine/numerics/activation_range.h"

namespace halyard::engine::cpu {

struct ExpandedFloatForms {
    const FloatMatmul& product;
    const FloatDepthwise& depthwise;

    static ExpandedFloatForms of(InstructionSet set) {
        return {.product = floatMatmul(set), .depthwise = floatDepthwise(set)};
    }
};

struct ExpandedFloatDefinition : ExpandedDefinition {
    RealRange expansionRange;
    RealRange depthwiseRange;
    bool mayPad = false;  // with zeros, which any weight may be multiplied with

    // Of the two nodes and what lies between them, without what follows. Packs their constants.
    static Result<ExpandedFloatDefinition> of(const ExpandedNodes& nodes, InstructionSet set);
};

class ExpandedFloats final : public ExpandedUnits {
  public:
    ExpandedFloats(const ExpandedFloatForms& forms, const ExpandedFloatDefinition& definition,
                   const ExpandedPicture& picture, const ExpandedCut& cut)
        : ExpandedUnits(definition, picture, cut),
          mProduct(forms.product),
          mDepthwise(forms.depthwise),
          mDefinition(definition) {}

    Status create();

    // The unit's results, without what follows the nodes, to y, whose pixels lie `yPixel` elements
    // apart. `memory` is threadBytes() of the thread's.
    void computeTo(const KernelCall& call, const ExpandedUnit& unit, std::byte* memory, float* y,
                   ptrdiff_t yPixel) const {
        expand(call, unit, memory);
        filterTo(call, unit, memory, y, yPixel);
    }

  private:
    void expand(const KernelCall& call, const ExpandedUnit& unit, std::byte* memory) const override;
    void filter(const KernelCall& call, const ExpandedUnit& unit,
                std::byte* memory) const override {
        filterTo(call, unit, memory, call.output(0).as<float>() + outputOffset(unit),
                 mPicture.channels);
    }
    void filterTo(const KernelCall& call, const ExpandedUnit& unit, std::byte* memory, float* y,
                  ptrdiff_t yPixel) const;

    const FloatMatmul& mProduct;
    const FloatDepthwise& mDepthwise;
    const ExpandedFloatDefinition& mDefinition;
    size_t mExpanded = 0;
    ptrdiff_t mLater = 0;
};

}  // namespace halyard::engine::cpu
