// SPDX-License-Identifier: Apache-2.0
//
// Partition: operators of a context that one kernel runs, as the engine's graph and program.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/base/thread_pool.h"
#include "engine/plan/program.h"
#include "importers/tflite/importer.h"
#include "litert/delegate/context_reader.h"
#include "litert/program/runtime.h"

namespace halyard::litert {

// As the host cuts its graph.
struct PartitionRequest {
    std::vector<uint32_t> operators;  // ascending, by their places in the plan
    std::vector<int32_t> inputs;      // tensors; constants may be among them
    std::vector<int32_t> outputs;

    bool operator==(const PartitionRequest&) const = default;
};

// What there is to a partition with the extents that its inputs have now.
struct PartitionProgram {
    std::shared_ptr<const engine::Program> program;
    std::vector<int32_t> inputs;   // the context's tensors, as the program's inputs
    std::vector<int32_t> outputs;  // as its outputs; those of variables come last
    std::vector<tflite::ImportedState> states;
};

// Compiles what was imported. UNSUPPORTED where the shape of an output is not known: hosts allocate
// before they run.
Result<PartitionProgram> compileImported(const Runtime& runtime,
                                         const std::shared_ptr<ThreadPool>& threads,
                                         tflite::ImportedGraph imported);

// Operators of the graph that have an output whose shape only a run tells, ascending.
std::vector<uint32_t> operatorsOfUnknownShape(const engine::Graph& graph);

// What a kernel keeps to build its graph again where extents have changed: its operators, and those
// that decide what is known of its inputs, as arithmetic on shapes does.
class PartitionSource {
  public:
    // `importer`: of the whole model, with every operator that is taken.
    PartitionSource(const ContextModel& model, const tflite::Importer& importer,
                    PartitionRequest request, const tflite::ImportOptions& options);

    const PartitionRequest& request() const { return mRequest; }
    // "operator 3 (CONV_2D)" of each operator.
    std::string label(uint32_t op) const { return mModel.subgraphs.front().label(op); }
    std::string nameOf(int32_t tensor) const;
    // Tensors whose extents decide about the graph.
    const std::vector<int32_t>& given() const { return mGiven; }
    // With the extents that the context's tensors have now.
    Result<tflite::ImportedGraph> import(const TfLiteContext& context);

  private:
    tflite::Model mModel;  // operators keep their places; those that do not matter are empty
    PartitionRequest mRequest;
    tflite::ImportOptions mOptions;
    std::vector<int32_t> mGiven;
};

}  // namespace halyard::litert
