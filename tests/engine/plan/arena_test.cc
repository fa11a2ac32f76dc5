// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "engine/plan/backend.h"

namespace halyard::engine {
namespace {

constexpr size_t kUnit = kTensorAlignment;

TEST(Arena, IsEmptyWithoutBlocks) {
    EXPECT_EQ(planArena({})->bytes, 0U);
    const std::vector<ArenaBlock> blocks = {{.bytes = 0, .firstStep = 0, .lastStep = 9}};
    EXPECT_EQ(planArena(blocks)->bytes, 0U);
}

TEST(Arena, LetsBlocksThatNeverMeetShareTheirBytes) {
    const std::vector<ArenaBlock> blocks = {
            {.bytes = 4 * kUnit, .firstStep = 0, .lastStep = 1},
            {.bytes = 4 * kUnit, .firstStep = 2, .lastStep = 3},
    };
    const Result<ArenaPlan> plan = planArena(blocks);
    EXPECT_EQ(plan->bytes, 4 * kUnit);
    EXPECT_EQ(plan->offsets, (std::vector<size_t>{0, 0}));
}

TEST(Arena, KeepsApartWhatOneStepReadsAndWrites) {
    const std::vector<ArenaBlock> blocks = {
            {.bytes = kUnit, .firstStep = 0, .lastStep = 1},
            {.bytes = kUnit, .firstStep = 1, .lastStep = 2},
    };
    const Result<ArenaPlan> plan = planArena(blocks);
    EXPECT_NE(plan->offsets[0], plan->offsets[1]);
}

TEST(Arena, FillsTheGapThatALargerBlockLeaves) {
    const std::vector<ArenaBlock> blocks = {
            {.bytes = 8 * kUnit, .firstStep = 0, .lastStep = 0},
            {.bytes = 6 * kUnit, .firstStep = 1, .lastStep = 2},
            {.bytes = 2 * kUnit, .firstStep = 0, .lastStep = 2},  // behind the first
            {.bytes = 1 * kUnit, .firstStep = 2, .lastStep = 2},  // between the second and third
    };
    const Result<ArenaPlan> plan = planArena(blocks);
    EXPECT_EQ(plan->offsets, (std::vector<size_t>{0, 0, 8 * kUnit, 6 * kUnit}));
    EXPECT_EQ(plan->bytes, 10 * kUnit);
}

TEST(Arena, RefusesWhatCannotBeAddressed) {
    const size_t most = std::numeric_limits<size_t>::max();
    for (const size_t bytes : {most, most - kUnit, size_t{PTRDIFF_MAX}}) {
        const std::vector<ArenaBlock> blocks = {{.bytes = bytes, .firstStep = 0, .lastStep = 0}};
        EXPECT_EQ(planArena(blocks).status().code(), StatusCode::RESOURCE_EXHAUSTED);
    }
    const std::vector<ArenaBlock> blocks(5, {.bytes = most / 4, .firstStep = 0, .lastStep = 0});
    EXPECT_EQ(planArena(blocks).status().code(), StatusCode::RESOURCE_EXHAUSTED);
}

TEST(Arena, OfRandomBlocksKeepsThemAlignedInsideAndApart) {
    const unsigned seed = std::random_device()();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    for (int round = 0; round < 300; ++round) {
        std::vector<ArenaBlock> blocks(random() % 20);
        size_t sum = 0;
        for (ArenaBlock& block : blocks) {
            block.bytes = random() % 1000;
            block.firstStep = random() % 10;
            block.lastStep = block.firstStep + random() % 5;
            sum += (block.bytes + kUnit - 1) / kUnit * kUnit;
        }
        const Result<ArenaPlan> plan = planArena(blocks);
        ASSERT_TRUE(plan.ok());
        EXPECT_LE(plan->bytes, sum);
        for (size_t a = 0; a < blocks.size(); ++a) {
            EXPECT_EQ(plan->offsets[a] % kUnit, 0U);
            EXPECT_LE(plan->offsets[a] + blocks[a].bytes, plan->bytes);
            for (size_t b = 0; b < a; ++b) {
                const bool meet = blocks[a].firstStep <= blocks[b].lastStep &&
                                  blocks[b].firstStep <= blocks[a].lastStep;
                const bool share = plan->offsets[a] < plan->offsets[b] + blocks[b].bytes &&
                                   plan->offsets[b] < plan->offsets[a] + blocks[a].bytes;
                EXPECT_FALSE(meet && share) << "blocks " << a << " and " << b;
            }
        }
    }
}

// planArena()'s contract, without an index: every block against every one placed before.
std::vector<size_t> plannedOneByOne(const std::vector<ArenaBlock>& blocks) {
    std::vector<size_t> order(blocks.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order,
                             [&](size_t a, size_t b) { return blocks[a].bytes > blocks[b].bytes; });
    std::vector<size_t> offsets(blocks.size());
    std::vector<size_t> placed;
    for (const size_t index : order) {
        std::ranges::sort(placed, {}, [&](size_t other) { return offsets[other]; });
        size_t offset = 0;
        for (const size_t other : placed) {
            if (blocks[index].firstStep > blocks[other].lastStep ||
                blocks[other].firstStep > blocks[index].lastStep) {
                continue;
            }
            if (offset + blocks[index].bytes <= offsets[other]) {
                break;
            }
            const size_t end = offsets[other] + blocks[other].bytes;
            offset = std::max(offset, (end + kUnit - 1) / kUnit * kUnit);
        }
        offsets[index] = offset;
        placed.push_back(index);
    }
    return offsets;
}

TEST(Arena, TakesTheLowestFreeOffsetHoweverTheBlocksLie) {
    const unsigned seed = std::random_device()();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    for (int round = 0; round < 120; ++round) {
        // From chains, where few meet, to models whose tensors all live at once.
        const size_t count = 1 + random() % 600;
        const size_t steps = 1 + random() % (2 * count);
        const size_t longest = 1 + random() % (round % 3 == 0 ? steps : 4);
        const size_t largest = 1 + random() % (round % 2 == 0 ? 5 : 100'000);
        std::vector<ArenaBlock> blocks(count);
        for (ArenaBlock& block : blocks) {
            block.bytes = random() % largest * (1 + random() % 2 * 63);
            block.firstStep = random() % steps;
            block.lastStep = block.firstStep + random() % longest;
        }
        const Result<ArenaPlan> plan = planArena(blocks);
        ASSERT_TRUE(plan.ok());
        ASSERT_EQ(plan->offsets, plannedOneByOne(blocks)) << "round " << round;
    }
}

TEST(Arena, PlansALongChainInTheBytesOfTwoBlocks) {
    std::vector<ArenaBlock> blocks;
    for (size_t step = 0; step < 30'000; ++step) {
        blocks.push_back({.bytes = 3 * kUnit, .firstStep = step, .lastStep = step + 1});
    }
    EXPECT_EQ(planArena(blocks)->bytes, 6 * kUnit);
}

TEST(Arena, CopesWithTheLastStepThatCanBeCounted) {
    const size_t most = std::numeric_limits<size_t>::max();
    const std::vector<ArenaBlock> blocks = {
            {.bytes = kUnit, .firstStep = 0, .lastStep = most},
            {.bytes = kUnit, .firstStep = most, .lastStep = most},
            {.bytes = kUnit, .firstStep = most - 1, .lastStep = most - 1},
    };
    EXPECT_EQ(planArena(blocks)->offsets, (std::vector<size_t>{0, kUnit, kUnit}));
}

}  // namespace
}  // namespace halyard::engine
