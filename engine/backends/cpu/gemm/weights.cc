// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/gemm/weights.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <variant>

#include "engine/base/checked_math.h"
#include "engine/base/checksum.h"
#include "engine/numerics/finite.h"
#include "engine/numerics/requantize.h"

namespace halyard::engine::cpu {

Status supportsWeights(const Graph& graph, const Node& node) {
    const TensorType& x = graph.tensor(node.inputs[0]).type;
    const Tensor& weights = graph.tensor(node.inputs[1]);
    if (!weights.isConstant() || !graph.tensor(node.inputs[2]).isConstant()) {
        return unsupported("packs weights and bias beforehand, and here they are computed");
    }
    if (!isOfBytes(x.type)) {
        return {};
    }
    const Quantization& quantization = weights.type.quantization;
    const float outputScale = graph.tensor(node.outputs[0]).type.quantization.scale;
    const size_t scales = std::max<size_t>(quantization.channelScales.size(), 1);
    for (size_t i = 0; i < scales; ++i) {
        const float weightScale = scaleOf(quantization, static_cast<int64_t>(i));
        if (!std::isfinite(multiplier(x.quantization.scale, weightScale, outputScale))) {
            return unsupported("has no kernel for scales whose product is out of range");
        }
    }
    return {};
}

Status supportsSums(const Graph& graph, const Node& node) {
    HALYARD_RETURN_IF_ERROR(supportsWeights(graph, node));
    const Shape& weights = graph.tensor(node.inputs[1]).type.shape;
    int64_t terms = 1;
    for (const int32_t extent : weights.extents().subspan(1)) {
        terms *= extent;
        if (terms > kMostTerms) {
            return unsupported("sums at most " + std::to_string(kMostTerms) + " products");
        }
    }
    return {};
}

bool padsWhatIsNotFinite(const Graph& graph, const Node& convolution) {
    const auto* const node = std::get_if<Conv2d>(&convolution.descriptor);
    if (node == nullptr) {
        return false;
    }
    const Window2d& window = node->window;
    const Tensor& weights = graph.tensor(convolution.inputs[1]);
    const Shape& filter = weights.type.shape;
    // A window of one element lies within the feature map, unless it is said to lie outside.
    const bool isPoint = filter[1] == 1 && filter[2] == 1;
    const bool pads =
            (window.padding == PaddingScheme::SAME && !isPoint) ||
            (window.padding == PaddingScheme::EXPLICIT &&
             (window.top != 0 || window.bottom != 0 || window.left != 0 || window.right != 0));
    // Such weights are never packed.
    return pads && !weights.isPackedAway() && !areFinite(weights.type.type, weights.constant.bytes);
}

WeightScales::WeightScales(const Quantization& weights)
    : mWhole(weights.scale), mOfChannels(weights.channelScales) {
    Checksum sum;
    const auto add = [&](const float* values, size_t count) {
        sum.add({reinterpret_cast<const uint8_t*>(values), count * sizeof(float)});
    };
    add(&mWhole, 1);
    add(mOfChannels.begin(), mOfChannels.size());
    mDigest = {mOfChannels.size(), sum.value()};
}

Result<size_t> packedBytes(int64_t panels, int64_t panelBytes) {
    const std::optional<size_t> bytes =
            checkedMultiply(static_cast<size_t>(panels), static_cast<size_t>(panelBytes));
    if (!bytes.has_value()) {
        return outOfReach("its packed weights are out of reach");
    }
    return *bytes;
}

}  // namespace halyard::engine::cpu
