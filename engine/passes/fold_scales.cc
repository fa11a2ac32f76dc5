// SPDX-License-Identifier: Apache-2.0

#include "engine/passes/fold_scales.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "engine/base/aligned_buffer.h"

namespace halyard::engine {
namespace {

// Weights whose channels are the rows (outermost axis) or the columns (innermost axis).
enum class Channels : uint8_t { OUTERMOST, INNERMOST };

struct Producer {
    Activation* activation = nullptr;
    Channels channels = Channels::OUTERMOST;
};

std::optional<Producer> producerOf(NodeDescriptor& descriptor) {
    if (auto* convolution = std::get_if<Conv2d>(&descriptor)) {
        return Producer{.activation = &convolution->activation};
    }
    if (auto* depthwise = std::get_if<DepthwiseConv2d>(&descriptor)) {
        return Producer{.activation = &depthwise->activation, .channels = Channels::INNERMOST};
    }
    if (auto* product = std::get_if<FullyConnected>(&descriptor)) {
        return Producer{.activation = &product->activation};
    }
    return std::nullopt;
}

// A result r of channel c becomes factor[c] * r + offset[c].
struct Affine {
    std::vector<float> factor;  // empty: 1
    std::vector<float> offset;  // empty: 0
};

std::span<const float> floatsOf(const Tensor& tensor) {
    return {reinterpret_cast<const float*>(tensor.constant.bytes.data()),
            tensor.constant.bytes.size() / sizeof(float)};
}

// One number per channel, where the constant has one for all or one for each and leaves the shape
// of what it is combined with as it is.
std::optional<std::vector<float>> perChannel(const Tensor& constant, const Shape& result) {
    const Shape& shape = constant.type.shape;
    if (!constant.isConstant() || constant.type.type != DataType::FLOAT32 ||
        shape.rank() > result.rank()) {
        return std::nullopt;
    }
    for (size_t axis = 0; axis + 1 < shape.rank(); ++axis) {
        if (shape[axis] != 1) {
            return std::nullopt;
        }
    }
    const auto channels = static_cast<size_t>(result[result.rank() - 1]);
    const std::span<const float> elements = floatsOf(constant);
    if (elements.size() == 1) {
        return std::vector<float>(channels, elements[0]);
    }
    if (elements.size() != channels) {
        return std::nullopt;
    }
    return std::vector<float>(elements.begin(), elements.end());
}

std::optional<Affine> affineOf(Binary::Function function, std::vector<float> constant,
                               bool constantIsFirst) {
    switch (function) {
        case Binary::Function::MUL:
            return Affine{.factor = std::move(constant), .offset = {}};
        case Binary::Function::ADD:
            return Affine{.factor = {}, .offset = std::move(constant)};
        case Binary::Function::SUB:
            if (constantIsFirst) {
                std::vector<float> minus(constant.size(), -1.0F);
                return Affine{.factor = std::move(minus), .offset = std::move(constant)};
            }
            std::ranges::transform(constant, constant.begin(), std::negate<>());
            return Affine{.factor = {}, .offset = std::move(constant)};
        default:
            return std::nullopt;
    }
}

class FoldScales : public Rule {
  public:
    FoldScales(GraphRewriter& graphRewriter, const PassContext& passContext)
        : Rule(graphRewriter, passContext), mFolded(from().nodes().size(), false) {}

    Result<bool> apply(NodeId id) {
        if (mFolded[id]) {
            return true;
        }
        Node node = from().node(id);
        const std::optional<Producer> producer = producerOf(node.descriptor);
        if (!producer.has_value() || *producer->activation != Activation::NONE) {
            return false;
        }
        const std::optional<Use> use = uses().onlyUse(node.outputs[0]);
        const Node* reader = use.has_value() ? &from().node(use->node) : nullptr;
        const auto* binary = reader == nullptr ? nullptr : std::get_if<Binary>(&reader->descriptor);
        if (binary == nullptr || !hasOwnWeights(node) ||
            !(typeOf(node.outputs[0]) == typeOf(reader->outputs[0]))) {
            return false;
        }
        const Shape& shape = typeOf(node.outputs[0]).shape;
        const Tensor& constant = from().tensor(reader->inputs[1 - use->input]);
        if (!constant.isConstant() || shape.rank() == 0 || shape[shape.rank() - 1] < 0) {
            return false;
        }
        std::optional<std::vector<float>> values = perChannel(constant, shape);
        const std::optional<Affine> affine =
                values.has_value() ? affineOf(binary->function, std::move(*values), use->input == 1)
                                   : std::nullopt;
        if (!affine.has_value()) {
            return false;
        }
        HALYARD_ASSIGN_OR_RETURN(const bool scaled, scale(node, producer->channels, *affine));
        if (!scaled) {
            return false;
        }
        *producer->activation = binary->activation;
        node.inputs[0] = rewriter().tensor(node.inputs[0]);
        node.outputs = {rewriter().tensor(reader->outputs[0])};
        node.sources = unionOf(node.sources, reader->sources);
        rewriter().add(std::move(node));
        mFolded[use->node] = true;
        markChanged();
        return true;
    }

  private:
    // FLOAT32 constants that nothing else reads: folding makes no second copy of them.
    bool hasOwnWeights(const Node& node) const {
        for (const size_t input : {1, 2}) {
            const Tensor& tensor = from().tensor(node.inputs[input]);
            if (!tensor.isConstant() || tensor.type.type != DataType::FLOAT32 ||
                !uses().onlyUse(node.inputs[input]).has_value()) {
                return false;
            }
        }
        return typeOf(node.outputs[0]).type == DataType::FLOAT32 &&
               typeOf(node.outputs[0]).shape.hasKnownRank();
    }

    // Gives the node new weights and bias; false where there is no room or they are not finite.
    Result<bool> scale(Node& node, Channels channels, const Affine& affine) {
        const Tensor& bias = from().tensor(node.inputs[2]);
        const std::span<const float> oldBias = floatsOf(bias);
        std::vector<float> newBias(oldBias.begin(), oldBias.end());
        for (size_t channel = 0; channel < newBias.size(); ++channel) {
            if (!affine.factor.empty()) {
                newBias[channel] *= affine.factor[channel];
            }
            if (!affine.offset.empty()) {
                newBias[channel] += affine.offset[channel];
            }
        }
        if (!std::ranges::all_of(newBias, [](float value) { return std::isfinite(value); })) {
            return false;
        }
        TensorId weights = rewriter().tensor(node.inputs[1]);
        if (!affine.factor.empty()) {
            HALYARD_ASSIGN_OR_RETURN(
                    const std::optional<TensorId> product,
                    scaledWeights(from().tensor(node.inputs[1]), channels, affine.factor));
            if (!product.has_value()) {
                return false;
            }
            weights = *product;
        }
        const Result<TensorId> offset = addConstant(
                bias.type,
                {reinterpret_cast<const uint8_t*>(newBias.data()), newBias.size() * sizeof(float)});
        if (!offset.ok()) {
            return false;
        }
        node.inputs[1] = weights;
        node.inputs[2] = *offset;
        return true;
    }

    Result<std::optional<TensorId>> scaledWeights(const Tensor& weights, Channels channels,
                                                  const std::vector<float>& factor) {
        const std::span<const float> old = floatsOf(weights);
        Result<AlignedBuffer> buffer = AlignedBuffer::allocate(
                std::max<size_t>(old.size_bytes(), 1), alignof(std::max_align_t), context().memory);
        if (!buffer.ok() || factor.empty() || old.size_bytes() > context().allowance) {
            return std::optional<TensorId>();
        }
        context().allowance -= old.size_bytes();
        auto* scaled = reinterpret_cast<float*>(buffer->data());
        const size_t perRow =
                channels == Channels::INNERMOST ? factor.size() : old.size() / factor.size();
        const size_t rows = perRow == 0 ? 0 : old.size() / perRow;
        size_t sinceAsked = 0;
        bool finite = true;
        for (size_t row = 0; row < rows && finite; ++row) {
            for (size_t column = 0; column < perRow; ++column) {
                const size_t channel = channels == Channels::INNERMOST ? column : row;
                const size_t at = row * perRow + column;
                scaled[at] = old[at] * factor[channel];
                finite = finite && std::isfinite(scaled[at]);
            }
            sinceAsked += perRow;
            if (sinceAsked > kElementsPerCheck) {
                sinceAsked = 0;
                HALYARD_RETURN_IF_ERROR(context().checkpoint.check("while scales were folded"));
            }
        }
        if (!finite) {
            return std::optional<TensorId>();
        }
        HALYARD_ASSIGN_OR_RETURN(const TensorId constant,
                                 addConstant(weights.type, std::move(*buffer)));
        return std::optional(constant);
    }

    static constexpr size_t kElementsPerCheck = size_t{1} << 18;

    std::vector<bool> mFolded;  // per node: lives on in the one before
};

}  // namespace

Result<bool> foldScales(Graph& graph, const PassContext& context) {
    return applyRule<FoldScales>(graph, context);
}

}  // namespace halyard::engine
