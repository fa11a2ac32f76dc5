// SPDX-License-Identifier: Apache-2.0
//
// Sums of products tile by tile, through a group's own memory, with what comes behind them.

#pragma once

#include <cstddef>
#include <span>

#include "engine/backends/gpu/kernels/horizontal_fusion.h"
#include "engine/backends/gpu/kernels/weighted_sum.h"
#include "engine/backends/gpu/planning/step_plan.h"
#include "engine/base/status.h"
#include "engine/graph/nodes.h"

namespace halyard::engine::gpu {

// Products of the step's first node. Those of one group of channels go with those of its own.
Status addTiledGemm(StepPlan& step, const Geometry& geometry, Activation activation);

// Products of one x, of pixels alone, by the weights of each horizontally fused layer.
Status addTiledHorizontalFusion(StepPlan& step, const Geometry& geometry,
                                std::span<const FusedBranch> fusedBranches);

// As addTiledGemm(), and a depthwise convolution of its results, node `which` of the step, whose
// `window` slides over pixels that a group computes for itself, those at the edges as its
// neighbours do.
Status addTiledPointwiseDepthwise(StepPlan& step, const Geometry& geometry, Activation activation,
                                  size_t which, const Geometry& window,
                                  Activation depthwiseActivation);

// The same, and the means over pictures of its results that node `which` of the step takes: each
// group has all pixels of a picture.
Status addTiledPooledGemm(StepPlan& step, const Geometry& geometry, Activation activation,
                          size_t which);

}  // namespace halyard::engine::gpu
