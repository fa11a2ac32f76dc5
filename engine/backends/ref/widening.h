// SPDX-License-Identifier: Apache-2.0
//
// Widening: a node that reads its FLOAT16 inputs many times over is given copies of them in
// FLOAT32, since converting an element at every read takes longer than the arithmetic. What it
// computes is the same, bit for bit.

#pragma once

#include <span>

#include "engine/backends/ref/progress.h"
#include "engine/base/status.h"
#include "engine/graph/graph.h"

namespace halyard::engine::ref {

// Whether the node's FLOAT16 inputs are worth widening. Shapes are known.
bool isWorthWidening(const Node& node, const TensorType& output);

// Fills `wide`, of type FLOAT32, from `narrow`, which has the same shape in FLOAT16.
Status widen(const ConstTensorView& narrow, const TensorView& wide, Progress& progress);

}  // namespace halyard::engine::ref
