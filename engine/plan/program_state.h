// SPDX-License-Identifier: Apache-2.0
//
// The contents of a Program; shared with Execution.

#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "engine/base/budget.h"
#include "engine/base/thread_pool.h"
#include "engine/plan/blobs.h"
#include "engine/plan/build_options.h"
#include "engine/plan/constant_store.h"
#include "engine/plan/placement.h"
#include "engine/plan/program_manifest.h"
#include "engine/plan/schedule.h"

namespace halyard::engine {

struct ProgramState {
    explicit ProgramState(const BuildOptions& build)
        : memory(build.memory),
          deviceMemory(build.deviceMemory),
          threads(build.threads != nullptr ? build.threads : std::make_shared<ThreadPool>(1)),
          options(build.compile),
          blobs(std::make_shared<BlobStore>(build.memory)) {}

    std::shared_ptr<Budget> memory;        // null: not limited
    std::shared_ptr<Budget> deviceMemory;  // the same
    std::shared_ptr<ThreadPool> threads;
    std::shared_ptr<Graph> compiled;  // while it is built: the graph that the schedule is to have
    Schedule schedule;
    // The store: a block of memory, or a part of a file.
    struct Store {
        std::shared_ptr<const void> owner;
        std::span<const std::byte> view;

        std::span<const std::byte> bytes() const { return view; }
        size_t size() const { return view.size(); }
    };
    Store constants;
    std::vector<NodePlacement> placement;
    size_t partitionCount = 0;
    // The parts of a saved program beyond the graph and the store.
    Assignment assignment;
    std::vector<BackendIdentity> backends;  // as the assignment counts them
    CompileOptions options;
    PackedContents packed;
    size_t constantsFilled = 0;  // in this process
    std::shared_ptr<BlobStore> blobs;

    PartitionResources resources(const Checkpoint& checkpoint) const {
        return {.constants = constants.bytes(),
                .memory = memory,
                .deviceMemory = deviceMemory,
                .checkpoint = checkpoint,
                .blobs = Blobs(blobs, {})};
    }
};

}  // namespace halyard::engine
