// SPDX-License-Identifier: Apache-2.0
//
// What a Program holds; shared with Execution.

#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "engine/base/aligned_buffer.h"
#include "engine/base/budget.h"
#include "engine/base/thread_pool.h"
#include "engine/plan/program.h"
#include "engine/plan/schedule.h"

namespace halyard::engine {

struct Program::State {
    std::shared_ptr<Budget> memory;        // null: not limited
    std::shared_ptr<Budget> deviceMemory;  // the same
    Schedule schedule;
    AlignedBuffer constants;  // the store
    std::vector<NodePlacement> placement;
    size_t pieceCount = 0;
    std::shared_ptr<ThreadPool> threads;

    PieceResources resources(const Checkpoint& checkpoint) const {
        return {.constants = constants.bytes(),
                .memory = memory,
                .deviceMemory = deviceMemory,
                .checkpoint = checkpoint};
    }
};

}  // namespace halyard::engine
