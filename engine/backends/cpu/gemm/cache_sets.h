// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>

namespace halyard::engine::cpu {

// The cache next to a processor's registers: sets of lines, and in which of them something lies is
// said by its address alone.
struct L1dCache {
    ptrdiff_t setBytes = 0;  // from a line to the next one of its set; 0: unknown
    int lines = 0;           // of a set
};

// This machine's. Asked for once.
const L1dCache& l1dCache();

// Of `rows` that a tile has at most, those that it takes of rows `apart` bytes apart. If that is a
// multiple of setBytes, all that they have in the same columns lies in one set. The next cache
// makes up for a few lines too many (14 rows take as long as others where a set has 12 lines), but
// of half as many again each drives out one that is wanted at once (where it has 8, they take a
// quarter longer); half of the rows take as long as others.
constexpr int rowsThatFitCache(int rows, ptrdiff_t apart, const L1dCache& cache) {
    const bool inOneSet = cache.setBytes > 0 && apart % cache.setBytes == 0;
    return inOneSet && rows > cache.lines + cache.lines / 2 ? rows / 2 : rows;
}

}  // namespace halyard::engine::cpu
