// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/kernels/mean.h"

#include <bitset>
#include <variant>

#include "engine/graph/control_input.h"
#include "engine/graph/shape_inference.h"
#include "engine/numerics/activation_range.h"
#include "engine/numerics/elements.h"
#include "engine/numerics/quantized_mean.h"

namespace halyard::engine::gpu {
namespace {

// Bytes round as quantized_mean.h has it.
Mean meanOf(const TensorType& x, const TensorType& output, int64_t count) {
    Mean mean = {.defines = {}, .numbers = {.count = static_cast<int32_t>(count)}};
    if (isQuantized(x.type)) {
        const QuantizedMean rule(x.quantization, output.quantization, count);
        mean.defines = "#define MEAN_OF_BYTES 1\n";
        mean.numbers.multiplier = rule.multiplier();
        mean.numbers.bias = rule.bias();
        mean.numbers.least = minValue(output.type);
        mean.numbers.most = maxValue(output.type);
    }
    return mean;
}

}  // namespace

Mean meanOf(const Reduce& /*node*/, const TensorType& x, const TensorType& output, int64_t count) {
    return meanOf(x, output, count);
}

// Bytes of one scale round in its own steps, halves away from zero.
Mean meanOf(const Pool2d& node, const TensorType& x, const TensorType& output, int64_t count) {
    Mean mean = meanOf(x, output, count);
    const RealRange real = rangeOf(node.activation);
    mean.numbers.low = real.low;
    mean.numbers.high = real.high;
    if (isQuantized(x.type)) {
        const QuantizedRange range = rangeOf(node.activation, output);
        mean.numbers.least = range.low;
        mean.numbers.most = range.high;
        if (x.quantization == output.quantization) {
            mean.defines = "#define MEAN_IN_STEPS 1\n";
        }
    }
    return mean;
}

Mean meanOf(const Node& node, const TensorType& x, const TensorType& output, int64_t count) {
    const auto* const pool = std::get_if<Pool2d>(&node.descriptor);
    return pool != nullptr ? meanOf(*pool, x, output, count) : meanOf(x, output, count);
}

bool isMeanOfFeatureMaps(const Pool2d& node, const Shape& x, const Shape& output) {
    const Result<ResolvedWindow> window =
            resolveWindow(node.window, x[1], x[2], node.filterH, node.filterW);
    return node.function == Pool2d::Function::AVERAGE && node.filterH == x[1] &&
           node.filterW == x[2] && output[1] == 1 && output[2] == 1 && window.ok() &&
           window->top == 0 && window->left == 0;
}

bool isMeanOfFeatureMaps(const Graph& graph, const Node& node) {
    const Shape& x = graph.tensor(node.inputs[0]).type.shape;
    const Shape& output = graph.tensor(node.outputs[0]).type.shape;
    if (!x.isFullyKnown() || !output.isFullyKnown() || x.rank() != 4) {
        return false;
    }
    if (const auto* const pool = std::get_if<Pool2d>(&node.descriptor)) {
        return isMeanOfFeatureMaps(*pool, x, output);
    }
    const auto* const reduce = std::get_if<Reduce>(&node.descriptor);
    if (reduce == nullptr || reduce->function != Reduce::Function::MEAN ||
        node.inputs[1] == kNoTensor || !graph.tensor(node.inputs[1]).isConstant()) {
        return false;
    }
    const Tensor& axes = graph.tensor(node.inputs[1]);
    const Result<std::bitset<kMaxRank>> reduced =
            readAxes({.type = &axes.type, .data = axes.constant.bytes.data()}, x.rank());
    return reduced.ok() && *reduced == std::bitset<kMaxRank>(0b0110);
}

}  // namespace halyard::engine::gpu
