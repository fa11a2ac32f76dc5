// SPDX-License-Identifier: Apache-2.0
//
// Graph: tensors and the nodes between them, in execution order. A Graph is built once (by the
// driver's lowering or by a test), verified, and then read only; passes make a new version of it.
//
// Glossary. tensor: a value of the graph, with a type that may have unknown dimensions. constant:
// a tensor whose elements are known. input/output: tensors bound by the caller at each execution.
// node: one computation. piece: a run of nodes given to one backend (engine/plan).

#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/base/memory_budget.h"
#include "engine/base/status.h"
#include "engine/graph/nodes.h"
#include "engine/graph/tensor.h"

namespace halyard::engine {

using TensorId = uint32_t;
using NodeId = uint32_t;

// Stands for an input that was left out.
inline constexpr TensorId kNoTensor = std::numeric_limits<TensorId>::max();

// Elements of a constant. `owner` keeps `bytes` alive (a mapped pool, a vector); the bytes may be
// unaligned in the client's pool, so Graph::addConstant copies those that are.
struct ConstantData {
    std::shared_ptr<const void> owner;
    std::span<const uint8_t> bytes;
};

struct Tensor {
    TensorType type;
    ConstantData constant;  // bytes.data() == nullptr unless the tensor is a constant

    bool isConstant() const { return constant.owner != nullptr; }
};

struct Node {
    NodeDescriptor descriptor = std::monostate();
    std::vector<TensorId> inputs;
    std::vector<TensorId> outputs;
    // What the caller calls the node, for messages and placement, e.g. "operation 3 (CONV_2D)".
    std::string label;
    // Index of the caller's operation that this node stems from; several nodes may share one.
    uint32_t source = 0;

    NodeKind kind() const { return static_cast<NodeKind>(descriptor.index()); }
};

class Graph {
  public:
    TensorId addTensor(TensorType type);
    // Fails if the byte count does not match the type. Copies data that is not aligned to the
    // element size (and zero-length data, which needs no owner); copies are reserved from `memory`,
    // if there is one.
    Result<TensorId> addConstant(TensorType type, ConstantData data,
                                 std::shared_ptr<MemoryBudget> memory = nullptr);
    NodeId addNode(Node node);
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
    const Node& node(NodeId id) const { return mNodes[id]; }

  private:
    std::vector<Tensor> mTensors;
    std::vector<Node> mNodes;
    std::vector<TensorId> mInputs;
    std::vector<TensorId> mOutputs;
    bool mRelaxedFloat = false;
};

}  // namespace halyard::engine
