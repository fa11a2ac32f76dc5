// SPDX-License-Identifier: Apache-2.0

#include "engine/passes/reduce_to_bfloat16.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include "engine/base/half.h"

namespace halyard::engine {
namespace {

constexpr size_t kElementsPerCheck = size_t{1} << 18;

bool sumsProducts(NodeKind kind) {
    switch (kind) {
        case NodeKind::BatchMatmul:
        case NodeKind::Conv2d:
        case NodeKind::DepthwiseConv2d:
        case NodeKind::FullyConnected:
        case NodeKind::Lstm:
        case NodeKind::LstmSequence:
        case NodeKind::Rnn:
        case NodeKind::RnnSequence:
        case NodeKind::Svdf:
        case NodeKind::TransposeConv2d:
            return true;
        default:
            return false;
    }
}

class ReduceToBfloat16 : public Rule {
  public:
    using Rule::Rule;

    Result<bool> apply(NodeId id) {
        const Node& node = from().node(id);
        if (!sumsProducts(node.kind())) {
            return false;
        }
        Node reduced = node;
        bool changes = false;
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            const TensorId old = node.inputs[i];
            TensorId weights = kNoTensor;
            if (isWeights(old)) {
                HALYARD_ASSIGN_OR_RETURN(weights, rounded(old));
            }
            changes = changes || weights != kNoTensor;
            reduced.inputs[i] = weights != kNoTensor ? weights : rewriter().tensor(old);
        }
        if (!changes) {
            return false;
        }
        for (TensorId& output : reduced.outputs) {
            output = rewriter().tensor(output);
        }
        rewriter().add(std::move(reduced));
        markChanged();
        return true;
    }

  private:
    // Biases and peepholes have one axis.
    bool isWeights(TensorId id) const {
        return id != kNoTensor && from().tensor(id).isConstant() &&
               typeOf(id).type == DataType::FLOAT32 && typeOf(id).shape.rank() >= 2;
    }

    // A new constant; none where all elements are bfloat16's already, where one would not stay
    // finite, or where there is no room.
    Result<TensorId> rounded(TensorId old) {
        const auto known = mRounded.find(old);
        if (known != mRounded.end()) {
            return known->second;
        }
        HALYARD_ASSIGN_OR_RETURN(const TensorId made, round(old));
        return mRounded[old] = made;
    }

    Result<TensorId> round(TensorId old) {
        const std::span<const uint8_t> bytes = from().tensor(old).constant.bytes;
        const std::span<const float> elements = {reinterpret_cast<const float*>(bytes.data()),
                                                 bytes.size() / sizeof(float)};
        if (bytes.size() > context().allowance ||
            std::ranges::all_of(elements, [](float element) { return isBFloat16(element); })) {
            return kNoTensor;
        }
        Result<AlignedBuffer> buffer =
                AlignedBuffer::allocate(bytes.size(), alignof(std::max_align_t), context().memory);
        if (!buffer.ok()) {
            return kNoTensor;
        }
        auto* to = reinterpret_cast<float*>(buffer->data());
        for (size_t begin = 0; begin < elements.size(); begin += kElementsPerCheck) {
            HALYARD_RETURN_IF_ERROR(context().checkpoint.check("while precision was reduced"));
            const size_t end = std::min(begin + kElementsPerCheck, elements.size());
            for (size_t i = begin; i < end; ++i) {
                to[i] = toFloat(toBFloat16(elements[i]));
                if (!std::isfinite(to[i])) {
                    return kNoTensor;
                }
            }
        }
        context().allowance -= bytes.size();
        return addConstant(typeOf(old), std::move(*buffer));
    }

    std::unordered_map<TensorId, TensorId> mRounded;  // by old constant
};

}  // namespace

Result<bool> reduceToBfloat16(Graph& graph, const PassContext& context) {
    return context.options.precision == FloatPrecision::BFLOAT16
                   ? applyRule<ReduceToBfloat16>(graph, context)
                   : false;
}

}  // namespace halyard::engine
