// SPDX-License-Identifier: Apache-2.0

#include "engine/passes/fold_constants.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "engine/base/aligned_buffer.h"
#include "engine/plan/kernel_call.h"
#include "engine/reference/kernels.h"

namespace halyard::engine {
namespace {

constexpr size_t kSmallResult = size_t{64} << 10;
constexpr size_t kGrowth = 4;

// Kinds whose work is in proportion to what they read and write.
bool isCheap(NodeKind kind) {
    switch (kind) {
        case NodeKind::Activate:
        case NodeKind::ArgMinMax:
        case NodeKind::BatchToSpace:
        case NodeKind::Binary:
        case NodeKind::Cast:
        case NodeKind::ChannelShuffle:
        case NodeKind::Compare:
        case NodeKind::Concat:
        case NodeKind::DepthToSpace:
        case NodeKind::Dequantize:
        case NodeKind::ExpandDims:
        case NodeKind::Fill:
        case NodeKind::Gather:
        case NodeKind::Pack:
        case NodeKind::Pad:
        case NodeKind::Quantize:
        case NodeKind::Rank:
        case NodeKind::Reduce:
        case NodeKind::Reshape:
        case NodeKind::Reverse:
        case NodeKind::Select:
        case NodeKind::Slice:
        case NodeKind::SpaceToBatch:
        case NodeKind::SpaceToDepth:
        case NodeKind::Split:
        case NodeKind::Squeeze:
        case NodeKind::StridedSlice:
        case NodeKind::Tile:
        case NodeKind::Transpose:
        case NodeKind::Unary:
            return true;
        default:
            return false;
    }
}

class FoldConstants : public Rule {
  public:
    using Rule::Rule;

    Result<bool> apply(NodeId id) {
        const Node& node = from().node(id);
        if (!isCheap(node.kind())) {
            return false;
        }
        if (node.kind() == NodeKind::Rank) {
            return foldRank(node);
        }
        std::vector<TensorId> inputs;
        for (const TensorId input : node.inputs) {
            inputs.push_back(rewriter().tensor(input));
            if (input != kNoTensor && !to().tensor(inputs.back()).isConstant()) {
                return false;
            }
        }
        return fold(node, inputs);
    }

  private:
    Result<bool> foldRank(const Node& node) {
        const Shape& shape = typeOf(node.inputs[0]).shape;
        if (!shape.hasKnownRank()) {
            return false;
        }
        const auto rank = static_cast<int32_t>(shape.rank());
        Result<TensorId> constant = addConstant(
                typeOf(node.outputs[0]), {reinterpret_cast<const uint8_t*>(&rank), sizeof rank});
        if (!constant.ok()) {
            return false;
        }
        rewriter().replace(node.outputs[0], *constant);
        return folded(node);
    }

    bool folded(const Node& node) {
        explain(node, "folded into a constant");
        markChanged();
        return true;
    }

    // False: left as it is. `inputs`: new constants.
    Result<bool> fold(const Node& node, const std::vector<TensorId>& inputs) {
        std::vector<KnownInput> views;
        for (const TensorId input : inputs) {
            views.push_back(knownInput(to(), input));
        }
        std::vector<TensorType> types;
        for (const TensorId output : node.outputs) {
            types.push_back(typeOf(output));
        }
        if (!inferShapes(node, views, types).ok()) {
            return false;
        }
        std::vector<AlignedBuffer> results;
        std::vector<TensorView> outputs;
        size_t bytes = 0;
        for (const TensorType& type : types) {
            const Result<size_t> size = type.byteSize();
            if (!size.ok() || *size > context().allowance - bytes) {
                return false;
            }
            bytes += *size;
        }
        if (bytes > kSmallResult && bytes > kGrowth * distinctBytes(inputs)) {
            return false;
        }
        for (const TensorType& type : types) {
            Result<AlignedBuffer> buffer = AlignedBuffer::allocate(
                    std::max<size_t>(*type.byteSize(), 1), kTensorAlignment, context().memory);
            if (!buffer.ok()) {
                return false;
            }
            results.push_back(std::move(*buffer));
            outputs.push_back({.type = &type, .data = results.back().data()});
        }
        HALYARD_ASSIGN_OR_RETURN(const bool computed, compute(node, views, outputs));
        if (!computed) {
            return false;
        }
        for (size_t i = 0; i < types.size(); ++i) {
            HALYARD_ASSIGN_OR_RETURN(const TensorId constant,
                                     addConstant(types[i], std::move(results[i])));
            rewriter().replace(node.outputs[i], constant);
        }
        context().allowance -= bytes;
        return folded(node);
    }

    // False where the kernel fails: it will when the node runs.
    Result<bool> compute(const Node& node, std::span<const KnownInput> inputs,
                         std::span<TensorView> outputs) {
        const Kernel kernel = ref::findKernel(node);
        if (kernel.run == nullptr) {
            return false;
        }
        KernelCall call({.inputs = inputs,
                         .outputs = outputs,
                         .checkpoint = context().checkpoint,
                         .memory = context().memory,
                         .constants = {}});
        const bool ok = kernel.run(node, call).ok();
        HALYARD_RETURN_IF_ERROR(context().checkpoint.check("while constants were folded"));
        return ok;
    }

    // Of the constants, each counted once: a Concat of one part many times is no large input.
    size_t distinctBytes(const std::vector<TensorId>& inputs) const {
        const std::set<TensorId> distinct(inputs.begin(), inputs.end());
        size_t bytes = 0;
        for (const TensorId input : distinct) {
            bytes += input == kNoTensor ? 0 : to().tensor(input).constant.bytes.size();
        }
        return bytes;
    }
};

}  // namespace

Result<bool> foldConstants(Graph& graph, const PassContext& context) {
    return applyRule<FoldConstants>(graph, context);
}

}  // namespace halyard::engine
