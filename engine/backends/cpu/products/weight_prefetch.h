// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace halyard::engine::cpu {

// What the tiles of a product ask for while they compute: the panels behind their own, which mostly
// come next, for the second cache. Weights come from farther away than one tile takes time for, so
// the tiles of the same panels share out what is to be asked for, in their order.
struct WeightPrefetch {
    // Where the next tile begins in the panel behind, and how far it goes with each step of its own
    // panel. In bytes.
    const std::byte* ahead;
    ptrdiff_t step;
    ptrdiff_t share;

    // `behind`: the next panel, of so many bytes, of which a tile takes `stepBytes` at once. There
    // are no tiles where there are no rows.
    WeightPrefetch(const std::byte* behind, size_t bytes, int64_t stepBytes, int64_t tiles)
        : ahead(behind),
          step(std::max<ptrdiff_t>(stepBytes / std::max<int64_t>(tiles, 1), 1)),
          share(static_cast<ptrdiff_t>(bytes) / std::max<int64_t>(tiles, 1)) {}

    void next() { ahead += share; }
};

}  // namespace halyard::engine::cpu
