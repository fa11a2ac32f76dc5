// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/workspace_plan.h"

#include <algorithm>
#include <utility>

#include "engine/plan/arena.h"
#include "engine/plan/shared_places.h"

namespace halyard::engine {
namespace {

Result<WorkspacePlan> planWith(SharedPlaces shared, const PieceLayout& layout,
                               std::span<const TensorType> types,
                               std::span<const size_t> kernelBytes) {
    WorkspacePlan workspace;
    workspace.kernels.resize(layout.steps.size(), 0);
    workspace.tensors.resize(layout.tensors.size(), 0);
    std::vector<ArenaBlock> blocks;
    std::vector<size_t*> offsets;  // of each block
    for (size_t step = 0; step < layout.steps.size(); ++step) {
        if (kernelBytes[step] > 0) {
            blocks.push_back({.bytes = kernelBytes[step], .firstStep = step, .lastStep = step});
            offsets.push_back(&workspace.kernels[step]);
        }
    }
    std::vector<size_t> blockOf(layout.tensors.size(), 0);
    // Hosts come behind what lies in them, and know first how large they are.
    for (LocalId local = layout.tensors.size(); local-- > 0;) {
        const LocalTensor& tensor = layout.tensors[local];
        if (tensor.role != LocalTensor::Role::INTERNAL || !types[local].shape.isFullyKnown()) {
            continue;
        }
        const LocalId host = shared.places[local].host;
        if (host != local) {
            ArenaBlock& block = blocks[blockOf[host]];
            block.firstStep = std::min(block.firstStep, tensor.firstStep);
            block.lastStep = std::max(block.lastStep, tensor.lastStep);
            continue;
        }
        HALYARD_ASSIGN_OR_RETURN(const size_t bytes, types[local].byteSize());
        blockOf[local] = blocks.size();
        blocks.push_back(
                {.bytes = bytes, .firstStep = tensor.firstStep, .lastStep = tensor.lastStep});
        offsets.push_back(&workspace.tensors[local]);
    }
    HALYARD_ASSIGN_OR_RETURN(const ArenaPlan plan, planArena(blocks));
    for (size_t i = 0; i < offsets.size(); ++i) {
        *offsets[i] = plan.offsets[i];
    }
    for (LocalId local = 0; local < layout.tensors.size(); ++local) {
        const SharedPlaces::Place& place = shared.places[local];
        if (place.host != local) {
            workspace.tensors[local] = workspace.tensors[place.host] + place.offset;
        }
    }
    workspace.inPlace = std::move(shared.inPlace);
    workspace.bytes = plan.bytes;
    return workspace;
}

}  // namespace

Result<WorkspacePlan> planWorkspace(const PieceLayout& layout, std::span<const TensorType> types,
                                    const std::vector<bool>& isOpen,
                                    std::span<const size_t> kernelBytes,
                                    std::span<const std::optional<size_t>> replaceable) {
    SharedPlaces shared = sharePlaces(layout, types, isOpen, replaceable, true);
    const bool hasJoins = shared.hasJoins;
    Result<WorkspacePlan> joined = planWith(std::move(shared), layout, types, kernelBytes);
    if (!hasJoins) {
        return joined;
    }
    // What others are joined to takes its memory early, which may cost more than a copy of them.
    Result<WorkspacePlan> apart = planWith(sharePlaces(layout, types, isOpen, replaceable, false),
                                           layout, types, kernelBytes);
    return joined.ok() && (!apart.ok() || joined->bytes <= apart->bytes) ? std::move(joined)
                                                                         : std::move(apart);
}

}  // namespace halyard::engine
