// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "engine/base/budget.h"
#include "engine/base/checkpoint.h"
#include "engine/base/thread_pool.h"
#include "engine/plan/backend.h"

namespace halyard::engine {

// Options of building a program, beyond its graph.
struct BuildOptions {
    std::shared_ptr<ThreadPool> threads = nullptr;   // null: one of its own, without workers
    std::shared_ptr<Budget> memory = nullptr;        // null: not limited
    std::shared_ptr<Budget> deviceMemory = nullptr;  // the same, for bytes on devices
    Checkpoint checkpoint = {};
    CompileOptions compile = {};
    // A partition that its backend fails to build goes to the next one that takes its nodes. False:
    // the program fails as the partition does, so that tests see it.
    bool movesPartitions = true;
};

}  // namespace halyard::engine
