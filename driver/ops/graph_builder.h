// SPDX-License-Identifier: Apache-2.0
//
// GraphBuilder: the graph of one subgraph of a model while it is made. LoweringRun: what the graphs
// of one run over a model (model_lowering.h) have in common. Operations see neither (lowering.h).

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "driver/model/model.h"
#include "driver/ops/constants.h"
#include "engine/base/checkpoint.h"
#include "engine/base/status.h"
#include "engine/graph/constant_copies.h"
#include "engine/graph/graph.h"

namespace halyard::driver {

// The engine's tensor type for an operand. UNSUPPORTED: types and ranks beyond the engine.
Result<engine::TensorType> tensorTypeOf(const Operand& operand);

// For one thread.
class LoweringRun {
  public:
    virtual ~LoweringRun() = default;
    LoweringRun(const LoweringRun&) = delete;
    LoweringRun& operator=(const LoweringRun&) = delete;

    const Model& model() const { return mModel; }
    const Constants& constants() const { return mConstants; }
    const Checkpoint& checkpoint() const { return mCheckpoint; }
    // Copies of constants that graphs can't use in place: each is made once in a run, however many
    // graphs read it.
    engine::ConstantCopies& copies() { return mCopies; }
    // The graph of a subgraph that an operation refers to. UNSUPPORTED also where graphs would be
    // nested deeper than the engine's limit.
    virtual Result<engine::NestedGraph> nested(size_t subgraph) = 0;

  protected:
    // The model and the constants outlive the run.
    LoweringRun(const Model& model, const Constants& constants, const Checkpoint& checkpoint)
        : mModel(model),
          mConstants(constants),
          mCheckpoint(checkpoint),
          mCopies(constants.budget(), checkpoint) {}

  private:
    const Model& mModel;
    const Constants& mConstants;
    const Checkpoint mCheckpoint;
    engine::ConstantCopies mCopies;
};

// For one thread.
class GraphBuilder {
  public:
    // Both outlive the builder. `subgraph` is one of the model's.
    GraphBuilder(LoweringRun& run, const Subgraph& subgraph) : mRun(run), mSubgraph(subgraph) {}

    LoweringRun& run() { return mRun; }
    const Subgraph& subgraph() const { return mSubgraph; }
    engine::Graph& graph() { return mGraph; }

    // The tensor of an operand, made when first asked for.
    Result<engine::TensorId> tensorOf(uint32_t operand);
    Result<std::vector<engine::TensorId>> tensorsOf(const std::vector<uint32_t>& operands);
    // A list of our own, made once for the graph.
    Result<engine::TensorId> listOf(const std::vector<int32_t>& values);
    // With these operands as the graph's inputs and outputs.
    Result<engine::Graph> finish(const std::vector<uint32_t>& inputs,
                                 const std::vector<uint32_t>& outputs);

  private:
    LoweringRun& mRun;
    const Subgraph& mSubgraph;
    engine::Graph mGraph;
    std::unordered_map<uint32_t, engine::TensorId> mTensors;  // by operand
    std::map<std::vector<int32_t>, engine::TensorId> mLists;
};

}  // namespace halyard::driver
