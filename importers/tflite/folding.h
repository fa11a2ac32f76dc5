// SPDX-License-Identifier: Apache-2.0
//
// What operators on constants come to: arithmetic on shapes above all, whose results other
// operators want to know before a run.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/base/status.h"
#include "engine/graph/graph.h"
#include "importers/tflite/imported_graph.h"

namespace halyard::tflite {

// The elements of `outputs`, which the graph's nodes from `firstNode` on compute from constants
// alone, by CpuRef: of INT32 and BOOL8, some thousand elements at most. Nothing where they read
// anything else, are of another type or larger, or fail.
std::optional<std::vector<engine::ConstantData>> computed(
        const engine::Graph& graph, size_t firstNode, const std::vector<engine::TensorId>& outputs,
        const ImportOptions& options);

}  // namespace halyard::tflite
