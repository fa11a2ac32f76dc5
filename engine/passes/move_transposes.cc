// SPDX-License-Identifier: Apache-2.0

#include "engine/passes/move_transposes.h"

#include <algorithm>
#include <bitset>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "engine/graph/control_input.h"
#include "engine/passes/axis_order.h"

namespace halyard::engine {
namespace {

// Kinds that a Transpose may move behind, if all else is well.
bool canBeMovedBehind(NodeKind kind) {
    switch (kind) {
        case NodeKind::Activate:
        case NodeKind::Binary:
        case NodeKind::Cast:
        case NodeKind::Compare:
        case NodeKind::Concat:
        case NodeKind::L2Normalize:
        case NodeKind::LocalResponseNormalize:
        case NodeKind::LogSoftmax:
        case NodeKind::Pad:
        case NodeKind::Quantize:
        case NodeKind::Reduce:
        case NodeKind::Select:
        case NodeKind::Softmax:
        case NodeKind::Split:
        case NodeKind::Transpose:
        case NodeKind::Unary:
            return true;
        default:
            return false;
    }
}

// The axis that the node goes along; null for kinds that have none.
int32_t* axisOf(NodeDescriptor& descriptor) {
    return std::visit(
            []<typename Descriptor>(Descriptor& node) -> int32_t* {
                if constexpr (requires { node.axis; }) {
                    return &node.axis;
                } else {
                    return nullptr;
                }
            },
            static_cast<AnyDescriptor&>(descriptor));
}

class MoveTransposes : public Rule {
  public:
    using Rule::Rule;

    Result<bool> apply(NodeId id) {
        const Node& node = from().node(id);
        bool done = false;
        if (node.kind() == NodeKind::Transpose) {
            HALYARD_ASSIGN_OR_RETURN(done, hold(node));
        } else if (canBeMovedBehind(node.kind()) && readsHeld(node)) {
            HALYARD_ASSIGN_OR_RETURN(done, moveBehind(node));
        }
        if (!done) {
            for (const TensorId input : node.inputs) {
                HALYARD_RETURN_IF_ERROR(make(input));
            }
        }
        return done;
    }

  private:
    // An old tensor that the new graph holds with other axes, and transposes when it is needed.
    struct Held {
        TensorId original = kNoTensor;  // new
        AxisOrder order;
        const Node* transpose = nullptr;  // old, for its label and sources
        bool made = false;
    };

    const Held* held(TensorId id) const {
        const auto found = mHeld.find(id);
        return found == mHeld.end() ? nullptr : &found->second;
    }

    bool readsHeld(const Node& node) const {
        return std::ranges::any_of(node.inputs, [&](TensorId id) { return held(id) != nullptr; });
    }

    Status hold(TensorId output, Held what) {
        mHeld.insert_or_assign(output, std::move(what));
        return uses().isGraphOutput(output) ? make(output) : Status();
    }

    Result<bool> hold(const Node& node) {
        const TensorId x = node.inputs[0];
        const TensorId output = node.outputs[0];
        std::optional<AxisOrder> order = AxisOrder::of(from(), node);
        if (!order.has_value() || !typeOf(x).shape.isFullyKnown() ||
            typeOf(x).type == DataType::QUANT8_SYMM_PER_CHANNEL ||
            typeOf(x).type != typeOf(output).type ||
            !(typeOf(x).quantization == typeOf(output).quantization)) {
            return false;
        }
        Held what = {.original = kNoTensor, .order = *order, .transpose = &node};
        if (const Held* const first = held(x); first != nullptr) {
            what.original = first->original;
            what.order = order->after(first->order);
            explain(*first->transpose, "merged into " + nameOperations(node));
            markChanged();
        } else {
            what.original = rewriter().tensor(x);
        }
        if (what.order.isIdentity() && canStandFor(what.original, output)) {
            rewriter().replace(output, what.original);
            explain(node, "removed: the axes are in this order without it");
            markChanged();
            return true;
        }
        HALYARD_RETURN_IF_ERROR(hold(output, std::move(what)));
        return true;
    }

    Status make(TensorId id) {
        const auto found = mHeld.find(id);
        if (found == mHeld.end() || found->second.made) {
            return {};
        }
        Held& what = found->second;
        HALYARD_ASSIGN_OR_RETURN(const TensorId permutation, addInts(what.order.permutation()));
        rewriter().add({.descriptor = Transpose(),
                        .inputs = {what.original, permutation},
                        .outputs = {rewriter().tensor(id)},
                        .label = what.transpose->label,
                        .sources = what.transpose->sources});
        what.made = true;
        return {};
    }

    // Whether no reader keeps the Transpose where it is, so that moving it adds none.
    bool isFree(TensorId id) {
        const auto [known, isNew] = mFree.try_emplace(id, !uses().isGraphOutput(id));
        if (isNew && known->second) {
            known->second = std::ranges::all_of(uses().of(id), [&](const Use& use) {
                return canBeMovedBehind(from().node(use.node).kind());
            });
        }
        return known->second;
    }

    // A node that reads held tensors becomes the same over their originals. Its outputs are held in
    // turn.
    Result<bool> moveBehind(const Node& old) {
        const auto first =
                std::ranges::find_if(old.inputs, [&](TensorId id) { return held(id) != nullptr; });
        const Held what = *held(*first);
        if (!isFree(*first)) {
            return false;
        }
        std::optional<AxisOrder> order = what.order;  // of the outputs
        Node node = old;
        HALYARD_ASSIGN_OR_RETURN(const bool moved, rearrange(old, what.order, node, order));
        if (!moved) {
            return false;
        }
        for (size_t i = 0; i < node.outputs.size(); ++i) {
            TensorType type = typeOf(old.outputs[i]);
            if (!type.shape.isFullyKnown()) {
                return false;
            }
            if (order.has_value()) {
                type.shape = order->originalOf(type.shape);
                node.outputs[i] = rewriter().addTensor(std::move(type));
            } else {
                node.outputs[i] = rewriter().tensor(old.outputs[i]);
            }
        }
        if (!accepts(node)) {
            return false;
        }
        const std::vector<TensorId> outputs = node.outputs;
        rewriter().add(std::move(node));
        markChanged();
        for (const TensorId input : old.inputs) {
            const Held* const other = held(input);
            if (other != nullptr && (other->transpose != what.transpose || !order.has_value())) {
                explain(*other->transpose,
                        order.has_value() ? "merged into " + nameOperations(*what.transpose)
                                          : "removed: moved behind " + nameOperations(old) +
                                                    ", which leaves nothing to transpose");
            }
        }
        for (size_t i = 0; order.has_value() && i < outputs.size(); ++i) {
            HALYARD_RETURN_IF_ERROR(
                    hold(old.outputs[i],
                         {.original = outputs[i], .order = *order, .transpose = what.transpose}));
        }
        return true;
    }

    // Gives `node`, a copy of `old`, inputs and attributes that go by the originals' axes. `order`,
    // the outputs', stays as it is, or is none where nothing is left of the axes. False where the
    // node has to stay as it is.
    Result<bool> rearrange(const Node& old, const AxisOrder& moved, Node& node,
                           std::optional<AxisOrder>& order) {
        switch (old.kind()) {
            case NodeKind::Cast:
                // Behind it, the Transpose would move larger elements.
                if (elementSize(typeOf(old.outputs[0]).type) >
                    elementSize(typeOf(old.inputs[0]).type)) {
                    return false;
                }
                [[fallthrough]];
            case NodeKind::Activate:
            case NodeKind::Quantize:
            case NodeKind::Unary:
                node.inputs[0] = held(old.inputs[0])->original;
                return true;
            case NodeKind::Binary:
            case NodeKind::Compare:
            case NodeKind::Select:
                return rearrangeOperands(old, moved, node);
            case NodeKind::Concat:
                return rearrangeParts(old, moved, node) && rearrangeAxis(moved, node);
            case NodeKind::L2Normalize:
            case NodeKind::LocalResponseNormalize:
            case NodeKind::LogSoftmax:
            case NodeKind::Softmax:
            case NodeKind::Split:
                node.inputs[0] = held(old.inputs[0])->original;
                return rearrangeAxis(moved, node);
            case NodeKind::Pad:
                return rearrangePad(old, moved, node);
            case NodeKind::Reduce:
                return rearrangeReduce(old, moved, node, order);
            default:
                return false;
        }
    }

    static bool rearrangeAxis(const AxisOrder& moved, Node& node) {
        int32_t* const axis = axisOf(node.descriptor);
        const Result<size_t> resolved =
                axis == nullptr ? invalidArgument("no axis") : resolveAxis(*axis, moved.rank());
        if (!resolved.ok()) {
            return false;
        }
        *axis = static_cast<int32_t>(moved[*resolved]);
        return true;
    }

    bool rearrangeParts(const Node& old, const AxisOrder& moved, Node& node) {
        for (size_t i = 0; i < old.inputs.size(); ++i) {
            const Held* const part = held(old.inputs[i]);
            if (part == nullptr || !(part->order == moved) || !isFree(old.inputs[i])) {
                return false;
            }
            node.inputs[i] = part->original;
        }
        return true;
    }

    // Operands that are broadcast against each other.
    Result<bool> rearrangeOperands(const Node& old, const AxisOrder& moved, Node& node) {
        for (size_t i = 0; i < old.inputs.size(); ++i) {
            const TensorId operand = old.inputs[i];
            const Held* const other = held(operand);
            if (other != nullptr) {
                if (!(other->order == moved) || !isFree(operand)) {
                    return false;
                }
                node.inputs[i] = other->original;
                continue;
            }
            HALYARD_ASSIGN_OR_RETURN(const TensorId rearranged,
                                     rearrangeOperand(old, operand, moved));
            if (rearranged == kNoTensor) {
                return false;
            }
            node.inputs[i] = rearranged;
        }
        return true;
    }

    // The operand with its axes in the originals' order; kNoTensor where that is not for free: only
    // one element takes any shape, and a constant is transposed before anything runs.
    Result<TensorId> rearrangeOperand(const Node& old, TensorId operand, const AxisOrder& moved) {
        const Tensor& tensor = from().tensor(operand);
        const Shape& shape = tensor.type.shape;
        if (!shape.isFullyKnown() || shape.rank() > moved.rank()) {
            return kNoTensor;
        }
        const auto extentsAboveOne =
                std::ranges::count_if(shape.extents(), [](int32_t extent) { return extent != 1; });
        if (extentsAboveOne == 0) {
            return rewriter().tensor(operand);
        }
        if (!tensor.isConstant()) {
            return kNoTensor;
        }
        std::vector<int32_t> extents(moved.rank() - shape.rank(), 1);
        extents.insert(extents.end(), shape.extents().begin(), shape.extents().end());
        TensorType type = tensor.type;
        type.shape = moved.originalOf(Shape(extents));
        if (extentsAboveOne == 1) {
            return rewriter().addConstant(std::move(type), tensor.constant);
        }
        TensorType expanded = tensor.type;
        expanded.shape = Shape(extents);
        HALYARD_ASSIGN_OR_RETURN(const TensorId constant,
                                 rewriter().addConstant(std::move(expanded), tensor.constant));
        HALYARD_ASSIGN_OR_RETURN(const TensorId permutation,
                                 addInts(moved.inverse().permutation()));
        const TensorId transposed = rewriter().addTensor(std::move(type));
        rewriter().add({.descriptor = Transpose(),
                        .inputs = {constant, permutation},
                        .outputs = {transposed},
                        .label = old.label,
                        .sources = old.sources});
        return transposed;
    }

    Result<bool> rearrangePad(const Node& old, const AxisOrder& moved, Node& node) {
        const KnownInput list = knownInput(from(), old.inputs[1]);
        if (held(old.inputs[0]) == nullptr || !isKnown(list)) {
            return false;
        }
        const Result<Paddings> paddings = readPaddings(list, moved.rank());
        if (!paddings.ok()) {
            return false;
        }
        std::vector<int32_t> rearranged(2 * moved.rank());
        for (size_t axis = 0; axis < moved.rank(); ++axis) {
            rearranged[2 * moved[axis]] = (*paddings)[axis].before;
            rearranged[2 * moved[axis] + 1] = (*paddings)[axis].after;
        }
        HALYARD_ASSIGN_OR_RETURN(
                node.inputs[1],
                addConstant(*list.type, {reinterpret_cast<const uint8_t*>(rearranged.data()),
                                         rearranged.size() * sizeof(int32_t)}));
        node.inputs[0] = held(old.inputs[0])->original;
        if (old.inputs.size() > 2) {
            node.inputs[2] = rewriter().tensor(old.inputs[2]);
        }
        return true;
    }

    Result<bool> rearrangeReduce(const Node& old, const AxisOrder& moved, Node& node,
                                 std::optional<AxisOrder>& order) {
        const KnownInput list = knownInput(from(), old.inputs[1]);
        if (held(old.inputs[0]) == nullptr || !isKnown(list)) {
            return false;
        }
        const Result<std::bitset<kMaxRank>> reduced = readAxes(list, moved.rank());
        if (!reduced.ok()) {
            return false;
        }
        std::vector<int32_t> axes;
        for (size_t axis = 0; axis < moved.rank(); ++axis) {
            if (reduced->test(axis)) {
                axes.push_back(static_cast<int32_t>(moved[axis]));
            }
        }
        // In another order a sum would be rounded differently.
        if (!std::ranges::is_sorted(axes)) {
            return false;
        }
        if (!std::get_if<Reduce>(&node.descriptor)->keepDims) {
            order = orderOfRest(moved, *reduced);
        }
        HALYARD_ASSIGN_OR_RETURN(node.inputs[1], addInts(axes));
        node.inputs[0] = held(old.inputs[0])->original;
        return true;
    }

    // The order of the axes that are not reduced; none where that changes nothing.
    static std::optional<AxisOrder> orderOfRest(const AxisOrder& moved,
                                                const std::bitset<kMaxRank>& reduced) {
        std::vector<size_t> originals;
        for (size_t axis = 0; axis < moved.rank(); ++axis) {
            if (!reduced.test(axis)) {
                originals.push_back(moved[axis]);
            }
        }
        std::vector<size_t> sorted = originals;
        std::ranges::sort(sorted);
        for (size_t& original : originals) {
            original = static_cast<size_t>(std::ranges::lower_bound(sorted, original) -
                                           sorted.begin());
        }
        AxisOrder rest(std::move(originals));
        return rest.isIdentity() ? std::nullopt : std::optional(std::move(rest));
    }

    std::unordered_map<TensorId, Held> mHeld;  // by old tensor, as is the next
    std::unordered_map<TensorId, bool> mFree;  // what isFree() found
};

}  // namespace

Result<bool> moveTransposes(Graph& graph, const PassContext& context) {
    return applyRule<MoveTransposes>(graph, context);
}

}  // namespace halyard::engine
