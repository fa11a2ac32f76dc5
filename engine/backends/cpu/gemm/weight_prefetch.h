// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "engine/plan/constant_store.h"

namespace halyard::engine::cpu {

// How far behind a node's panels lies what else is fetched while they are multiplied: what was
// packed next, which the next nodes read first, and may have little to compute for. 0: nothing,
// because another thread would read it, because several work items of rows read the panels and each
// would ask again, or because L2 would not keep all of that: it keeps `mostBytes`.
inline ptrdiff_t bytesToLater(const PackedConstant& panels, int64_t rowBlocks, size_t threads,
                              int64_t mostBytes) {
    return threads == 1 && rowBlocks == 1 && panels.bytes <= static_cast<size_t>(mostBytes)
                   ? static_cast<ptrdiff_t>(panels.bytes)
                   : 0;
}

// Prefetch of the panels behind those of a product's tiles, which mostly come next, to L2. Weights
// come from farther away than one tile takes time for, so the tiles of the same panels each ask for
// a share of the panels behind, in their order.
//
// Each step asks for one line for each vector of the tile: of panels next to each other, or, if two
// tiles or more share the panels behind, of all of these for the first vector, and for the second
// one of what lies `later` bytes behind them.
struct WeightPrefetch {
    // Where the next tile begins, how far it goes with each step of its own panel, and from what
    // the first vector asks for to what the next one does. In bytes.
    const std::byte* ahead;
    ptrdiff_t step;
    ptrdiff_t share;
    ptrdiff_t apart;

    // `behind`: the next panels, as many as a tile has `vectors`, each of so many bytes, of which a
    // tile takes `stepBytes` at once. There are no tiles where there are no rows.
    WeightPrefetch(const std::byte* behind, size_t bytes, int64_t vectors, int64_t stepBytes,
                   int64_t tiles, ptrdiff_t later = 0) {
        tiles = std::max<int64_t>(tiles, 1);
        const int64_t together = later != 0 && vectors == 2 && tiles >= 2 ? 2 : 1;
        ahead = behind;
        step = std::max<ptrdiff_t>(together * stepBytes / tiles, 1);
        share = together * static_cast<ptrdiff_t>(bytes) / tiles;
        apart = together == 2 ? later : static_cast<ptrdiff_t>(bytes);
    }

    void next() { ahead += share; }
};

// The same for vectors of 16 bytes, of which four steps read a line of a panel. A tile of one or
// two panels asks for one line every four steps: all panels behind are one stream, of which half is
// asked for where a single tile reads them. A tile of more panels, which has few rows and waits for
// weights, has a stream for each. Where `later` is not 0, every other tile asks for bytes there.
struct NarrowWeightPrefetch {
    const std::byte* ahead;
    ptrdiff_t step;  // how far `ahead` goes in four steps of depth
    ptrdiff_t share;
    ptrdiff_t apart;  // from a stream to the next
    ptrdiff_t later;
    bool isLater = false;

    static constexpr int streams(int vectors) { return vectors > 2 ? vectors : 1; }

    NarrowWeightPrefetch(const std::byte* behind, size_t bytes, int64_t vectors, int64_t stepBytes,
                         int64_t tiles, ptrdiff_t later = 0) {
        const int64_t panels = vectors / streams(static_cast<int>(vectors));
        const bool takesTurns = later != 0 && vectors == 2 && tiles >= 2;
        const int64_t sharing = std::max<int64_t>(takesTurns ? tiles / 2 : tiles, 1);
        ahead = behind;
        step = std::max<ptrdiff_t>(4 * stepBytes * panels / sharing, 1);
        share = panels * static_cast<ptrdiff_t>(bytes) / sharing;
        apart = static_cast<ptrdiff_t>(bytes);
        this->later = takesTurns ? later : 0;
    }

    void next() {
        if (later == 0) {
            ahead += share;
            return;
        }
        ahead += isLater ? share - later : later;
        isLater = !isLater;
    }
};

}  // namespace halyard::engine::cpu
