// SPDX-License-Identifier: Apache-2.0
//
// Work on rows, one group of items for each: what normalises a row, or folds it into one element,
// begins with a sum or an extreme of all its elements.

#pragma once

#include <cstddef>
#include <string_view>

namespace halyard::engine::gpu {

// Items of a group.
inline constexpr size_t kRowItems = 64;

// For texts of kernels: ROW (the number of the group's row), LANE (that of the item in its group)
// and FOLD(TYPE, NAME, EXPRESSION), a function NAME(value, room) whose result is that of EXPRESSION
// over all items' values, two at a time as a and b. `room` is the kernel's ROOM(TYPE).
inline constexpr std::string_view kRowsText = R"(
#define ITEMS 64
#define ROW (int)(get_global_id(0) / ITEMS)
#define LANE (int)get_local_id(0)
#define ROOM(TYPE, name) __local TYPE name[ITEMS]
#define FOLD(TYPE, NAME, EXPRESSION) \
    TYPE NAME(const TYPE value, __local TYPE* room) { \
        const int lane = LANE; \
        room[lane] = value; \
        barrier(CLK_LOCAL_MEM_FENCE); \
        for (int apart = ITEMS / 2; apart > 0; apart /= 2) { \
            if (lane < apart) { \
                const TYPE a = room[lane]; \
                const TYPE b = room[lane + apart]; \
                room[lane] = EXPRESSION; \
            } \
            barrier(CLK_LOCAL_MEM_FENCE); \
        } \
        const TYPE result = room[0]; \
        barrier(CLK_LOCAL_MEM_FENCE); \
        return result; \
    }
)";

}  // namespace halyard::engine::gpu
