// SPDX-License-Identifier: Apache-2.0
//
// Shape inference: the output shapes of a node from its inputs' shapes and, where they matter, its
// inputs' values. The same functions serve the verifier (unknown dimensions allowed), the planner
// (shapes of one execution) and the driver (output shapes reported to clients).

#pragma once

#include <cstdint>
#include <span>

#include "engine/base/status.h"
#include "engine/graph/graph.h"

namespace halyard::engine {

// One input, as far as inference knows it. `data` is null unless the value is known (a constant, or
// a tensor already computed). An omitted input has type == nullptr.
using KnownInput = ConstTensorView;

// Window2d with SAME and VALID resolved for one input extent and filter.
struct ResolvedWindow {
    int32_t top = 0, bottom = 0, left = 0, right = 0;
    int32_t outputH = 0, outputW = 0;
};
// Fails with INVALID_ARGUMENT if the (dilated) filter does not fit or a number overflows. An
// unknown input extent gives an unknown output extent.
Result<ResolvedWindow> resolveWindow(const Window2d& window, int32_t inputH, int32_t inputW,
                                     int32_t filterH, int32_t filterW);

// The window of a TransposeConv2d, seen from the output: what the sum of all filters' places is cut
// by. With SAME and VALID the output's extents are those asked for (unknown ones give unknown
// ones), and have to be such that a convolution from them gives the input's.
Result<ResolvedWindow> resolveTransposeWindow(const Window2d& window, int32_t inputH,
                                              int32_t inputW, int32_t filterH, int32_t filterW,
                                              int32_t outputH, int32_t outputW);

// The numpy broadcast of two shapes; unknown extents stay unknown unless the other decides.
Result<Shape> broadcastShapes(const Shape& a, const Shape& b);

// The shape that agrees with both: known wins over unknown. INVALID_ARGUMENT if they contradict
// each other.
Result<Shape> mergeShapes(const Shape& a, const Shape& b);

// Per kind: says which element types are legal (every backend may refuse some, CpuRef runs them
// all), checks ranks, extents and attributes, and writes outputs[i].shape (unknown extents where
// they can't be told yet, or where only running finds them). Only shapes are written: the caller
// has set the outputs' types and quantisation, which inference checks where the node requires them
// to agree, and may have set what it knows of their shapes, which only Lstm looks at. The counts
// are those of the kind's signature, and what is absent is omittable: inferShapes(Node) has
// checked. The values of control inputs are read where inputs[i].data is there. INVALID_ARGUMENT
// says which rule was broken.
#define HALYARD_NODE_KIND(Descriptor)                                              \
    Status inferShapes(const Descriptor& node, std::span<const KnownInput> inputs, \
                       std::span<TensorType> outputs);
#include "engine/graph/node_kinds.inc"
#undef HALYARD_NODE_KIND

// Checks the counts and what is absent against the kind's signature, then dispatches on the
// descriptor. The message of a failure starts with the node's label.
Status inferShapes(const Node& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs);

// `axis` in [-rank, rank) as one of [0, rank). INVALID_ARGUMENT otherwise.
Result<size_t> resolveAxis(int32_t axis, size_t rank);

}  // namespace halyard::engine
