// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/ref/widening.h"

#include <cstdint>
#include <variant>

#include "engine/backends/ref/elements.h"

namespace halyard::engine::ref {
namespace {

// How often a weight has to be read before a copy of the weights, twice their size, pays.
constexpr int64_t kFewestReads = 16;

}  // namespace

bool isWorthWidening(const Node& node, const TensorType& output) {
    const bool isWeightedSum = std::holds_alternative<Conv2d>(node.descriptor) ||
                               std::holds_alternative<DepthwiseConv2d>(node.descriptor) ||
                               std::holds_alternative<FullyConnected>(node.descriptor);
    if (!isWeightedSum || output.shape.rank() == 0) {
        return false;
    }
    // Each weight belongs to one channel, the last dimension, and is read for all its elements.
    Shape positions = output.shape;
    positions[positions.rank() - 1] = 1;
    return countOf(positions) >= kFewestReads;
}

Status widen(const ConstTensorView& narrow, const TensorView& wide, Progress& progress) {
    const Half* from = narrow.as<Half>();
    float* to = wide.as<float>();
    return progress.forEach(countOf(narrow.shape()), 1,
                            [&](int64_t i) { to[i] = toFloat(from[i]); });
}

}  // namespace halyard::engine::ref
