// SPDX-License-Identifier: Apache-2.0
//
// CpuRef's contract with its node families: one function per node kind that computes the node from
// its definition. Written to be read; everything faster is checked against it.

#pragma once

#include <cstddef>
#include <span>

#include "engine/backends/ref/progress.h"
#include "engine/base/status.h"
#include "engine/graph/graph.h"

namespace halyard::engine::ref {

// Whether CpuRef computes this kind for these types (shapes are not looked at). UNSUPPORTED says
// which type is the trouble. Outputs come with their types.
#define HALYARD_NODE_KIND(Descriptor)                                                  \
    Status supports(const Descriptor& node, std::span<const TensorType* const> inputs, \
                    std::span<const TensorType* const> outputs);
#include "engine/graph/node_kinds.inc"
#undef HALYARD_NODE_KIND

// Computes the node. Every shape is known and inferShapes() has accepted it; inputs and outputs do
// not overlap; data is aligned to its element size. Omitted inputs have type == nullptr. Inputs
// that are worth widening (widening.h) come in FLOAT32 where the output is in FLOAT16. Loops over
// elements are loops of `progress`, whose failure ends the node. Convolutions, poolings and fully
// connected nodes look at the deadline no more often than once per pixel or unit of their output,
// however much that takes.
#define HALYARD_NODE_KIND(Descriptor)                                           \
    Status run(const Descriptor& node, std::span<const ConstTensorView> inputs, \
               std::span<const TensorView> outputs, Progress& progress);
#include "engine/graph/node_kinds.inc"
#undef HALYARD_NODE_KIND

}  // namespace halyard::engine::ref
