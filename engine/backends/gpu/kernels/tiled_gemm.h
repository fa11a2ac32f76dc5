// SPDX-License-Identifier: Apache-2.0
//
// Tiled GEMM through local memory, of convolutions and fully connected layers, with its epilogue
// and what is fused with it.

#pragma once

#include <cstddef>
#include <span>

#include "engine/backends/gpu/kernels/horizontal_fusion.h"
#include "engine/backends/gpu/kernels/multiply_accumulate.h"
#include "engine/backends/gpu/planning/step_plan.h"
#include "engine/base/status.h"
#include "engine/graph/nodes.h"

namespace halyard::engine::gpu {

// GEMM of the step's first node. Each group of a grouped convolution has a GEMM of its own.
Status addTiledGemm(StepPlan& step, const Geometry& geometry, Activation activation);

// Horizontally fused fully connected layers: GEMM of one x by the weights of each.
Status addTiledHorizontalFusion(StepPlan& step, const Geometry& geometry,
                                std::span<const FusedBranch> fusedBranches);

// addTiledGemm() fused with a depthwise convolution of its results, node `which` of the step. Each
// work-group recomputes the positions at the edges of its tile that its neighbours compute as well.
Status addTiledPointwiseDepthwise(StepPlan& step, const Geometry& geometry, Activation activation,
                                  size_t which, const Geometry& window,
                                  Activation depthwiseActivation);

// addTiledGemm() fused with the mean of each feature map of its results, node `which` of the step:
// a work-group has all positions of a feature map.
Status addTiledPooledGemm(StepPlan& step, const Geometry& geometry, Activation activation,
                          size_t which);

}  // namespace halyard::engine::gpu
