// SPDX-License-Identifier: Apache-2.0
//
// Where the tensors between the steps of a partition lie in its workspace, and the kernels' own
// memory.
//
// Each thread's own workspace lies at the same place for all kernels, where nothing else does: a
// core writes there what it has in its cache. Elsewhere, each line of it would have to come from
// the cache of the core that had it for another thread or for a tensor.

#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "engine/base/status.h"
#include "engine/graph/tensor.h"
#include "engine/plan/partition_layout.h"

namespace halyard::engine {

// Workspace that the kernel of a step needs while it runs.
struct KernelBytes {
    size_t workspace = 0;  // for all of its threads together
    size_t ofThread = 0;   // and for each
};

// Memory of several threads, one's behind the other's.
struct ThreadRegion {
    size_t stride = 0;  // from one thread's to the next one's
    size_t bytes = 0;   // of all

    // RESOURCE_EXHAUSTED if it could not be addressed.
    static Result<ThreadRegion> of(size_t bytesOfThread, size_t threads);
};

struct WorkspacePlan {
    // Offsets in the workspace.
    struct KernelPlace {
        size_t workspace = 0;
        size_t threads = 0;  // where the first one's memory begins
    };
    std::vector<size_t> tensors;       // per local tensor that lies there
    std::vector<KernelPlace> kernels;  // per step
    size_t threadStride = 0;           // from one thread's memory to the next one's
    std::vector<bool> inPlace;         // per step: nothing is left for its kernel to do
    size_t bytes = 0;
};

// `types` are those of the layout's tensors; isOpen says of each step whether only a run knows its
// shapes, kernelBytes what its kernel needs, and `replaceable` which input its output may replace
// (no entries: none). At most `threads` run a kernel. RESOURCE_EXHAUSTED if the workspace could not
// be addressed.
Result<WorkspacePlan> planWorkspace(const PartitionLayout& layout,
                                    std::span<const TensorType> types,
                                    const std::vector<bool>& isOpen,
                                    std::span<const KernelBytes> kernelBytes, size_t threads,
                                    std::span<const std::optional<size_t>> replaceable = {});

}  // namespace halyard::engine
