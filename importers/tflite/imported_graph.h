// SPDX-License-Identifier: Apache-2.0
//
// What an import is asked for, and what it gives.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "engine/base/budget.h"
#include "engine/base/checkpoint.h"
#include "engine/graph/graph.h"

namespace halyard::tflite {

struct ImportOptions {
    // Of constants that are converted and of what shapes come to; null: not limited.
    std::shared_ptr<Budget> memory = nullptr;
    Checkpoint checkpoint = {};
    // FLOAT32 may be computed with float16's range and precision.
    bool relaxed = false;
    // Whether IF and WHILE are taken, with the subgraphs that they name. A delegate is handed one
    // subgraph, and leaves them to the runtime.
    bool controlFlow = true;
};

// Of a variable tensor: what a run reads, and what the next has to be given.
struct ImportedState {
    int32_t tensor = 0;
    size_t input = 0;   // of the graph
    size_t output = 0;  // of the graph
};

struct ImportedGraph {
    engine::Graph graph;
    std::vector<int32_t> inputs;   // the subgraph's tensor of each of the graph's inputs
    std::vector<int32_t> outputs;  // the same of its outputs; those of states come last
    std::vector<ImportedState> states;
};

// Elements that are known before a run, by the subgraph's tensors.
using KnownConstants = std::map<int32_t, std::pair<engine::TensorType, engine::ConstantData>>;

}  // namespace halyard::tflite
