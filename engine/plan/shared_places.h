// SPDX-License-Identifier: Apache-2.0
//
// In-place tensors: those of a partition that lie inside others in the workspace, because the node
// between them would only copy (Reshape, Concat), and those that a step overwrites with its result,
// because no later step reads them.

#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "engine/graph/tensor.h"
#include "engine/plan/partition_layout.h"

namespace halyard::engine {

// Nothing else changes a tensor once it is written, so one that lies in another may be read for as
// long as that one is, or until it is replaced.
struct SharedPlaces {
    // Bytes behind the beginning of a tensor that lies in no other, maybe the tensor itself.
    struct Place {
        LocalId host = kNoLocal;
        size_t offset = 0;
    };
    std::vector<Place> places;  // per local tensor
    std::vector<bool> inPlace;  // per step: its output is there once its inputs are
    bool hasJoins = false;
};

// `types` are those of the layout's tensors; isOpen says of each step whether only a run knows its
// shapes, and `replaceable` which input its kernel's output may replace (no entries: none). With
// `joins`, a tensor that others are joined to has its memory from the first of them on; without,
// only reshaping is done in place.
SharedPlaces sharePlaces(const PartitionLayout& layout, std::span<const TensorType> types,
                         const std::vector<bool>& isOpen,
                         std::span<const std::optional<size_t>> replaceable, bool joins);

}  // namespace halyard::engine
