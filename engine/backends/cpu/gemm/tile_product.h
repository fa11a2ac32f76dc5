// SPDX-License-Identifier: Apache-2.0
//
// Convolutions and fully connected layers of bytes by tile_matmul.h.

#pragma once

#include <memory>
#include <string_view>

#include "engine/backends/cpu/gemm/product_definition.h"
#include "engine/backends/cpu/gemm/tile_matmul.h"
#include "engine/base/status.h"
#include "engine/plan/step_kernel.h"

namespace halyard::engine::cpu {

// Whether tiles can compute the node: its results are of its input's type, and no multiplier is
// more than kMostTileMultiplier.
bool fitsTiles(const Graph& graph, const Node& node);

// Whether tiles are the faster form of a node with that output: not where most of each would stay
// empty, or where nobody knows yet how many rows there are.
bool paysAsTiles(const ProductFilter& filter, const Shape& output);

// Takes what fitsTiles(). `set` is what the form is called by.
Result<std::unique_ptr<const StepKernel>> compileTileProduct(ProductDefinition definition,
                                                             const KernelArguments& arguments,
                                                             const TileMatmul& form,
                                                             std::string_view set);

}  // namespace halyard::engine::cpu
