// SPDX-License-Identifier: Apache-2.0
//
// Constant weights and biases, as kernels that pack them look at them. Inputs of such a node: x,
// weights, bias.

#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

#include "engine/backends/cpu/elementwise/byte_types.h"
#include "engine/base/status.h"
#include "engine/graph/graph.h"
#include "engine/graph/tensor.h"
#include "engine/plan/step_kernel.h"

namespace halyard::engine::cpu {

// Of a sum, and of the sums of a depthwise unit, which has a pixel at least: nobody asks in their
// midst whether it is time to stop, which the reference does. No network comes near with one sum or
// one pixel.
inline constexpr int64_t kMostTerms = int64_t{1} << 20;
inline constexpr int64_t kMostDepthwiseTerms = int64_t{1} << 24;

// Whether weights and bias are constants, and 8-bit scales such that results are numbers.
Status supportsWeights(const Graph& graph, const Node& node);
// The same, where an element of the output is a sum over the weights of one index of axis 0.
Status supportsSums(const Graph& graph, const Node& node);

// Whether a convolution has weights that are not finite and windows that may reach beyond the
// picture: the product would multiply them with zeros there, which the reference leaves out.
bool padsWhatIsNotFinite(const Graph& graph, const Node& convolution);

inline float scaleOf(const Quantization& weights, int64_t channel) {
    return weights.channelScales.size() > 0 ? weights.channelScales[static_cast<size_t>(channel)]
                                            : weights.scale;
}

// Of so many panels of packed weights. RESOURCE_EXHAUSTED where that is out of reach.
Result<size_t> packedBytes(int64_t panels, int64_t panelBytes);

// Zero points as the product sees them. Processors multiply signed weights with unsigned inputs or
// with signed ones: what is not so is moved by 128, and its zero point with it.
struct ByteZeros {
    int32_t x = 0;
    int32_t weights = 0;
    uint8_t flipX = 0;  // what an input byte is combined with, by exclusive or
    uint8_t flipWeights = 0;

    friend auto operator<=>(const ByteZeros&, const ByteZeros&) = default;
};

// `signedInputs`: the processor multiplies those.
inline ByteZeros byteZerosOf(const TensorType& x, const TensorType& weights, bool signedInputs) {
    ByteZeros zeros;
    zeros.x = x.quantization.zeroPoint;
    if ((x.type == DataType::QUANT8_ASYMM_SIGNED) != signedInputs) {
        zeros.x += signedInputs ? -128 : 128;
        zeros.flipX = 0x80;
    }
    if (weights.type != DataType::QUANT8_SYMM_PER_CHANNEL) {
        zeros.weights = weights.quantization.zeroPoint;
    }
    if (weights.type == DataType::QUANT8_ASYMM) {
        zeros.weights -= 128;
        zeros.flipWeights = 0x80;
    }
    return zeros;
}

// The bytes of a constant, which live as long as the graph.
template <typename T>
const T* constantOf(const KernelArguments& arguments, size_t input) {
    return reinterpret_cast<const T*>(
            arguments.graph.tensor(arguments.node.inputs[input]).constant.bytes.data());
}

inline const TensorType& typeOf(const KernelArguments& arguments, TensorId tensor) {
    return arguments.graph.tensor(tensor).type;
}

}  // namespace halyard::engine::cpu
