// SPDX-License-Identifier: Apache-2.0

#include "engine/passes/simplify_reshapes.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/graph/control_input.h"
#include "engine/passes/axis_order.h"

namespace halyard::engine {
namespace {

bool isPermutationOfOnes(const Graph& graph, const Node& transpose) {
    const Shape& shape = graph.tensor(transpose.inputs[0]).type.shape;
    const std::optional<AxisOrder> order = AxisOrder::of(graph, transpose);
    if (!order.has_value()) {
        return false;
    }
    // The axes that are not of extent 1 stay in order.
    size_t next = 0;
    for (size_t axis = 0; axis < shape.rank(); ++axis) {
        const size_t old = (*order)[axis];
        if (shape[old] == 1) {
            continue;
        }
        if (old < next) {
            return false;
        }
        next = old;
    }
    return true;
}

bool allZero(const Graph& graph, TensorId id) {
    const KnownInput list = knownInput(graph, id);
    return isKnown(list) && std::ranges::all_of(elementsOf(list), [](int32_t e) { return e == 0; });
}

class SimplifyReshapes : public Rule {
  public:
    SimplifyReshapes(GraphRewriter& graphRewriter, const PassContext& passContext)
        : Rule(graphRewriter, passContext), mRoots(from().tensors().size(), kNoTensor) {}

    Result<bool> apply(NodeId id) {
        const Node& node = from().node(id);
        if (keepsElementsInOrder(node)) {
            return simplifyReshape(id);
        }
        return isCopy(node) && removeCopy(node, node.inputs[0]);
    }

  private:
    // Whether the first output has the elements of the first input, in their order, and nothing
    // but the shape differs.
    bool keepsElementsInOrder(const Node& node) const {
        switch (node.kind()) {
            case NodeKind::Reshape:
            case NodeKind::Squeeze:
            case NodeKind::ExpandDims:
            case NodeKind::Transpose:
                break;
            default:
                return false;
        }
        const TensorType& x = typeOf(node.inputs[0]);
        const TensorType& output = typeOf(node.outputs[0]);
        return x.shape.isFullyKnown() && output.shape.isFullyKnown() && x.type == output.type &&
               x.quantization == output.quantization &&
               x.type != DataType::QUANT8_SYMM_PER_CHANNEL &&
               (node.kind() != NodeKind::Transpose || isPermutationOfOnes(from(), node));
    }

    // Whether the node gives what it is given where the two types are equal.
    bool isCopy(const Node& node) const {
        switch (node.kind()) {
            case NodeKind::Cast:
            case NodeKind::Tile:
            case NodeKind::Pad:
                return true;
            case NodeKind::Slice:
                return allZero(from(), node.inputs[1]);
            case NodeKind::Concat:
                return node.inputs.size() == 1;
            case NodeKind::Split:
                return node.outputs.size() == 1;
            default:
                return false;
        }
    }

    bool removeCopy(const Node& node, TensorId original) {
        const TensorId replacement = rewriter().tensor(original);
        if (!canStandFor(replacement, node.outputs[0])) {
            return false;
        }
        rewriter().replace(node.outputs[0], replacement);
        explain(node, "removed: it only copies");
        markChanged();
        return true;
    }

    // The tensor that this one is a reshape of, itself if of none.
    TensorId rootOf(TensorId id) const { return mRoots[id] == kNoTensor ? id : mRoots[id]; }

    Result<bool> simplifyReshape(NodeId id) {
        Node node = from().node(id);
        const TensorId x = node.inputs[0];
        const TensorId output = node.outputs[0];
        const TensorId root = rootOf(x);
        if (removeCopy(node, root)) {
            mRoots[output] = root;
            return true;
        }
        const std::optional<Use> use = uses().onlyUse(output);
        if (use.has_value() && use->input == 0 && keepsElementsInOrder(from().node(use->node))) {
            mRoots[output] = root;
            explain(node, "merged into " + nameOperations(from().node(use->node)));
            markChanged();
            return true;
        }
        mRoots[output] = root;
        if (root == x && node.kind() == NodeKind::Reshape) {
            return false;
        }
        HALYARD_ASSIGN_OR_RETURN(const TensorId shape, addInts(typeOf(output).shape.extents()));
        node.descriptor = Reshape();
        node.inputs = {rewriter().tensor(root), shape};
        node.outputs = {rewriter().tensor(output)};
        rewriter().add(std::move(node));
        markChanged();
        return true;
    }

    std::vector<TensorId> mRoots;  // per old tensor that is a reshape of another: the first one
};

}  // namespace

Result<bool> simplifyReshapes(Graph& graph, const PassContext& context) {
    return applyRule<SimplifyReshapes>(graph, context);
}

}  // namespace halyard::engine
