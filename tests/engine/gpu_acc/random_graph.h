// SPDX-License-Identifier: Apache-2.0
//
// Random graphs of what GpuAcc computes together: layers of one tensor, gates, sums, matrices and
// what moves elements, most results read several times or outputs as well. Extents are few, so that
// kernels are.

#pragma once

#include <gtest/gtest.h>

#include "engine/graph/graph.h"
#include "tests/engine/gpu_acc/on_device.h"

namespace halyard::engine::gpu_test {

// A verified graph of up to so many nodes whose tensors have this type.
Graph randomGraph(RandomValues& random, DataType type, int nodes);

// Whether the whole graph is GpuAcc's, and its results on the device are CpuRef's: bit for bit, or
// floats to within a part of the largest one. What is not finite there is not compared.
testing::AssertionResult agreesAsAWhole(const Graph& graph, const Backend& backend,
                                        RandomValues& random, double tolerance);

}  // namespace halyard::engine::gpu_test
