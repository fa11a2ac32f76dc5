// SPDX-License-Identifier: Apache-2.0

#include "engine/graph/graph.h"

#include <algorithm>
#include <utility>

#include "engine/graph/constant_copies.h"

namespace halyard::engine {

namespace {

std::optional<size_t> positionOf(std::string_view name, std::span<const TensorId> among,
                                 std::span<const Tensor> tensors) {
    const auto found = std::ranges::find_if(
            among, [&](TensorId id) { return !name.empty() && tensors[id].name == name; });
    return found == among.end() ? std::nullopt
                                : std::optional(static_cast<size_t>(found - among.begin()));
}

}  // namespace

Status failureOf(const Node& node, const Status& failure) {
    const Status labelled = failure.withContext(node.label);
    return node.sources.empty() ? labelled : labelled.atOperation(node.sources.front());
}

TensorId Graph::addTensor(TensorType type, std::string name) {
    mTensors.push_back({.type = std::move(type), .constant = {}, .name = std::move(name)});
    return static_cast<TensorId>(mTensors.size() - 1);
}

std::optional<size_t> Graph::inputNamed(std::string_view name) const {
    return positionOf(name, mInputs, mTensors);
}

std::optional<size_t> Graph::outputNamed(std::string_view name) const {
    return positionOf(name, mOutputs, mTensors);
}

Result<TensorId> Graph::addConstant(TensorType type, ConstantData data) {
    ConstantCopies copies;
    return addConstant(std::move(type), std::move(data), copies);
}

Result<TensorId> Graph::addConstant(TensorType type, ConstantData data, ConstantCopies& copies) {
    HALYARD_ASSIGN_OR_RETURN(const size_t size, type.byteSize());
    if (data.bytes.size() != size) {
        return invalidArgument("constant " + type.toString() + " takes " + std::to_string(size) +
                               " bytes but has " + std::to_string(data.bytes.size()));
    }
    const auto address = reinterpret_cast<uintptr_t>(data.bytes.data());
    if (data.owner == nullptr || data.bytes.empty() || address % elementSize(type.type) != 0) {
        Result<ConstantData> copy = copies.of(data);
        if (!copy.ok()) {
            return copy.status().withContext("the copy of constant " + type.toString());
        }
        data = std::move(copy).value();
    }
    mTensors.push_back({.type = std::move(type), .constant = std::move(data)});
    return static_cast<TensorId>(mTensors.size() - 1);
}

TensorId Graph::addPackedConstant(TensorType type, ConstantId id) {
    const TensorId tensor = addTensor(std::move(type));
    mTensors[tensor].constant.id = id;
    return tensor;
}

size_t nodeCount(const NestedGraph& nested) {
    return nested.graph->nodes().size();
}

bool NestedGraph::operator==(const NestedGraph& other) const {
    return graph == other.graph ||
           (graph != nullptr && other.graph != nullptr && *graph == *other.graph);
}

bool Node::operator==(const Node& other) const {
    return descriptor == other.descriptor && inputs == other.inputs && outputs == other.outputs &&
           sources == other.sources;
}

bool Graph::operator==(const Graph& other) const {
    const auto sameTensor = [](const Tensor& a, const Tensor& b) {
        return a.type == b.type && a.isConstant() == b.isConstant() &&
               a.isPackedAway() == b.isPackedAway() &&
               (!a.isPackedAway() || a.constant.id == b.constant.id) &&
               std::ranges::equal(a.constant.bytes, b.constant.bytes);
    };
    return mInputs == other.mInputs && mOutputs == other.mOutputs &&
           mRelaxedFloat == other.mRelaxedFloat && mVanished == other.mVanished &&
           std::ranges::equal(mTensors, other.mTensors, sameTensor) && mNodes == other.mNodes;
}

namespace {

template <typename Pointer, typename AnyNode>
std::vector<Pointer> nestedIn(AnyNode& node) {
    if (auto* branch = std::get_if<If>(&node.descriptor)) {
        return {&branch->then, &branch->otherwise};
    }
    if (auto* loop = std::get_if<While>(&node.descriptor)) {
        return {&loop->condition, &loop->body};
    }
    return {};
}

}  // namespace

std::vector<const NestedGraph*> nestedGraphs(const Node& node) {
    return nestedIn<const NestedGraph*>(node);
}

std::vector<NestedGraph*> nestedGraphs(Node& node) {
    return nestedIn<NestedGraph*>(node);
}

NodeId Graph::addNode(Node node) {
    mNodes.push_back(std::move(node));
    return static_cast<NodeId>(mNodes.size() - 1);
}

}  // namespace halyard::engine
