// SPDX-License-Identifier: Apache-2.0
//
// ModelLowering: from a valid model to the engine's graphs, by the definitions of the operation
// table (operation_table.h).

#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <vector>

#include "driver/model/model.h"
#include "driver/ops/constants.h"
#include "driver/ops/graph_builder.h"
#include "engine/base/checkpoint.h"
#include "engine/base/status.h"
#include "engine/graph/graph.h"

namespace halyard::driver {

// One run over a model. Each subgraph that operations refer to is lowered once in it, however many
// refer to it. For one thread.
class ModelLowering final : public LoweringRun {
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

    Result<engine::NestedGraph> nested(size_t subgraph) override;

  private:
    Result<engine::Graph> lower(const Subgraph& subgraph);
    // An operation of the builder's subgraph.
    Status lower(size_t operation, GraphBuilder& builder);

    const std::set<OperationType> mDenied;
    // Per referenced subgraph: whether it and what it refers to stay within the limit. The client
    // chooses the depth: nothing is lowered recursively before that is known.
    std::vector<bool> mShallow;
    std::vector<std::optional<Result<engine::NestedGraph>>> mNested;
};

// One run for the one question.
Result<engine::Graph> lowerModel(const Model& model, const Constants& constants,
                                 const Checkpoint& checkpoint = {});
Result<engine::Graph> lowerOperation(const Model& model, const Constants& constants, size_t index);

}  // namespace halyard::driver
