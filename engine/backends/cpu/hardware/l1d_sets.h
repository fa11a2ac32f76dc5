// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>

namespace halyard::engine::cpu {

// The sets of L1d: in which of them something lies is said by its address alone.
struct L1dSets {
    ptrdiff_t setBytes = 0;  // from a line to the next one of its set; 0: unknown
    int lines = 0;           // of a set
};

// Of `rows` that a tile has at most, those that it takes of rows `apart` bytes apart. If that is a
// multiple of setBytes, all that they have in the same columns lies in one set. L2 makes up for a
// few lines too many (14 rows take as long as others where a set has 12 lines), but of half as many
// again each drives out one that is wanted at once (where it has 8, they take a quarter longer);
// half of the rows take as long as others.
constexpr int rowsThatFitL1d(int rows, ptrdiff_t apart, const L1dSets& l1d) {
    const bool inOneSet = l1d.setBytes > 0 && apart % l1d.setBytes == 0;
    return inOneSet && rows > l1d.lines + l1d.lines / 2 ? rows / 2 : rows;
}

}  // namespace halyard::engine::cpu
