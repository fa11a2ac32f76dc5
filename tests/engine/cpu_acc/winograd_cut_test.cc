// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/gemm/winograd_cut.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace halyard::engine::cpu {
namespace {

// F(2x2) with tiles of 14 rows and 32 columns.
WinogradShape shapeOf(int64_t tiles, int64_t channels, int64_t columns, int64_t threads) {
    return {.tiles = tiles,
            .positions = 16,
            .channels = channels,
            .chunks = columns / 32,
            .chunkColumns = 32,
            .filterBytes = 16 * (channels + 1) * columns * 4,
            .tileRows = 14,
            .threads = threads};
}

WinogradCut cutOf(const WinogradShape& shape) {
    return WinogradCut::create(shape).value();
}

int64_t unitsOf(const WinogradCut& cut, const WinogradShape& shape) {
    const int64_t shares = (cut.atOnce + cut.rows - 1) / cut.rows;
    return cut.isAlone ? (shape.tiles + cut.rows - 1) / cut.rows : shape.chunks * shares;
}

TEST(WinogradCut, LeavesThreadsAloneWithFewFilters) {
    for (const int64_t threads : {2, 4, 8, 16}) {
        EXPECT_TRUE(cutOf(shapeOf(784, 64, 64, threads)).isAlone) << threads;
        EXPECT_TRUE(cutOf(shapeOf(196, 128, 128, threads)).isAlone) << threads;
    }
}

TEST(WinogradCut, SharesManyFiltersAmongNeighbours) {
    for (const int64_t threads : {1, 2, 16}) {
        const WinogradCut cut = cutOf(shapeOf(49, 256, 256, threads));
        EXPECT_FALSE(cut.isAlone) << threads;
        EXPECT_TRUE(cut.sharesFilters) << threads;
    }
}

TEST(WinogradCut, TransformsTogetherWhatIsTooLittleForAllThreads) {
    EXPECT_FALSE(cutOf(shapeOf(49, 64, 64, 16)).isAlone);
}

TEST(WinogradCut, HasAUnitForAlmostEachThread) {
    for (const int64_t threads : {2, 4, 8, 16}) {
        for (const WinogradShape& shape :
             {shapeOf(784, 64, 64, threads), shapeOf(196, 128, 128, threads),
              shapeOf(49, 256, 256, threads), shapeOf(196, 256, 256, threads)}) {
            EXPECT_GE(unitsOf(cutOf(shape), shape), threads - threads / 4)
                    << threads << " threads, " << shape.tiles << " tiles";
        }
    }
}

TEST(WinogradCut, TransformsMoreAtOnceForMoreThreads) {
    const int64_t one = cutOf(shapeOf(784, 256, 256, 1)).atOnce;
    EXPECT_LT(one, 784);
    EXPECT_GT(cutOf(shapeOf(784, 256, 256, 8)).atOnce, one);
}

TEST(WinogradCut, RefusesWhatCouldNotBeAddressed) {
    WinogradShape shape = shapeOf(int64_t{1} << 40, 64, 64, 64);
    shape.chunkColumns = std::numeric_limits<int64_t>::max() / 4096;
    EXPECT_FALSE(WinogradCut::create(shape).ok());
}

}  // namespace
}  // namespace halyard::engine::cpu
