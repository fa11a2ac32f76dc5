// SPDX-License-Identifier: Apache-2.0
//
// Depthwise convolutions of floats over feature maps that are small next to their filter, of which
// much is edge: a block of channels at a time, copied with its padding.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "engine/backends/cpu/depthwise/depthwise_line.h"
#include "engine/backends/cpu/depthwise/depthwise_lines.h"
#include "engine/base/status.h"
#include "engine/graph/tensor.h"
#include "engine/plan/step_kernel.h"

namespace halyard::engine::cpu {

// How the work is cut: into lines of a feature map, and blocks of its channels.
class DepthwisePatches {
  public:
    // Nothing where lines one by one are better, or the node is another one than there are kernels
    // for. The weights are finite; the multiplier is 1.
    static Result<std::optional<DepthwisePatches>> create(const DepthwiseDefinition& definition,
                                                          const FloatDepthwise& form,
                                                          const Shape& x, const Shape& output);

    int64_t items() const { return mFeatureMaps * mLineGroups * mBlockGroups; }
    int64_t workItemOperations() const {
        return mPatch.lines * mPatch.outputW * mPatch.side * mPatch.side * mBlocks * mLanes;
    }
    // Of the copy, in elements.
    size_t copyLength() const {
        return static_cast<size_t>(mPatch.copyW() * mPatch.copyH() * mLanes);
    }

    // What a work item computes, given the tensors; its panels, memory and bounds are the caller's.
    FloatDepthwisePatch patchOf(int64_t item, const float* x, float* y) const;
    EpilogueRows outputRows(int64_t item) const;

  private:
    struct Place {
        int64_t featureMap, line, block;
    };
    Place placeOf(int64_t item) const;

    FloatDepthwisePatch mPatch;  // of full size, at the feature map's beginning
    int64_t mLanes = 1;
    int64_t mOutputH = 1;
    int64_t mFeatureMaps = 1, mLineGroups = 1;
    int64_t mBlocks = 1, mAllBlocks = 1, mBlockGroups = 1;
};

Result<std::shared_ptr<const ShapedKernel>> shapePatches(const DepthwisePatches& patches,
                                                         const FloatDepthwise& form,
                                                         const DepthwiseDefinition& definition,
                                                         PackedConstant panels);

}  // namespace halyard::engine::cpu
