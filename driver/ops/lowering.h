// SPDX-License-Identifier: Apache-2.0
//
// Lowering: from a valid model to the engine's graph. GraphBuilder holds the graph under
// construction; Lowering is what one operation sees of it, and all that a family's file uses.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "driver/model/model.h"
#include "driver/ops/constants.h"
#include "engine/base/status.h"
#include "engine/graph/graph.h"

namespace halyard::driver {

// The graph of the whole main subgraph: graph inputs and outputs are the model's, in order.
// UNSUPPORTED names the first operation that can't be lowered. The graph points into the pools.
Result<engine::Graph> lowerModel(const Model& model, const Constants& constants);

// The graph of operation `index` of the main subgraph alone, fed by the values it reads.
Result<engine::Graph> lowerOperation(const Model& model, const Constants& constants, size_t index);

// What a tensor of that operand is to the engine. UNSUPPORTED: types and ranks beyond the engine.
Result<engine::TensorType> tensorTypeOf(const Operand& operand);

class GraphBuilder {
  public:
    // Both outlive the builder.
    GraphBuilder(const Subgraph& subgraph, const Constants& constants)
        : mSubgraph(subgraph), mConstants(constants) {}

    const Subgraph& subgraph() const { return mSubgraph; }
    const Constants& constants() const { return mConstants; }
    engine::Graph& graph() { return mGraph; }

    // The tensor of an operand, made when first asked for.
    Result<engine::TensorId> tensorOf(uint32_t operand);
    Status lower(size_t operation);

  private:
    const Subgraph& mSubgraph;
    const Constants& mConstants;
    engine::Graph mGraph;
    std::unordered_map<uint32_t, engine::TensorId> mTensors;  // by operand
};

// Operands are named by their position among the operation's inputs or outputs. The operation
// matches one of its signatures.
class Lowering {
  public:
    Lowering(GraphBuilder& builder, const Operation& operation, std::string label, uint32_t source)
        : mBuilder(builder), mOperation(operation), mLabel(std::move(label)), mSource(source) {}

    size_t inputCount() const { return mOperation.inputs.size(); }
    const Operand& input(size_t position) const;
    const Operand& output(size_t position) const;

    // ---- Scalars. UNSUPPORTED unless the operand is a constant; `name` is for the message. ------
    Result<int32_t> int32(size_t position, std::string_view name) const;
    // At least `least`: INVALID_ARGUMENT otherwise.
    Result<int32_t> int32AtLeast(size_t position, std::string_view name, int32_t least) const;
    Result<bool> boolean(size_t position, std::string_view name) const;
    // FLOAT32 or FLOAT16.
    Result<float> real(size_t position, std::string_view name) const;
    // NNAPI's FuseCode.
    Result<engine::Activation> activation(size_t position) const;
    // A trailing BOOL that is true for NCHW; false where the operation ends before it.
    Result<bool> isNchw(size_t position) const;

    // ---- Tensors --------------------------------------------------------------------------------
    Result<engine::TensorId> inputTensor(size_t position);
    Result<engine::TensorId> outputTensor(size_t position);
    const engine::TensorType& typeOf(engine::TensorId id) const;
    engine::TensorId addTemporary(engine::TensorType type);
    Result<engine::TensorId> addConstant(std::vector<int32_t> values);
    void addNode(engine::NodeDescriptor descriptor, std::vector<engine::TensorId> inputs,
                 engine::TensorId output);

    // Input 0 as NHWC: the tensor itself, or the output of a Transpose when `nchw`.
    Result<engine::TensorId> nhwcInput(bool nchw);
    // The node's result is NHWC; with `nchw` a Transpose stands between it and output 0.
    Status addNhwcNode(engine::NodeDescriptor descriptor, std::vector<engine::TensorId> inputs,
                       bool nchw);
    // input 0 -> node -> output 0.
    Status addUnaryNode(engine::NodeDescriptor descriptor);

  private:
    std::string nameOfInput(size_t position, std::string_view name) const;
    // Copies a constant scalar of sizeof(T) bytes once.
    template <typename T>
    Result<T> scalar(size_t position, std::string_view name) const;

    GraphBuilder& mBuilder;
    const Operation& mOperation;
    std::string mLabel;
    uint32_t mSource;
};

}  // namespace halyard::driver
