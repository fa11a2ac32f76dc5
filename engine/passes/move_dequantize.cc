// SPDX-License-Identifier: Apache-2.0

#include "engine/passes/move_dequantize.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "engine/plan/kernel_call.h"
#include "engine/reference/kernels.h"

namespace halyard::engine {
namespace {

// How many of its first inputs a node moves elements of: 0 for kinds that compute.
size_t movedInputs(const Node& node) {
    switch (node.kind()) {
        case NodeKind::ChannelShuffle:
        case NodeKind::DepthToSpace:
        case NodeKind::ExpandDims:
        case NodeKind::Gather:
        case NodeKind::Reshape:
        case NodeKind::Reverse:
        case NodeKind::Slice:
        case NodeKind::SpaceToDepth:
        case NodeKind::Split:
        case NodeKind::Squeeze:
        case NodeKind::StridedSlice:
        case NodeKind::Tile:
        case NodeKind::Transpose:
            return 1;
        case NodeKind::Concat:
        case NodeKind::Pack:
            return node.inputs.size();
        case NodeKind::Pool2d: {
            const auto& pool = *std::get_if<Pool2d>(&node.descriptor);
            return pool.function == Pool2d::Function::MAX && pool.activation == Activation::NONE
                           ? 1
                           : 0;
        }
        default:
            return 0;
    }
}

bool isAsymmetric8Bit(DataType type) {
    return type == DataType::QUANT8_ASYMM || type == DataType::QUANT8_ASYMM_SIGNED;
}

template <typename Descriptor>
bool runOverBytes(const TensorType& input, const void* from, const TensorType& output, void* to) {
    const Node node = {
            .descriptor = Descriptor(), .inputs = {}, .outputs = {}, .label = {}, .sources = {}};
    const ConstTensorView inputs[] = {{.type = &input, .data = from}};
    TensorView outputs[] = {{.type = &output, .data = to}};
    KernelCall call({.inputs = inputs, .outputs = outputs, .memory = nullptr, .constants = {}});
    return ref::findKernel(node).run(node, call).ok();
}

// Whether each of the 256 values comes back from `real`: FLOAT16 may make two values one, or an
// infinity.
bool comesBack(TensorType quantized, TensorType real) {
    constexpr size_t kValues = 256;
    quantized.shape = real.shape = {static_cast<int32_t>(kValues)};
    std::vector<uint8_t> bytes(kValues);
    std::iota(bytes.begin(), bytes.end(), uint8_t{0});
    std::vector<uint8_t> back(kValues);
    std::vector<float> reals(kValues);
    return runOverBytes<Dequantize>(quantized, bytes.data(), real, reals.data()) &&
           runOverBytes<Quantize>(real, reals.data(), quantized, back.data()) && bytes == back;
}

class MoveDequantize : public Rule {
  public:
    using Rule::Rule;

    Result<bool> apply(NodeId id) {
        const Node& node = from().node(id);
        if (node.kind() == NodeKind::Dequantize) {
            hold(node);
            return true;
        }
        if (node.kind() == NodeKind::Quantize && undo(node)) {
            return true;
        }
        if (move(node)) {
            return true;
        }
        for (const TensorId input : node.inputs) {
            make(input);
        }
        return false;
    }

  private:
    // An old tensor that the new graph holds as 8-bit elements, and computes when it is needed.
    struct Held {
        TensorId quantized = kNoTensor;    // new
        const Node* dequantize = nullptr;  // old, for its label and sources
        bool made = false;
    };

    Held* held(TensorId id) {
        const auto found = mHeld.find(id);
        return found == mHeld.end() ? nullptr : &found->second;
    }

    void hold(TensorId output, Held what) {
        mHeld[output] = what;
        if (uses().isGraphOutput(output)) {
            make(output);
        }
    }

    void hold(const Node& node) {
        const TensorId output = node.outputs[0];
        hold(output, {.quantized = rewriter().tensor(node.inputs[0]), .dequantize = &node});
        if (!isAsymmetric8Bit(typeOf(node.inputs[0]).type)) {
            make(output);
            mHeld.erase(output);
        }
    }

    void make(TensorId id) {
        Held* const what = id == kNoTensor ? nullptr : held(id);
        if (what == nullptr || what->made) {
            return;
        }
        Node node = *what->dequantize;
        node.inputs = {what->quantized};
        node.outputs = {rewriter().tensor(id)};
        rewriter().add(std::move(node));
        what->made = true;
    }

    bool undo(const Node& node) {
        const Held* const what = held(node.inputs[0]);
        const TensorId output = node.outputs[0];
        if (what == nullptr || !canStandFor(what->quantized, output) ||
            !comesBack(typeOf(output), typeOf(node.inputs[0]))) {
            return false;
        }
        rewriter().replace(output, what->quantized);
        explain(node,
                "removed: quantises what was dequantised by " + nameOperations(*what->dequantize));
        explain(*what->dequantize, "removed: undone by " + nameOperations(node));
        markChanged();
        return true;
    }

    bool move(const Node& old) {
        const size_t moved = movedInputs(old);
        const Held* const first = moved == 0 ? nullptr : held(old.inputs[0]);
        if (first == nullptr) {
            return false;
        }
        // A copy: the new graph's tensors move as they become more.
        const TensorType type = to().tensor(first->quantized).type;
        Node node = old;
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            const Held* const what = i < moved ? held(old.inputs[i]) : nullptr;
            if (i < moved && !isMovable(what, old.inputs[i], type)) {
                return false;
            }
            node.inputs[i] = what != nullptr ? what->quantized : rewriter().tensor(old.inputs[i]);
        }
        for (TensorId& output : node.outputs) {
            TensorType moving = type;
            moving.shape = typeOf(output).shape;
            output = rewriter().addTensor(std::move(moving));
        }
        if (!accepts(node)) {
            return false;
        }
        const std::vector<TensorId> outputs = node.outputs;
        const Node* const dequantize = first->dequantize;
        for (size_t i = 1; i < moved; ++i) {
            if (const Held* const what = held(old.inputs[i]); what->dequantize != dequantize) {
                explain(*what->dequantize, "merged into " + nameOperations(*dequantize));
            }
        }
        rewriter().add(std::move(node));
        for (size_t i = 0; i < outputs.size(); ++i) {
            hold(old.outputs[i], {.quantized = outputs[i], .dequantize = dequantize});
        }
        markChanged();
        return true;
    }

    // Only this node reads what is held, so that no further Dequantize comes to be, and it is of
    // the same type as the others that are moved.
    bool isMovable(const Held* what, TensorId old, const TensorType& type) const {
        if (what == nullptr || what->made || !uses().onlyUse(old).has_value()) {
            return false;
        }
        const TensorType& own = to().tensor(what->quantized).type;
        return own.type == type.type && own.quantization == type.quantization;
    }

    std::unordered_map<TensorId, Held> mHeld;  // by old tensor
};

}  // namespace

Result<bool> moveDequantize(Graph& graph, const PassContext& context) {
    return applyRule<MoveDequantize>(graph, context);
}

}  // namespace halyard::engine
