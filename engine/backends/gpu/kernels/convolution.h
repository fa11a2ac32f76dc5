// SPDX-License-Identifier: Apache-2.0
//
// Convolution as GEMM.

#pragma once

#include <string>

#include "engine/backends/gpu/device/device_facts.h"
#include "engine/backends/gpu/kernels/multiply_accumulate.h"
#include "engine/backends/gpu/vendor/matrix_unit.h"
#include "engine/base/status.h"
#include "engine/graph/graph.h"
#include "engine/graph/nodes.h"
#include "engine/graph/tensor.h"

namespace halyard::engine::gpu {

// All shapes are known.
Result<Geometry> geometryOf(const Conv2d& node, const Shape& x, const Shape& filter,
                            const Shape& output);

// For people: the forms that lost the choice of the GEMM of a Conv2d or FullyConnected which is
// fused with its epilogue alone (GemmChoices::lostForms()). Empty of other nodes, and where only a
// run tells the shapes.
std::string lostGemmForms(const Graph& graph, const Node& node, bool mayRound,
                          const DeviceFacts& facts, const MatrixFeatures& matrixFeatures);

}  // namespace halyard::engine::gpu
