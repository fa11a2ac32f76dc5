// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/arena.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>

#include "engine/base/checked_math.h"
#include "engine/plan/backend.h"

namespace halyard::engine {
namespace {

// Indices of the blocks in the order of a step of theirs, and how many of the first so many are
// placed (a Fenwick tree).
class StepOrder {
  public:
    StepOrder(std::span<const ArenaBlock> blocks, size_t ArenaBlock::*step)
        : mBlocks(blocks),
          mStep(step),
          mOrder(blocks.size()),
          mRanks(blocks.size()),
          mSums(blocks.size() + 1) {
        std::iota(mOrder.begin(), mOrder.end(), size_t{0});
        std::ranges::sort(mOrder, {}, [&](size_t index) { return blocks[index].*step; });
        for (size_t rank = 0; rank < mOrder.size(); ++rank) {
            mRanks[mOrder[rank]] = rank;
        }
    }

    size_t at(size_t rank) const { return mOrder[rank]; }
    size_t rankOf(size_t index) const { return mRanks[index]; }
    // How many blocks' step is before `step`, or at it where `inclusive`.
    size_t countBefore(size_t step, bool inclusive) const {
        const auto end = std::ranges::partition_point(mOrder, [&](size_t index) {
            return inclusive ? mBlocks[index].*mStep <= step : mBlocks[index].*mStep < step;
        });
        return static_cast<size_t>(end - mOrder.begin());
    }

    void place(size_t index) {
        for (size_t i = mRanks[index] + 1; i < mSums.size(); i += i & (~i + 1)) {
            ++mSums[i];
        }
    }
    size_t countPlaced(size_t firstRanks) const {
        size_t sum = 0;
        for (size_t i = firstRanks; i > 0; i &= i - 1) {
            sum += mSums[i];
        }
        return sum;
    }

  private:
    std::span<const ArenaBlock> mBlocks;
    size_t ArenaBlock::*mStep;
    std::vector<size_t> mOrder;
    std::vector<size_t> mRanks;
    std::vector<size_t> mSums;
};

struct Placed {
    size_t offset;
    size_t end;  // rounded up
    size_t firstStep;
    size_t lastStep;
};

// The blocks that have an offset, found by step through a tree or by offset in a list.
//
// The leaves of the tree are all blocks by first step; a node holds the latest last step of the
// placed ones below it. What is alive at some of a block's steps is what starts before the block
// ends, a run of leaves from the left, less the subtrees that end before it starts.
class PlacedBlocks {
  public:
    explicit PlacedBlocks(std::span<const ArenaBlock> blocks)
        : mStarts(blocks, &ArenaBlock::firstStep),
          mEnds(blocks, &ArenaBlock::lastStep),
          mLeaves(std::bit_ceil(std::max<size_t>(blocks.size(), 1))),
          mLatest(2 * mLeaves),
          mPlaced(blocks.size()) {}

    void place(size_t index, const Placed& block) {
        mStarts.place(index);
        mEnds.place(index);
        ++mCount;
        const size_t leaf = mStarts.rankOf(index);
        mPlaced[leaf] = block;
        for (size_t node = mLeaves + leaf; node > 0; node /= 2) {
            mLatest[node] = std::max(mLatest[node], std::optional(block.lastStep));
        }
        mFresh.push_back(block);
    }

    // By offset: all that are alive together with `block`, and maybe others. Valid until the next
    // call.
    std::span<const Placed> neighboursOf(const ArenaBlock& block) {
        const size_t started = mStarts.countBefore(block.lastStep, true);
        const size_t startedPlaced = mStarts.countPlaced(started);
        const size_t endedPlaced = mEnds.countPlaced(mEnds.countBefore(block.firstStep, false));
        const size_t alive = startedPlaced - std::min(startedPlaced, endedPlaced);
        // Whether to find and sort them takes less than to look at all.
        if (alive * static_cast<size_t>(std::bit_width(alive)) > mCount / 4) {
            sortAll();
            return mAll;
        }
        mFound.clear();
        find(block, 1, 0, mLeaves, started);
        std::ranges::sort(mFound, {}, &Placed::offset);
        return mFound;
    }

  private:
    // Puts those of the first `limit` leaves that lie below `node`, whose leaves are [begin, end),
    // and are alive together with `block` into mFound.
    void find(const ArenaBlock& block, size_t node, size_t begin, size_t end, size_t limit) {
        if (begin >= limit || mLatest[node] < std::optional(block.firstStep)) {
            return;
        }
        if (end - begin == 1) {
            mFound.push_back(mPlaced[begin]);
            return;
        }
        const size_t middle = begin + (end - begin) / 2;
        find(block, 2 * node, begin, middle, limit);
        find(block, 2 * node + 1, middle, end, limit);
    }

    // Takes no longer than the look at all of them that follows.
    void sortAll() {
        std::ranges::sort(mFresh, {}, &Placed::offset);
        const auto middle = static_cast<ptrdiff_t>(mAll.size());
        mAll.insert(mAll.end(), mFresh.begin(), mFresh.end());
        std::ranges::inplace_merge(mAll, mAll.begin() + middle, {}, &Placed::offset);
        mFresh.clear();
    }

    StepOrder mStarts;
    StepOrder mEnds;
    size_t mLeaves;
    std::vector<std::optional<size_t>> mLatest;  // by node: the root is 1, n's children 2n, 2n + 1
    std::vector<Placed> mPlaced;                 // by leaf
    size_t mCount = 0;
    std::vector<Placed> mFound;
    std::vector<Placed> mAll;    // by offset, without mFresh
    std::vector<Placed> mFresh;  // in the order they were placed in
};

}  // namespace

Result<ArenaPlan> planArena(std::span<const ArenaBlock> blocks) {
    std::vector<size_t> order(blocks.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order,
                             [&](size_t a, size_t b) { return blocks[a].bytes > blocks[b].bytes; });

    ArenaPlan plan;
    plan.offsets.resize(blocks.size(), 0);
    PlacedBlocks placed(blocks);
    for (const size_t index : order) {
        const ArenaBlock& block = blocks[index];
        size_t offset = 0;
        for (const Placed& other : placed.neighboursOf(block)) {
            if (block.firstStep > other.lastStep || other.firstStep > block.lastStep) {
                continue;
            }
            // The gap between what is already passed and this neighbour may do.
            if (offset <= other.offset && block.bytes <= other.offset - offset) {
                break;
            }
            offset = std::max(offset, other.end);
        }
        const std::optional<size_t> end = checkedAdd(offset, block.bytes);
        if (!end.has_value() || *end > PTRDIFF_MAX - kTensorAlignment) {
            return outOfReach("a block of " + std::to_string(block.bytes) + " bytes at offset " +
                              std::to_string(offset) + " of the arena is out of reach");
        }
        plan.offsets[index] = offset;
        plan.bytes = std::max(plan.bytes, *end);
        // Rounding up does not overflow: the end is that far from it.
        placed.place(index, {.offset = offset,
                             .end = *checkedAlignUp(*end, kTensorAlignment),
                             .firstStep = block.firstStep,
                             .lastStep = block.lastStep});
    }
    return plan;
}

}  // namespace halyard::engine
