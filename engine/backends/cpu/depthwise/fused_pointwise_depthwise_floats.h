// SPDX-License-Identifier: Apache-2.0
//
// Expanding some channels of a feature map of floats and filtering them.

#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/backends/cpu/choice/fused_tiling.h"
#include "engine/backends/cpu/depthwise/depthwise_line.h"
#include "engine/backends/cpu/depthwise/fused_pointwise_depthwise_kernel.h"
#include "engine/backends/cpu/gemm/float_gemm.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/base/status.h"
#include "engine/numerics/activation_range.h"

namespace halyard::engine::cpu {

struct FusedPointwiseDepthwiseFloatForms {
    const FloatGemm& product;
    const FloatDepthwise& depthwise;

    static FusedPointwiseDepthwiseFloatForms of(InstructionSet set) {
        return {.product = floatGemm(set), .depthwise = floatDepthwise(set)};
    }
};

struct FusedPointwiseDepthwiseFloatDefinition : FusedPointwiseDepthwiseDefinition {
    RealRange expansionRange;
    RealRange depthwiseRange;
    bool mayPad = false;  // with zeros, which any weight may be multiplied with

    // Of the two nodes and what lies between them, without what follows. Packs their constants.
    static Result<FusedPointwiseDepthwiseFloatDefinition> of(
            const FusedPointwiseDepthwiseNodes& nodes, const CpuTarget& target);
};

class FusedPointwiseDepthwiseFloats final : public FusedWorkItems {
  public:
    FusedPointwiseDepthwiseFloats(const FusedPointwiseDepthwiseFloatForms& forms,
                                  const FusedPointwiseDepthwiseFloatDefinition& definition,
                                  const FusedFeatureMap& featureMap, const FusedTiling& cut)
        : FusedWorkItems(definition, featureMap, cut),
          mProduct(forms.product),
          mDepthwise(forms.depthwise),
          mDefinition(definition) {}

    Status create();

  private:
    void expand(const KernelCall& call, const FusedWorkItem& item,
                std::byte* memory) const override;
    void filter(const KernelCall& call, const FusedWorkItem& item,
                std::byte* memory) const override;

    const FloatGemm& mProduct;
    const FloatDepthwise& mDepthwise;
    const FusedPointwiseDepthwiseFloatDefinition& mDefinition;
    size_t mExpanded = 0;
    ptrdiff_t mLater = 0;
};

}  // namespace halyard::engine::cpu
