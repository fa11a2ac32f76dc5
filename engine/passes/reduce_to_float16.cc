// SPDX-License-Identifier: Apache-2.0

#include "engine/passes/reduce_to_float16.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/base/half.h"
#include "engine/numerics/half_rounding.h"

namespace halyard::engine {
namespace {

constexpr size_t kElementsPerCheck = size_t{1} << 18;

class ReduceToFloat16 : public Rule {
  public:
    using Rule::Rule;

    Result<bool> apply(NodeId id) {
        const Node& node = from().node(id);
        HALYARD_ASSIGN_OR_RETURN(const bool reduces, canReduce(node));
        if (!reduces) {
            for (const TensorId input : node.inputs) {
                restore(input);
            }
            return false;
        }
        Node reduced = node;
        for (TensorId& input : reduced.inputs) {
            input = isFloat32(input) ? halfOf(input, node) : rewriter().tensor(input);
        }
        for (size_t i = 0; i < node.outputs.size(); ++i) {
            const TensorId old = node.outputs[i];
            reduced.outputs[i] =
                    isFloat32(old) ? rewriter().addTensor(halfType(old)) : rewriter().tensor(old);
        }
        rewriter().add(reduced);
        for (size_t i = 0; i < node.outputs.size(); ++i) {
            const TensorId old = node.outputs[i];
            if (isFloat32(old)) {
                mHalves[old] = {.half = reduced.outputs[i], .producer = &node};
                if (uses().isGraphOutput(old)) {
                    restore(old);
                }
            }
        }
        markChanged();
        return true;
    }

  private:
    // An old FLOAT32 tensor that the new graph has as FLOAT16.
    struct Reduced {
        TensorId half = kNoTensor;       // new
        const Node* producer = nullptr;  // old; null: the new graph has it as FLOAT32, too
    };

    bool isFloat32(TensorId old) const {
        return old != kNoTensor && typeOf(old).type == DataType::FLOAT32;
    }
    bool isGraphInput(TensorId old) const {
        return std::ranges::find(from().inputs(), old) != from().inputs().end();
    }
    TensorType halfType(TensorId old) const {
        TensorType type = typeOf(old);
        type.type = DataType::FLOAT16;
        return type;
    }

    // Constants that it reads are converted then, where they were not before.
    Result<bool> canReduce(const Node& node) {
        const auto floats = [&](TensorId id) { return isFloat32(id); };
        if (node.kind() == NodeKind::Cast || !nestedGraphs(node).empty() ||
            !(std::ranges::any_of(node.inputs, floats) ||
              std::ranges::any_of(node.outputs, floats))) {
            return false;
        }
        const NodeSignature signature = signatureOf(node.descriptor);
        std::vector<TensorType> types;  // of inputs; not to move
        types.reserve(node.inputs.size());
        std::vector<KnownInput> inputs;
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            const TensorId id = node.inputs[i];
            if (!isFloat32(id)) {
                inputs.push_back(knownInput(from(), id));
                continue;
            }
            // A run may leave out a graph's input, but nothing that is cast.
            if (signature.isControlInput(i) ||
                ((signature.input(i)->traits & kOmittable) != 0 && isGraphInput(id))) {
                return false;
            }
            inputs.push_back({.type = &types.emplace_back(halfType(id)), .data = nullptr});
        }
        std::vector<TensorType> outputs;
        for (const TensorId id : node.outputs) {
            outputs.push_back(isFloat32(id) ? halfType(id) : typeOf(id));
        }
        if (!inferShapes(node, inputs, outputs).ok()) {
            return false;
        }
        for (const TensorId id : node.inputs) {
            if (isFloat32(id) && from().tensor(id).isConstant() && !mHalves.contains(id)) {
                HALYARD_ASSIGN_OR_RETURN(const std::optional<TensorId> half, convert(id));
                if (!half.has_value()) {
                    return false;
                }
                mHalves[id] = {.half = *half, .producer = nullptr};
            }
        }
        return true;
    }

    // Nothing where FLOAT16 can't hold it, or there is no room.
    Result<std::optional<TensorId>> convert(TensorId constant) {
        const std::span<const uint8_t> bytes = from().tensor(constant).constant.bytes;
        const std::span<const float> elements = {reinterpret_cast<const float*>(bytes.data()),
                                                 bytes.size() / sizeof(float)};
        Result<AlignedBuffer> buffer =
                AlignedBuffer::allocate(std::max<size_t>(elements.size() * sizeof(Half), 1),
                                        alignof(std::max_align_t), context().memory);
        if (!buffer.ok()) {
            return std::optional<TensorId>();
        }
        auto* to = reinterpret_cast<Half*>(buffer->data());
        for (size_t begin = 0; begin < elements.size(); begin += kElementsPerCheck) {
            HALYARD_RETURN_IF_ERROR(context().checkpoint.check("while precision was reduced"));
            const size_t end = std::min(begin + kElementsPerCheck, elements.size());
            if (!roundToHalves(elements.data() + begin, static_cast<int64_t>(end - begin),
                               to + begin)) {
                return std::optional<TensorId>();
            }
        }
        HALYARD_ASSIGN_OR_RETURN(const TensorId half,
                                 addConstant(halfType(constant), std::move(*buffer)));
        return std::optional(half);
    }

    // The new FLOAT16 form of an old tensor, for this node.
    TensorId halfOf(TensorId old, const Node& reader) {
        const auto found = mHalves.find(old);
        if (found != mHalves.end()) {
            return found->second.half;
        }
        const TensorId half = rewriter().addTensor(halfType(old));
        cast(rewriter().tensor(old), half, reader);
        mHalves[old] = {.half = half, .producer = nullptr};
        return half;
    }

    // Has the new graph hold the old tensor as FLOAT32.
    void restore(TensorId old) {
        const auto found = mHalves.find(old);
        if (found != mHalves.end() && found->second.producer != nullptr) {
            const Node& producer = *std::exchange(found->second.producer, nullptr);
            cast(found->second.half, rewriter().tensor(old), producer);
        }
    }

    void cast(TensorId input, TensorId output, const Node& cause) {
        rewriter().add({.descriptor = Cast(),
                        .inputs = {input},
                        .outputs = {output},
                        .label = cause.label,
                        .sources = cause.sources});
    }

    std::unordered_map<TensorId, Reduced> mHalves;  // by old tensor
};

}  // namespace

Result<bool> reduceToFloat16(Graph& graph, const PassContext& context) {
    const bool isAskedFor = context.options.precision == FloatPrecision::FLOAT16;
    if (!isAskedFor && !(context.options.relaxedAsFloat16 && graph.relaxedFloat())) {
        return false;
    }
    HALYARD_ASSIGN_OR_RETURN(const bool changed, applyRule<ReduceToFloat16>(graph, context));
    if (changed) {
        // Sums may be of that precision, too.
        graph.setRelaxedFloat(true);
    }
    return changed;
}

}  // namespace halyard::engine
