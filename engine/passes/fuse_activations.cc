// SPDX-License-Identifier: Apache-2.0

#include "engine/passes/fuse_activations.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "engine/numerics/activation_range.h"
#include "engine/numerics/byte_tables.h"

namespace halyard::engine {
namespace {

// The activation of a node of a kind that applies it to its one output; null for other kinds.
Activation* activationOf(NodeDescriptor& descriptor) {
    return std::visit(
            []<typename Descriptor>(Descriptor& node) -> Activation* {
                if constexpr (std::is_same_v<Descriptor, Binary> ||
                              std::is_same_v<Descriptor, Conv2d> ||
                              std::is_same_v<Descriptor, DepthwiseConv2d> ||
                              std::is_same_v<Descriptor, TransposeConv2d> ||
                              std::is_same_v<Descriptor, FullyConnected> ||
                              std::is_same_v<Descriptor, Pool2d>) {
                    return &node.activation;
                } else {
                    return nullptr;
                }
            },
            static_cast<AnyDescriptor&>(descriptor));
}

std::optional<Activation> asFused(const Activate& node) {
    switch (node.function) {
        case Activate::Function::RELU:
            return Activation::RELU;
        case Activate::Function::RELU1:
            return Activation::RELU1;
        case Activate::Function::RELU6:
            return Activation::RELU6;
        default:
            return std::nullopt;
    }
}

// Whether the function, looked up for what the node before has stored, only clamps it, as that node
// would itself.
bool onlyClamps(const Activate& node, Activation activation, const TensorType& before,
                const TensorType& after) {
    const ByteTable table = activationTable(node, before, after);
    const QuantizedRange range = rangeOf(activation, after);
    const bool isSigned = after.type == DataType::QUANT8_ASYMM_SIGNED;
    for (int32_t byte = 0; byte < 256; ++byte) {
        const int32_t stored = isSigned ? static_cast<int8_t>(byte) : byte;
        const int32_t clamped = std::clamp(stored, range.low, range.high);
        if (table[static_cast<size_t>(byte)] != static_cast<uint8_t>(clamped)) {
            return false;
        }
    }
    return true;
}

bool isExact(const Activate& node, Activation activation, const TensorType& before,
             const TensorType& after) {
    if (before.type != after.type) {
        return false;
    }
    if (isFloat(before.type)) {
        return true;  // the bounds are numbers of both float types
    }
    return (before.type == DataType::QUANT8_ASYMM ||
            before.type == DataType::QUANT8_ASYMM_SIGNED) &&
           before.quantization == after.quantization && onlyClamps(node, activation, before, after);
}

class FuseActivations : public Rule {
  public:
    FuseActivations(GraphRewriter& graphRewriter, const PassContext& passContext)
        : Rule(graphRewriter, passContext), mFused(from().nodes().size(), false) {}

    Result<bool> apply(NodeId id) {
        if (mFused[id]) {
            return true;
        }
        Node node = from().node(id);
        Activation* const activation = activationOf(node.descriptor);
        if (activation == nullptr || *activation != Activation::NONE) {
            return false;
        }
        const std::optional<Use> use = uses().onlyUse(node.outputs[0]);
        if (!use.has_value()) {
            return false;
        }
        const Node& reader = from().node(use->node);
        const auto* activate = std::get_if<Activate>(&reader.descriptor);
        const std::optional<Activation> fused =
                activate == nullptr ? std::nullopt : asFused(*activate);
        if (!fused.has_value() ||
            !isExact(*activate, *fused, typeOf(node.outputs[0]), typeOf(reader.outputs[0]))) {
            return false;
        }
        *activation = *fused;
        for (TensorId& input : node.inputs) {
            input = rewriter().tensor(input);
        }
        node.outputs = {rewriter().tensor(reader.outputs[0])};
        node.sources = unionOf(node.sources, reader.sources);
        if (!accepts(node)) {
            return false;
        }
        rewriter().add(std::move(node));
        mFused[use->node] = true;
        markChanged();
        return true;
    }

  private:
    std::vector<bool> mFused;  // per node: lives on in the one before
};

}  // namespace

Result<bool> fuseActivations(Graph& graph, const PassContext& context) {
    return applyRule<FuseActivations>(graph, context);
}

}  // namespace halyard::engine
