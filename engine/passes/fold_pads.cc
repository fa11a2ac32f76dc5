// SPDX-License-Identifier: Apache-2.0

#include "engine/passes/fold_pads.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <variant>

#include "engine/base/half.h"
#include "engine/graph/control_input.h"
#include "engine/numerics/finite.h"

namespace halyard::engine {
namespace {

// The padding that a Pad of an [N, H, W, C] tensor adds along H and W.
struct SpatialPad {
    Padding height;
    Padding width;
};

std::optional<SpatialPad> spatialPadOf(const Graph& graph, const Node& pad) {
    const KnownInput list = knownInput(graph, pad.inputs[1]);
    const Shape& shape = graph.tensor(pad.inputs[0]).type.shape;
    if (list.data == nullptr || !shape.hasKnownRank() || shape.rank() != 4) {
        return std::nullopt;
    }
    const Result<Paddings> paddings = readPaddings(list, shape.rank());
    if (!paddings.ok()) {
        return std::nullopt;
    }
    const auto isNothing = [](const Padding& padding) {
        return padding.before == 0 && padding.after == 0;
    };
    if (!isNothing((*paddings)[0]) || !isNothing((*paddings)[3])) {
        return std::nullopt;
    }
    return SpatialPad{.height = (*paddings)[1], .width = (*paddings)[2]};
}

template <typename T>
T elementAt(const void* data) {
    T element;
    std::memcpy(&element, data, sizeof element);
    return element;
}

// The stored number that a Pad adds: exact in double. Nothing where it is not known.
std::optional<double> storedValueOf(const Graph& graph, const Node& pad) {
    const TensorType& x = graph.tensor(pad.inputs[0]).type;
    if (pad.inputs.size() < 3 || pad.inputs[2] == kNoTensor) {
        return isQuantized(x.type) ? x.quantization.zeroPoint : 0;
    }
    const KnownInput value = knownInput(graph, pad.inputs[2]);
    if (value.data == nullptr) {
        return std::nullopt;
    }
    switch (value.type->type) {
        case DataType::FLOAT32:
            return elementAt<float>(value.data);
        case DataType::FLOAT16:
            return toFloat(elementAt<Half>(value.data));
        case DataType::INT32:
            return elementAt<int32_t>(value.data);
        case DataType::QUANT8_ASYMM:
            return elementAt<uint8_t>(value.data);
        case DataType::QUANT8_ASYMM_SIGNED:
            return elementAt<int8_t>(value.data);
        default:
            return std::nullopt;
    }
}

bool addsZeros(const Graph& graph, const Node& pad) {
    const TensorType& x = graph.tensor(pad.inputs[0]).type;
    const std::optional<double> value = storedValueOf(graph, pad);
    return value.has_value() && *value == (isQuantized(x.type) ? x.quantization.zeroPoint : 0);
}

// Whether no element of x is smaller than what the Pad adds.
bool addsTheSmallest(const Graph& graph, const Uses& uses, const Node& pad) {
    const TensorType& x = graph.tensor(pad.inputs[0]).type;
    const std::optional<double> value = storedValueOf(graph, pad);
    if (!value.has_value()) {
        return false;
    }
    if (isQuantized(x.type)) {
        return *value == minValue(x.type);
    }
    if (*value == -std::numeric_limits<double>::infinity()) {
        return true;
    }
    const std::optional<NodeId> writer = uses.writer(pad.inputs[0]);
    if (*value > 0 || !writer.has_value()) {
        return false;
    }
    const auto rectifies = []<typename Descriptor>(const Descriptor& node) {
        if constexpr (std::is_same_v<Descriptor, Activate>) {
            return node.function == Activate::Function::RELU ||
                   node.function == Activate::Function::RELU6;
        } else if constexpr (requires { node.activation == Activation::RELU; }) {
            return node.activation == Activation::RELU || node.activation == Activation::RELU6;
        } else {
            return false;
        }
    };
    return std::visit(rectifies, static_cast<const AnyDescriptor&>(graph.node(*writer).descriptor));
}

bool addTo(int32_t& padding, int32_t more) {
    return !__builtin_add_overflow(padding, more, &padding);
}

// An extent with what is added to it; unknown where that can't be counted, too.
int32_t sumOf(int32_t extent, const Padding& padding) {
    int32_t sum = extent;
    return extent != kUnknownDimension && addTo(sum, padding.before) && addTo(sum, padding.after)
                   ? sum
                   : kUnknownDimension;
}

// The window over what is padded, as one over x, which is not. Nothing where extents have to be
// known but are not: only those of x count. What a graph says of the padded tensor may be more, but
// a run finds x's, which may be 0: SAME over nothing is nothing, and explicit padding refuses it.
std::optional<Window2d> widened(Window2d window, const SpatialPad& pad, const Shape& x,
                                int32_t filterH, int32_t filterW) {
    if (window.padding == PaddingScheme::SAME) {
        const Result<ResolvedWindow> resolved = resolveWindow(
                window, sumOf(x[1], pad.height), sumOf(x[2], pad.width), filterH, filterW);
        if (!resolved.ok() || resolved->outputH == kUnknownDimension ||
            resolved->outputW == kUnknownDimension) {
            return std::nullopt;
        }
        window.top = resolved->top;
        window.bottom = resolved->bottom;
        window.left = resolved->left;
        window.right = resolved->right;
    } else if (window.padding == PaddingScheme::VALID) {
        window.top = window.bottom = window.left = window.right = 0;
    }
    window.padding = PaddingScheme::EXPLICIT;
    const bool fits = addTo(window.top, pad.height.before) &&
                      addTo(window.bottom, pad.height.after) &&
                      addTo(window.left, pad.width.before) && addTo(window.right, pad.width.after);
    return fits ? std::optional(window) : std::nullopt;
}

class FoldPads : public Rule {
  public:
    using Rule::Rule;

    Result<bool> apply(NodeId id) {
        Node node = from().node(id);
        const bool isPool = std::holds_alternative<Pool2d>(node.descriptor);
        if (!isPool && !std::holds_alternative<Conv2d>(node.descriptor) &&
            !std::holds_alternative<DepthwiseConv2d>(node.descriptor)) {
            return false;
        }
        const std::optional<NodeId> writer = uses().writer(node.inputs[0]);
        const Node* pad = writer.has_value() ? &from().node(*writer) : nullptr;
        const auto* descriptor = pad == nullptr ? nullptr : std::get_if<Pad>(&pad->descriptor);
        if (descriptor == nullptr || descriptor->mode != Pad::Mode::CONSTANT) {
            return false;
        }
        const TensorType& x = typeOf(pad->inputs[0]);
        const TensorType& padded = typeOf(node.inputs[0]);
        // Zeros of a tensor make a NaN of an infinite weight; a window leaves out what lies beside.
        if (!isPool && isFloat(x.type) && !areWeightsFinite(node)) {
            return false;
        }
        const std::optional<SpatialPad> spatial = spatialPadOf(from(), *pad);
        if (!spatial.has_value() || x.type != padded.type ||
            !(x.quantization == padded.quantization) || !padded.shape.hasKnownRank() ||
            padded.shape.rank() != 4 || !widen(node, *pad, *spatial, x.shape)) {
            return false;
        }
        node.inputs[0] = pad->inputs[0];
        for (TensorId& input : node.inputs) {
            input = rewriter().tensor(input);
        }
        node.outputs[0] = rewriter().tensor(node.outputs[0]);
        node.sources = unionOf(node.sources, pad->sources);
        if (!accepts(node)) {
            return false;
        }
        rewriter().add(std::move(node));
        markChanged();
        return true;
    }

  private:
    bool areWeightsFinite(const Node& node) const {
        const Tensor& weights = from().tensor(node.inputs[1]);
        return weights.isConstant() && areFinite(weights.type.type, weights.constant.bytes);
    }

    bool widen(Node& node, const Node& pad, const SpatialPad& spatial, const Shape& x) const {
        if (auto* pool = std::get_if<Pool2d>(&node.descriptor)) {
            // Of nothing there is no maximum, but of what a Pad adds to it.
            return pool->function == Pool2d::Function::MAX && x[1] > 0 && x[2] > 0 &&
                   addsTheSmallest(from(), uses(), pad) &&
                   widen(pool->window, spatial, x, pool->filterH, pool->filterW);
        }
        const Shape& filter = typeOf(node.inputs[1]).shape;
        if (!addsZeros(from(), pad) || !filter.hasKnownRank() || filter.rank() != 4) {
            return false;
        }
        if (auto* convolution = std::get_if<Conv2d>(&node.descriptor)) {
            return widen(convolution->window, spatial, x, filter[1], filter[2]);
        }
        auto* depthwise = std::get_if<DepthwiseConv2d>(&node.descriptor);
        return widen(depthwise->window, spatial, x, filter[1], filter[2]);
    }

    static bool widen(Window2d& window, const SpatialPad& spatial, const Shape& x, int32_t filterH,
                      int32_t filterW) {
        const std::optional<Window2d> wider = widened(window, spatial, x, filterH, filterW);
        if (wider.has_value()) {
            window = *wider;
        }
        return wider.has_value();
    }
};

}  // namespace

Result<bool> foldPads(Graph& graph, const PassContext& context) {
    return applyRule<FoldPads>(graph, context);
}

}  // namespace halyard::engine
