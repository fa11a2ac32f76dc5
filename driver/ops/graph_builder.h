// SPDX-License-Identifier: Apache-2.0
//
// From a valid model to the engine's graphs. ModelLowering is one run over a model; GraphBuilder
// holds the graph of one of its subgraphs while it is made. Operations see neither (lowering.h).

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "driver/model/model.h"
#include "driver/ops/constants.h"
#include "engine/base/checkpoint.h"
#include "engine/base/status.h"
#include "engine/graph/constant_copies.h"
#include "engine/graph/graph.h"

namespace halyard::driver {

// What a tensor of that operand is to the engine. UNSUPPORTED: types and ranks beyond the engine.
Result<engine::TensorType> tensorTypeOf(const Operand& operand);

// Each subgraph that operations refer to is lowered once in a run, however many refer to it. For
// one thread.
class ModelLowering {
  public:
    // The model and the constants outlive the run, and its graphs point into the pools. `denied`:
    // operations that it refuses, at any depth. `checkpoint`: polled before each operation.
    ModelLowering(const Model& model, const Constants& constants,
                  std::set<OperationType> denied = {}, const Checkpoint& checkpoint = {});

    // The graph of the main subgraph: graph inputs and outputs are the model's, in order.
    // UNSUPPORTED names the first operation that can't be lowered, and the operation inside that is
    // the reason where it is an IF or a WHILE.
    Result<engine::Graph> whole();
    // The graph of operation `index` of the main subgraph alone, fed by the values it reads.
    Result<engine::Graph> operation(size_t index);
    // The graph of some of its operations, by ascending index, fed by what they read and do not
    // write, each value once. It gives all that they write.
    Result<engine::Graph> operations(const std::vector<size_t>& indexes);

    const Model& model() const { return mModel; }
    const Constants& constants() const { return mConstants; }
    const Checkpoint& checkpoint() const { return mCheckpoint; }
    // What its graphs can't use in place of the model's constants: copied once in a run, however
    // many graphs read it.
    engine::ConstantCopies& copies() { return mCopies; }
    bool denies(OperationType type) const { return mDenied.contains(type); }
    // The graph of a subgraph that an operation refers to. UNSUPPORTED also where graphs would be
    // nested deeper than the engine's limit.
    Result<engine::NestedGraph> nested(size_t subgraph);

  private:
    Result<engine::Graph> lower(const Subgraph& subgraph);

    const Model& mModel;
    const Constants& mConstants;
    const std::set<OperationType> mDenied;
    const Checkpoint mCheckpoint;
    engine::ConstantCopies mCopies;
    // Per referenced subgraph: whether it and what it refers to stay within the limit. The client
    // chooses the depth: nothing is lowered recursively before that is known.
    std::vector<bool> mShallow;
    std::vector<std::optional<Result<engine::NestedGraph>>> mNested;
};

class GraphBuilder {
  public:
    // Both outlive the builder. `subgraph` is one of the model's.
    GraphBuilder(ModelLowering& run, const Subgraph& subgraph) : mRun(run), mSubgraph(subgraph) {}

    ModelLowering& run() { return mRun; }
    engine::Graph& graph() { return mGraph; }

    // The tensor of an operand, made when first asked for.
    Result<engine::TensorId> tensorOf(uint32_t operand);
    Result<std::vector<engine::TensorId>> tensorsOf(const std::vector<uint32_t>& operands);
    // A list of our own, made once for the graph.
    Result<engine::TensorId> listOf(const std::vector<int32_t>& values);
    Status lower(size_t operation);
    // With these operands as the graph's inputs and outputs.
    Result<engine::Graph> finish(const std::vector<uint32_t>& inputs,
                                 const std::vector<uint32_t>& outputs);

  private:
    ModelLowering& mRun;
    const Subgraph& mSubgraph;
    engine::Graph mGraph;
    std::unordered_map<uint32_t, engine::TensorId> mTensors;  // by operand
    std::map<std::vector<int32_t>, engine::TensorId> mLists;
};

// One run for the one question.
Result<engine::Graph> lowerModel(const Model& model, const Constants& constants,
                                 const Checkpoint& checkpoint = {});
Result<engine::Graph> lowerOperation(const Model& model, const Constants& constants, size_t index);

}  // namespace halyard::driver
