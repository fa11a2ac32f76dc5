// SPDX-License-Identifier: Apache-2.0
//
// What a Program holds; shared with Execution.

#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "engine/base/memory_budget.h"
#include "engine/base/status.h"
#include "engine/base/thread_pool.h"
#include "engine/graph/tensor.h"
#include "engine/plan/program.h"
#include "engine/plan/schedule.h"
#include "engine/plan/shape_cache.h"
#include "engine/plan/shaped_plan.h"

namespace halyard::engine {

struct Program::State {
    // As many sets of graph input shapes as a program keeps plans for.
    static constexpr size_t kCachedPlans = 16;

    std::shared_ptr<MemoryBudget> memory;  // null: not limited
    Schedule schedule;
    std::vector<NodePlacement> placement;
    std::shared_ptr<ThreadPool> threads;
    std::shared_ptr<const ShapedPlan> staticPlan;  // null if the inputs' shapes are not all known
    ShapeCache<ShapedPlan> plans{kCachedPlans};

    // The plan for graph inputs of these shapes. Does not allocate for shapes it has planned for.
    Result<std::shared_ptr<const ShapedPlan>> planFor(std::span<const Shape> inputShapes);
};

}  // namespace halyard::engine
