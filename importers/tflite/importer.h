// SPDX-License-Identifier: Apache-2.0
//
// Importer: from the operators of a TFLite subgraph to an engine::Graph, straight. It knows which
// operators the engine can express, and of the others why not.
//
// Types. Constants of INT64 become INT32 where their values fit; INT2, INT4 and UINT4 become 8
// bits; BFLOAT16, and the 8-bit weights of float activations (hybrid operators), become FLOAT32.
// Values that are computed or given for a run are as the engine has them: not INT64.
//
// Shapes. What the subgraph says of its inputs, of constants and of what operators compute that are
// not taken is believed; all else is inferred, as files and contexts may tell it wrongly. What
// follows from shapes alone (SHAPE, and arithmetic on it) is a constant.
//
// Variables. A tensor that keeps its elements from run to run is an input of the graph and, where
// an operator changes it, an output as well: the caller carries it over (ImportedGraph::states).

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "importers/tflite/imported_graph.h"
#include "importers/tflite/model.h"

namespace halyard::tflite {

struct Surroundings;

// Of one subgraph. The model outlives it and does not change; graphs that it builds point to the
// model's constants, and keep their owners alive.
class Importer {
  public:
    // Looks at every operator once. INVALID_ARGUMENT as Model::check() has it, or where there is no
    // such subgraph; RESOURCE_EXHAUSTED or DEADLINE_EXCEEDED as the options say.
    static Result<Importer> create(const Model& model, size_t subgraph,
                                   const ImportOptions& options = {});

    // Why an operator is not taken: a sentence about its tensors and options. Empty: it is taken.
    const std::string& reason(size_t op) const { return mReasons[op]; }
    size_t operatorCount() const { return mReasons.size(); }
    // Its results follow from constants and shapes: it takes no node.
    bool isFolded(size_t op) const { return mFolded[op]; }

    // The graph of these operators, which are taken and in ascending order. Its inputs are what
    // they read and none of them computes, in the order of `inputs` where they are named there, the
    // rest behind; its outputs are the tensors `outputs`, then what states become. INVALID_ARGUMENT
    // where an operator is not taken, or an output is neither computed nor known; UNSUPPORTED,
    // about the operator that computes it, where an output is INT64: who reads it wants 64 bits.
    Result<ImportedGraph> build(std::span<const uint32_t> operators,
                                std::span<const int32_t> inputs,
                                std::span<const int32_t> outputs) const;
    // The whole subgraph: UNSUPPORTED names the first operator that is not taken, and why. Known
    // outputs of INT64 are INT32.
    Result<ImportedGraph> buildAll() const;

  private:
    // The whole of a subgraph inside an operator.
    static Result<ImportedGraph> importNested(const Model& model, size_t subgraph,
                                              const ImportOptions& options,
                                              Surroundings surroundings);
    // `all`: inputs that nothing reads are inputs of the graph as well.
    Result<ImportedGraph> buildFrom(std::span<const uint32_t> operators,
                                    std::span<const int32_t> inputs,
                                    std::span<const int32_t> outputs, bool all) const;
    Importer(const Model& model, size_t subgraph, ImportOptions options,
             std::shared_ptr<const Surroundings> surroundings);
    Status examine();

    const Model* mModel;
    size_t mSubgraph;
    ImportOptions mOptions;
    std::shared_ptr<const Surroundings> mSurroundings;
    std::vector<std::string> mReasons;
    std::vector<bool> mFolded;
    KnownConstants mKnown;  // what folded operators come to
};

}  // namespace halyard::tflite
