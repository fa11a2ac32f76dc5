// SPDX-License-Identifier: Apache-2.0

#include "importers/tflite/sparsity.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "engine/base/checked_math.h"

namespace halyard::tflite {
namespace {

// A tensor's axes and their blocks.
constexpr size_t kMostLevels = 32;
// Elements for each that is stored: a few bytes of a file must not take gigabytes.
constexpr size_t kSparsest = 256;

class Tree {
  public:
    Tree(const Sparsity& sparsity, std::span<const int32_t> shape, std::span<const uint8_t> stored,
         size_t elementSize)
        : mSparsity(sparsity), mShape(shape), mStored(stored), mElementSize(elementSize) {}

    Result<std::vector<uint8_t>> read() {
        HALYARD_RETURN_IF_ERROR(check());
        size_t count = 1;
        for (const int32_t extent : mShape) {
            const std::optional<size_t> more =
                    extent < 0 ? std::nullopt : checkedMultiply(count, static_cast<size_t>(extent));
            if (!more.has_value()) {
                return invalidArgument("its shape has no size");
            }
            count = *more;
        }
        const size_t stored = mStored.size() / mElementSize;
        if (count / kSparsest > stored) {
            return invalidArgument("it stores " + std::to_string(stored) + " of " +
                                   std::to_string(count) + " elements, less than one in " +
                                   std::to_string(kSparsest));
        }
        const std::optional<size_t> size = checkedMultiply(count, mElementSize);
        if (!size.has_value()) {
            return invalidArgument("its shape has no size");
        }
        mDense.resize(*size);
        mVisitsLeft = (count + 1) * mSparsity.levels.size();
        HALYARD_RETURN_IF_ERROR(visit(0, 0));
        return std::move(mDense);
    }

  private:
    Status check() {
        const size_t rank = mShape.size();
        const size_t all = rank + mSparsity.blocks.size();
        if (all > kMostLevels || mSparsity.order.size() != all || mSparsity.levels.size() != all ||
            rank == 0) {
            return invalidArgument("its levels are not those of its axes and blocks");
        }
        std::vector<bool> seen(all);
        for (const int32_t each : mSparsity.order) {
            if (each < 0 || static_cast<size_t>(each) >= all || seen[static_cast<size_t>(each)]) {
                return invalidArgument("its order of levels is none");
            }
            seen[static_cast<size_t>(each)] = true;
        }
        mBlockOf.fill(-1);
        for (size_t block = 0; block < mSparsity.blocks.size(); ++block) {
            const int32_t axis = mSparsity.blocks[block];
            if (axis < 0 || static_cast<size_t>(axis) >= rank ||
                mBlockOf[static_cast<size_t>(axis)] >= 0) {
                return invalidArgument("its blocks are not of its axes");
            }
            mBlockOf[static_cast<size_t>(axis)] = static_cast<int32_t>(rank + block);
        }
        for (size_t i = 0; i < all; ++i) {
            const Sparsity::Level& level = mSparsity.levels[i];
            const auto place = static_cast<size_t>(mSparsity.order[i]);
            if (level.isDense ? level.extent < 1 : place >= rank) {
                return invalidArgument(
                        "its level " + std::to_string(i) +
                        (level.isDense ? " has no places" : " is a block without all elements"));
            }
            mExtents[place] = level.extent;
        }
        return {};
    }

    // All places of a level below one of the level above.
    Status visit(size_t index, size_t parent) {
        if (mVisitsLeft == 0) {
            return invalidArgument("it names more elements than its shape has");
        }
        --mVisitsLeft;
        if (index == mSparsity.levels.size()) {
            return put(parent);
        }
        const Sparsity::Level& level = mSparsity.levels[index];
        const auto place = static_cast<size_t>(mSparsity.order[index]);
        if (level.isDense) {
            for (int32_t i = 0; i < level.extent; ++i) {
                mFound[place] = i;
                HALYARD_RETURN_IF_ERROR(
                        visit(index + 1,
                              parent * static_cast<size_t>(level.extent) + static_cast<size_t>(i)));
            }
            return {};
        }
        if (parent + 1 >= level.segments.size()) {
            return invalidArgument("its level " + std::to_string(index) + " has too few segments");
        }
        const int32_t begin = level.segments[parent];
        const int32_t end = level.segments[parent + 1];
        if (begin < 0 || end < begin || static_cast<size_t>(end) > level.indices.size()) {
            return invalidArgument("its level " + std::to_string(index) +
                                   " has segments that are not in its indices");
        }
        for (int32_t i = begin; i < end; ++i) {
            mFound[place] = level.indices[static_cast<size_t>(i)];
            HALYARD_RETURN_IF_ERROR(visit(index + 1, static_cast<size_t>(i)));
        }
        return {};
    }

    Status put(size_t element) {
        if (element >= mStored.size() / mElementSize) {
            return invalidArgument("it stores fewer elements than it names");
        }
        size_t at = 0;
        for (size_t axis = 0; axis < mShape.size(); ++axis) {
            int64_t position = mFound[axis];
            if (mBlockOf[axis] >= 0) {
                const auto block = static_cast<size_t>(mBlockOf[axis]);
                position = position * mExtents[block] + mFound[block];
            }
            if (position < 0 || position >= mShape[axis]) {
                return invalidArgument("it names place " + std::to_string(position) + " of the " +
                                       std::to_string(mShape[axis]) + " of axis " +
                                       std::to_string(axis));
            }
            at = at * static_cast<size_t>(mShape[axis]) + static_cast<size_t>(position);
        }
        std::memcpy(mDense.data() + at * mElementSize, mStored.data() + element * mElementSize,
                    mElementSize);
        return {};
    }

    const Sparsity& mSparsity;
    const std::span<const int32_t> mShape;
    const std::span<const uint8_t> mStored;
    const size_t mElementSize;
    std::vector<uint8_t> mDense;
    // By axis or block: the block of an axis, the extent of what is dense, and where the visit is.
    std::array<int32_t, kMostLevels> mBlockOf = {};
    std::array<int32_t, kMostLevels> mExtents = {};
    std::array<int32_t, kMostLevels> mFound = {};
    size_t mVisitsLeft = 0;
};

}  // namespace

Result<std::vector<uint8_t>> densified(const Sparsity& sparsity, std::span<const int32_t> shape,
                                       std::span<const uint8_t> stored, size_t elementSize) {
    return Tree(sparsity, shape, stored, elementSize).read();
}

}  // namespace halyard::tflite
