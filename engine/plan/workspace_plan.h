// SPDX-License-Identifier: Apache-2.0
//
// Where the tensors between the steps of a piece lie in its workspace, and the kernels' own memory.

#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "engine/base/status.h"
#include "engine/graph/tensor.h"
#include "engine/plan/piece_layout.h"

namespace halyard::engine {

struct WorkspacePlan {
    std::vector<size_t> tensors;  // per local tensor: its offset, where it lies in the workspace
    std::vector<size_t> kernels;  // per step: that of its kernel's own memory
    std::vector<bool> inPlace;    // per step: nothing is left for its kernel to do
    size_t bytes = 0;
};

// `types` are those of the layout's tensors; isOpen says of each step whether only a run knows its
// shapes, kernelBytes what its kernel needs, and `replaceable` which input its output may replace
// (no entries: none). RESOURCE_EXHAUSTED if the workspace could not be addressed.
Result<WorkspacePlan> planWorkspace(const PieceLayout& layout, std::span<const TensorType> types,
                                    const std::vector<bool>& isOpen,
                                    std::span<const size_t> kernelBytes,
                                    std::span<const std::optional<size_t>> replaceable = {});

}  // namespace halyard::engine
