// SPDX-License-Identifier: Apache-2.0
//
// Graph: tensors and the nodes between them, in execution order. A Graph is built once (by the
// driver's lowering or by a test), verified, and then read only; passes make a new version of it.
//
// Glossary. tensor: a value of the graph, with a type that may have unknown dimensions. constant:
// a tensor whose elements are known. input/output: tensors bound by the caller at each execution.
// node: one computation. partition: a run of nodes given to one backend (engine/plan). operation:
// what the caller's model has; nodes stem from operations.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/graph/constant_data.h"
#include "engine/graph/nodes.h"
#include "engine/graph/tensor.h"

namespace halyard::engine {

class ConstantCopies;

using TensorId = uint32_t;
using NodeId = uint32_t;

// Stands for an input that was left out.
inline constexpr TensorId kNoTensor = std::numeric_limits<TensorId>::max();

// Computed or given by the caller, a constant with its elements, or one that was packed away.
struct Tensor {
    TensorType type;
    ConstantData constant;  // bytes.data() == nullptr where there are no elements
    // For people, and for callers that bind by name; may be empty. Nothing depends on it.
    std::string name = {};

    bool isConstant() const { return constant.owner != nullptr || isPackedAway(); }
    // Only nodes that have its packing may read it (CompiledPartition::packed).
    bool isPackedAway() const { return constant.isPackedAway(); }
};

struct Node {
    NodeDescriptor descriptor;
    std::vector<TensorId> inputs;
    std::vector<TensorId> outputs;
    // The caller's name of the node, for messages and placement, e.g. "operation 3 (CONV_2D)".
    std::string label;
    // The caller's operations that this node stems from, ascending; several nodes may share one.
    // Inside a nested graph, those of the nested graph.
    std::vector<uint32_t> sources;

    NodeKind kind() const { return static_cast<NodeKind>(descriptor.index()); }
    // Compares all but the label, which is for people.
    bool operator==(const Node& other) const;
};

// The failure with the node's label before it, and about the first of its operations; OK stays OK.
Status failureOf(const Node& node, const Status& failure);

// An operation that left no node behind, and what became of it: "folded", "fused into operation 5".
struct VanishedOperation {
    uint32_t operation = 0;
    std::string fate;

    bool operator==(const VanishedOperation&) const = default;
};

class Graph {
  public:
    // Room for so many: adding as many moves none.
    void reserve(size_t tensors, size_t nodes) {
        mTensors.reserve(tensors);
        mNodes.reserve(nodes);
    }
    TensorId addTensor(TensorType type, std::string name = {});
    // Fails if the byte count does not match the type. Takes a copy of data without an owner, of
    // data that is not aligned to the element size, and of zero-length data, which may have no
    // address; without `copies` one that is not counted.
    Result<TensorId> addConstant(TensorType type, ConstantData data);
    Result<TensorId> addConstant(TensorType type, ConstantData data, ConstantCopies& copies);
    // One that was packed away; its id is none other's in the program.
    TensorId addPackedConstant(TensorType type, ConstantId id);
    NodeId addNode(Node node);
    void addVanished(VanishedOperation vanished) { mVanished.push_back(std::move(vanished)); }
    // Puts other bytes, as many, in the place of a constant's.
    void replaceConstant(TensorId id, ConstantData data) {
        mTensors[id].constant = std::move(data);
    }
    void setName(TensorId id, std::string name) { mTensors[id].name = std::move(name); }
    // Lets go of the bytes of a constant that has an id.
    void packAway(TensorId id) {
        mTensors[id].constant = {.owner = nullptr, .bytes = {}, .id = mTensors[id].constant.id};
    }
    void setInputs(std::vector<TensorId> inputs) { mInputs = std::move(inputs); }
    void setOutputs(std::vector<TensorId> outputs) { mOutputs = std::move(outputs); }
    // True when float32 arithmetic may drop to float16 range and precision.
    void setRelaxedFloat(bool relaxed) { mRelaxedFloat = relaxed; }

    std::span<const Tensor> tensors() const { return mTensors; }
    std::span<const Node> nodes() const { return mNodes; }
    std::span<const TensorId> inputs() const { return mInputs; }
    std::span<const TensorId> outputs() const { return mOutputs; }
    bool relaxedFloat() const { return mRelaxedFloat; }
    const Tensor& tensor(TensorId id) const { return mTensors[id]; }
    Tensor& mutableTensor(TensorId id) { return mTensors[id]; }
    // The position among the inputs, or outputs, of the first that has this name.
    std::optional<size_t> inputNamed(std::string_view name) const;
    std::optional<size_t> outputNamed(std::string_view name) const;
    const Node& node(NodeId id) const { return mNodes[id]; }
    Node& mutableNode(NodeId id) { return mNodes[id]; }
    std::span<const VanishedOperation> vanished() const { return mVanished; }

    // By content: constants by their bytes, nested graphs in depth; not by labels and names.
    bool operator==(const Graph& other) const;

  private:
    std::vector<Tensor> mTensors;
    std::vector<Node> mNodes;
    std::vector<TensorId> mInputs;
    std::vector<TensorId> mOutputs;
    std::vector<VanishedOperation> mVanished;
    bool mRelaxedFloat = false;
};

// The graphs that a node holds: none for most kinds.
std::vector<const NestedGraph*> nestedGraphs(const Node& node);
std::vector<NestedGraph*> nestedGraphs(Node& node);

}  // namespace halyard::engine
