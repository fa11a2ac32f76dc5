// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/workspace_plan.h"

#include <algorithm>
#include <utility>

#include "engine/base/checked_math.h"
#include "engine/plan/arena.h"
#include "engine/plan/shared_places.h"

namespace halyard::engine {
namespace {

// Beyond what a processor fetches unasked beside a line that it reads, for what other threads have
// there: that ends with a page.
constexpr size_t kThreadAlignment = 4096;

Result<WorkspacePlan> planWith(SharedPlaces shared, const PartitionLayout& layout,
                               std::span<const TensorType> types,
                               std::span<const KernelBytes> kernelBytes, size_t threads) {
    WorkspacePlan workspace;
    workspace.kernels.resize(layout.steps.size());
    workspace.tensors.resize(layout.tensors.size(), 0);
    std::vector<ArenaBlock> blocks;
    std::vector<size_t*> offsets;  // of each block
    const auto add = [&](size_t bytes, size_t firstStep, size_t lastStep, size_t& offset) {
        blocks.push_back({.bytes = bytes, .firstStep = firstStep, .lastStep = lastStep});
        offsets.push_back(&offset);
    };
    const bool isAlone = threads <= 1;
    for (size_t step = 0; step < layout.steps.size(); ++step) {
        const KernelBytes& bytes = kernelBytes[step];
        if (bytes.workspace > 0) {
            add(bytes.workspace, step, step, workspace.kernels[step].workspace);
        }
        if (isAlone && bytes.ofThread > 0) {
            add(bytes.ofThread, step, step, workspace.kernels[step].threads);
        }
    }
    size_t ofThreads = 0;
    if (!isAlone && !layout.steps.empty()) {
        size_t most = 0;
        for (const KernelBytes& bytes : kernelBytes) {
            most = std::max(most, bytes.ofThread);
        }
        HALYARD_ASSIGN_OR_RETURN(const ThreadRegion region, ThreadRegion::of(most, threads));
        workspace.threadStride = region.stride;
        add(region.bytes, 0, layout.steps.size() - 1, ofThreads);
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
        add(bytes, tensor.firstStep, tensor.lastStep, workspace.tensors[local]);
    }
    HALYARD_ASSIGN_OR_RETURN(const ArenaPlan plan, planArena(blocks));
    for (size_t i = 0; i < offsets.size(); ++i) {
        *offsets[i] = plan.offsets[i];
    }
    if (!isAlone) {
        for (WorkspacePlan::KernelPlace& place : workspace.kernels) {
            place.threads = ofThreads;
        }
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

Result<ThreadRegion> ThreadRegion::of(size_t bytesOfThread, size_t threads) {
    const std::optional<size_t> stride = checkedAlignUp(bytesOfThread, kThreadAlignment);
    const std::optional<size_t> bytes =
            stride.has_value() ? checkedMultiply(*stride, threads) : std::nullopt;
    if (!bytes.has_value()) {
        return outOfReach("the memory of its threads is out of reach");
    }
    return ThreadRegion{.stride = *stride, .bytes = *bytes};
}

Result<WorkspacePlan> planWorkspace(const PartitionLayout& layout,
                                    std::span<const TensorType> types,
                                    const std::vector<bool>& isOpen,
                                    std::span<const KernelBytes> kernelBytes, size_t threads,
                                    std::span<const std::optional<size_t>> replaceable) {
    SharedPlaces shared = sharePlaces(layout, types, isOpen, replaceable, true);
    const bool hasJoins = shared.hasJoins;
    Result<WorkspacePlan> joined = planWith(std::move(shared), layout, types, kernelBytes, threads);
    if (!hasJoins) {
        return joined;
    }
    // A tensor that others are joined to takes its memory early, which may cost more than a copy of
    // them.
    Result<WorkspacePlan> apart = planWith(sharePlaces(layout, types, isOpen, replaceable, false),
                                           layout, types, kernelBytes, threads);
    return joined.ok() && (!apart.ok() || joined->bytes <= apart->bytes) ? std::move(joined)
                                                                         : std::move(apart);
}

}  // namespace halyard::engine
