// SPDX-License-Identifier: Apache-2.0
//
// Work on rows, one work-group for each: what normalises a row, or folds it into one element,
// begins with a sum or an extreme of all its elements. How many work-items a work-group has is
// tuned.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "engine/backends/gpu/launches/launch.h"
#include "engine/backends/gpu/planning/step_plan.h"
#include "engine/backends/gpu/programs/programs.h"
#include "engine/base/status.h"

namespace halyard::engine::gpu {

// Work-items of a work-group, the best guess first: every device has so many.
inline constexpr std::array<size_t, 3> kRowWorkItems = {64, 128, 256};

// One for each of them.
using RowFamilies = std::array<KernelFamily, kRowWorkItems.size()>;
constexpr RowFamilies forRows(const KernelFamily& family) {
    RowFamilies families = {family, family, family};
    for (size_t i = 0; i < kRowWorkItems.size(); ++i) {
        families[i].local[0] = kRowWorkItems[i];
    }
    return families;
}

struct Rows {
    const RowFamilies& families;
    std::string defines;
    std::string shape;  // what the time of a row depends on beyond these numbers
    uint64_t rows = 0;
    int64_t length = 0;                 // elements of a row
    uint64_t work = 0;                  // operations on all rows
    std::function<void(Launch&)> hand;  // adds the arguments
};

// Launches a kernel of one of the families.
Status addRows(StepPlan& step, const Rows& rows);

// For texts of kernels: WORK_ITEMS (of a work-group), ROW (the number of the work-group's row),
// LANE (that of the work-item in its work-group) and FOLD(TYPE, NAME, EXPRESSION), a function
// NAME(value, local_memory) whose result is that of EXPRESSION over all work-items' values, two at
// a time as a and b. `local_memory` is the kernel's LOCAL_MEMORY(TYPE).
inline constexpr std::string_view kRowsText = R"(
#define ROW (int)(get_global_id(0) / WORK_ITEMS)
#define LANE (int)get_local_id(0)
#define LOCAL_MEMORY(TYPE, name) __local TYPE name[WORK_ITEMS]
#define FOLD(TYPE, NAME, EXPRESSION) \
    TYPE NAME(const TYPE value, __local TYPE* local_memory) { \
        const int lane = LANE; \
        local_memory[lane] = value; \
        barrier(CLK_LOCAL_MEM_FENCE); \
        for (int apart = WORK_ITEMS / 2; apart > 0; apart /= 2) { \
            if (lane < apart) { \
                const TYPE a = local_memory[lane]; \
                const TYPE b = local_memory[lane + apart]; \
                local_memory[lane] = EXPRESSION; \
            } \
            barrier(CLK_LOCAL_MEM_FENCE); \
        } \
        const TYPE result = local_memory[0]; \
        barrier(CLK_LOCAL_MEM_FENCE); \
        return result; \
    }
)";

}  // namespace halyard::engine::gpu
