// SPDX-License-Identifier: Apache-2.0

#include "engine/passes/pass.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace halyard::engine {

Result<bool> runPass(const Pass& pass, Graph& graph, const PassContext& context) {
    Result<bool> done = pass.run(graph, context);
    if (done.status().code() == StatusCode::INTERNAL) {
        return done.status().withContext("pass " + std::string(pass.name));
    }
    return done;
}

Rule::Rule(GraphRewriter& rewriter, const PassContext& context)
    : mRewriter(rewriter), mContext(context) {
    for (const TensorId input : rewriter.from().inputs()) {
        mNewInputs.insert(rewriter.tensor(input));
    }
}

bool Rule::accepts(const Node& node) const {
    std::vector<KnownInput> inputs;
    for (const TensorId id : node.inputs) {
        inputs.push_back(knownInput(to(), id));
    }
    std::vector<TensorType> outputs;
    for (const TensorId id : node.outputs) {
        outputs.push_back(to().tensor(id).type);
    }
    if (!inferShapes(node, inputs, outputs).ok()) {
        return false;
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
        if (!mergeShapes(outputs[i].shape, to().tensor(node.outputs[i]).type.shape).ok()) {
            return false;
        }
    }
    return true;
}

bool Rule::canStandFor(TensorId replacement, TensorId old) const {
    const Tensor& tensor = to().tensor(replacement);
    if (!tensor.type.shape.isFullyKnown() || !(tensor.type == typeOf(old))) {
        return false;
    }
    return !uses().isGraphOutput(old) ||
           (!tensor.isConstant() && !mNewInputs.contains(replacement));
}

Result<TensorId> Rule::addConstant(TensorType type, AlignedBuffer bytes) {
    HALYARD_ASSIGN_OR_RETURN(const size_t size, type.byteSize());
    const auto owner = std::make_shared<const AlignedBuffer>(std::move(bytes));
    return mRewriter.addConstant(
            std::move(type),
            {.owner = owner, .bytes = {reinterpret_cast<const uint8_t*>(owner->data()), size}});
}

Result<TensorId> Rule::addConstant(TensorType type, std::span<const uint8_t> bytes) {
    HALYARD_ASSIGN_OR_RETURN(AlignedBuffer buffer,
                             AlignedBuffer::allocate(std::max<size_t>(bytes.size(), 1),
                                                     alignof(std::max_align_t), mContext.memory));
    if (!bytes.empty()) {
        std::memcpy(buffer.data(), bytes.data(), bytes.size());
    }
    return addConstant(std::move(type), std::move(buffer));
}

Result<TensorId> Rule::addInts(std::span<const int32_t> elements) {
    const TensorType type = {.type = DataType::INT32,
                             .shape = {static_cast<int32_t>(elements.size())},
                             .quantization = {}};
    return addConstant(type,
                       {reinterpret_cast<const uint8_t*>(elements.data()), elements.size_bytes()});
}

void Rule::explain(const Node& node, const std::string& fate) {
    for (const uint32_t operation : node.sources) {
        mRewriter.explain(operation, fate);
    }
}

KnownInput knownInput(const Graph& graph, TensorId id) {
    if (id == kNoTensor) {
        return {};
    }
    const Tensor& tensor = graph.tensor(id);
    return {.type = &tensor.type, .data = tensor.constant.bytes.data()};
}

std::string nameOperations(const Node& node) {
    std::string text = node.sources.size() == 1 ? "operation" : "operations";
    for (size_t i = 0; i < node.sources.size(); ++i) {
        text += (i == 0 ? " " : ", ") + std::to_string(node.sources[i]);
    }
    return text;
}

}  // namespace halyard::engine
