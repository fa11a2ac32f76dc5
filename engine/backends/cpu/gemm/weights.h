// SPDX-License-Identifier: Apache-2.0
//
// Constant weights and biases, as kernels that pack them look at them. Inputs of such a node: x,
// weights, bias.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/backends/cpu/kernels/byte_types.h"
#include "engine/base/fields.h"
#include "engine/base/status.h"
#include "engine/graph/graph.h"
#include "engine/graph/tensor.h"
#include "engine/plan/packing_recipe.h"
#include "engine/plan/step_kernel.h"

namespace halyard::engine::cpu {

// Of a sum, and of the sums of a depthwise work item, which has a spatial position at least: the
// checkpoint is not looked at in their midst, which the reference does. No network comes near with
// one sum or one spatial position.
inline constexpr int64_t kMostTerms = int64_t{1} << 20;
inline constexpr int64_t kMostDepthwiseTerms = int64_t{1} << 24;

// Whether weights and bias are constants, and 8-bit scales such that results are numbers.
Status supportsWeights(const Graph& graph, const Node& node);
// The same, where an element of the output is a sum over the weights of one index of axis 0.
Status supportsSums(const Graph& graph, const Node& node);

// Whether a convolution has weights that are not finite and windows that may reach beyond the
// feature map: the product would multiply them with zeros there, which the reference leaves out.
bool padsWhatIsNotFinite(const Graph& graph, const Node& convolution);

inline float scaleOf(const Quantization& weights, int64_t channel) {
    return weights.channelScales.size() > 0 ? weights.channelScales[static_cast<size_t>(channel)]
                                            : weights.scale;
}

// The scales alone, as a recipe has them. Its key takes a digest: a client chooses how many scales
// there are, and how many nodes have them.
class WeightScales {
  public:
    WeightScales() = default;
    explicit WeightScales(const Quantization& weights);

    float operator[](int64_t channel) const {
        return mOfChannels.size() > 0 ? mOfChannels[static_cast<size_t>(channel)] : mWhole;
    }

    // The digest.
    size_t size() const { return mDigest.size(); }
    const uint64_t* begin() const { return mDigest.data(); }
    const uint64_t* end() const { return mDigest.data() + mDigest.size(); }

  private:
    float mWhole = 0.0F;  // where there are none of channels
    ChannelScales mOfChannels;
    std::array<uint64_t, 2> mDigest = {};
};

// Of so many panels of packed weights. RESOURCE_EXHAUSTED where that is out of reach.
Result<size_t> packedBytes(int64_t panels, int64_t panelBytes);

// Zero points as the product sees them. Processors multiply signed weights with unsigned inputs or
// with signed ones: what is not so is moved by 128, and its zero point with it.
struct ByteZeros {
    int32_t x = 0;
    int32_t weights = 0;
    uint8_t flipX = 0;  // what an input byte is combined with, by exclusive or
    uint8_t flipWeights = 0;

    HALYARD_FIELDS(x, weights, flipX, flipWeights)
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

// An input that is a constant, or left out, as a source for packing.
template <typename T>
ConstantSource<T> constantOf(const KernelArguments& arguments, size_t input) {
    const TensorId id = arguments.node.inputs[input];
    return id == kNoTensor ? ConstantSource<T>()
                           : ConstantSource<T>::of(arguments.graph.tensor(id));
}

inline const TensorType& typeOf(const KernelArguments& arguments, TensorId tensor) {
    return arguments.graph.tensor(tensor).type;
}

}  // namespace halyard::engine::cpu
