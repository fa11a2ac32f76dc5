// SPDX-License-Identifier: Apache-2.0
//
// Kernels that check values of a run before others use them, in one work-group. Those others keep
// within bounds by themselves: both are enqueued before anybody can look at the finding.

#pragma once

#include <cstddef>
#include <string_view>

namespace halyard::engine::gpu {

// Work-items of the work-group.
inline constexpr size_t kCheckWorkItems = 64;

// EACH_VALUE(i, count) goes over the work-item's share of the values in ascending order;
// REPORT(index, reason, value) writes the Finding of all work-items (step_plan.h), the first by its
// index. A work-item that has found nothing wrong has the index NOTHING. The kernel's last words,
// of all its work-items: a work-group's memory is declared in no inner block.
inline constexpr std::string_view kFindingText = R"(
#define CHECK_WORK_ITEMS 64
#define NOTHING 0x7fffffff
#define EACH_VALUE(i, count) \
    for (int i = (int)get_local_id(0); i < (count); i += CHECK_WORK_ITEMS)
#define REPORT(index, reason, value) \
    __local int local_memory[CHECK_WORK_ITEMS]; \
    const int lane = (int)get_local_id(0); \
    local_memory[lane] = index; \
    barrier(CLK_LOCAL_MEM_FENCE); \
    for (int apart = CHECK_WORK_ITEMS / 2; apart > 0; apart /= 2) { \
        if (lane < apart) { \
            local_memory[lane] = min(local_memory[lane], local_memory[lane + apart]); \
        } \
        barrier(CLK_LOCAL_MEM_FENCE); \
    } \
    const int first = local_memory[0]; \
    if (first == NOTHING ? lane == 0 : (index) == first) { \
        BIND_OUT(I32, finding); \
        finding[0] = first == NOTHING ? -1 : first; \
        finding[1] = reason; \
        finding[2] = value; \
    }
)";

}  // namespace halyard::engine::gpu
