// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/products/product_plan.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "engine/base/checked_math.h"

namespace halyard::engine::cpu {
namespace {

// Of the left matrix in one unit: what stays in the cache next to the processor's registers while
// all columns go by.
constexpr int64_t kUnitBytes = int64_t{96} << 10;
// More where the right matrix is so large that it comes from far away, each time that a unit goes
// through it: this share of that one, and at most so much.
constexpr int64_t kUnitShare = 8;
constexpr int64_t kMostUnitBytes = int64_t{512} << 10;
// And of its result, where that is read again: what stays in the next cache.
constexpr int64_t kResultBytes = int64_t{128} << 10;
// Weights that stay in the second cache while rows go by, and how many more of them than of inputs
// there are where columns are cut; short pieces of rows are slow to read again.
constexpr int64_t kFewWeightBytes = int64_t{256} << 10;
constexpr int64_t kMoreWeights = 2;
constexpr int64_t kMoreWeightsOfRead = 4;
// So many units per thread even out what threads are late by.
constexpr int64_t kUnitsPerThread = 4;
// Multiply-adds that are worth a unit of their own.
constexpr int64_t kFewestOperations = int64_t{1} << 16;
// As many rows of them as it takes to fetch the weights.
constexpr int64_t kRowsOfFetching = 8;
// And those that a unit should not exceed, because nobody asks in the midst of one whether it is
// time to stop: some milliseconds.
constexpr int64_t kMostOperations = int64_t{1} << 26;

int64_t ceilDivide(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

int64_t roundUp(int64_t value, int64_t multiple) {
    return ceilDivide(value, multiple) * multiple;
}

bool takesEveryPixelAlone(const ProductShape& s) {
    return s.filterH == 1 && s.filterW == 1 && s.strideH == 1 && s.strideW == 1 && s.top == 0 &&
           s.left == 0 && s.outputH == s.inputH && s.outputW == s.inputW;
}

bool staysInside(const ProductShape& s) {
    return s.top == 0 && s.left == 0 &&
           (s.outputH - 1) * s.strideH + (s.filterH - 1) * s.dilationH < s.inputH &&
           (s.outputW - 1) * s.strideW + (s.filterW - 1) * s.dilationW < s.inputW;
}

}  // namespace

Result<ProductPlan> ProductPlan::create(const ProductShape& shape, const ProductTraits& traits) {
    ProductPlan plan;
    ProductShape& s = plan.mShape;
    s = shape;
    if (takesEveryPixelAlone(s)) {
        s.inputW = s.outputW = s.batches * s.inputH * s.inputW;
        s.batches = s.inputH = s.outputH = 1;
    }
    plan.mBatches = s.batches;
    const int64_t groupDepth = s.inputC / s.groups;
    plan.mGroupColumns = s.outputC / s.groups;
    // Neighbouring taps are neighbours in memory, too, where they take all channels.
    const bool merged = s.groups == 1 && s.dilationW == 1;
    const int64_t taps = merged ? s.filterH : s.filterH * s.filterW;
    const int64_t run = merged ? s.filterW * groupDepth : groupDepth;
    plan.mRunLength = roundUp(run, traits.runMultiple);
    plan.mUsesStrip = traits.alwaysStrip || !staysInside(s) || plan.mRunLength != run;

    // Weights that come from far away and are by far the larger matrix are read once, and not once
    // for some rows: then the columns are cut.
    const int64_t weights = taps * plan.mRunLength * plan.mGroupColumns;
    const int64_t pixels = s.batches * s.inputH * s.inputW * groupDepth;
    const bool cutsColumns =
            weights * static_cast<int64_t>(traits.elementBytes) > kFewWeightBytes &&
            weights / (traits.readsResults ? kMoreWeightsOfRead : kMoreWeights) > pixels;

    // Rows first: as many as the cache takes. A strip holds lines, which several output lines
    // share where windows overlap.
    const int64_t bytes = static_cast<int64_t>(traits.elementBytes);
    const int64_t rowBytes = std::max<int64_t>(taps * plan.mRunLength * bytes, 1);
    const int64_t lineBytes = std::max<int64_t>(s.inputW * s.inputC * bytes, 1);
    const int64_t resultBytes = std::max<int64_t>(s.outputC * bytes, 1);
    const int64_t unitBytes =
            std::clamp(rowBytes * plan.mGroupColumns / kUnitShare, kUnitBytes, kMostUnitBytes);
    const int64_t mostRows =
            traits.readsResults
                    ? std::max<int64_t>(std::max(kResultBytes, unitBytes) / resultBytes, 1)
                    : std::numeric_limits<int64_t>::max();
    const bool oneLine = s.outputH == 1 && s.filterW == 1;
    const int64_t fewestColumns =
            cutsColumns ? std::min(traits.tileColumns, plan.mGroupColumns) : plan.mGroupColumns;
    const int64_t rowOperations = std::max<int64_t>(taps * plan.mRunLength * fewestColumns, 1);
    // A last unit of few rows would read the weights for little.
    const int64_t tiles = ceilDivide(s.outputW, traits.tileRows);
    int64_t mostTiles = s.outputW;
    if (oneLine) {
        mostTiles = std::clamp<int64_t>(std::min(unitBytes / rowBytes, mostRows) / traits.tileRows,
                                        1, 64);
        if (tiles <= mostTiles + mostTiles / 4) {
            mostTiles = tiles;
        }
    }
    plan.mRowsPerUnit =
            traits.tileRows *
            std::clamp<int64_t>(kMostOperations / rowOperations / traits.tileRows, 1, mostTiles);
    plan.mRowsPerUnit = std::min(plan.mRowsPerUnit, s.outputW);
    plan.mLinesPerUnit = 1;
    if (!oneLine && plan.mRowsPerUnit == s.outputW) {
        const int64_t most = kMostOperations / (rowOperations * s.outputW);
        plan.mLinesPerUnit =
                std::clamp<int64_t>(std::min({unitBytes / lineBytes - s.filterH, most,
                                              mostRows / std::max<int64_t>(s.outputW, 1)}),
                                    1, s.outputH);
    }
    const int64_t threads = static_cast<int64_t>(traits.threads);
    const int64_t wanted = threads == 1 ? 1 : threads * kUnitsPerThread;
    const auto operations = [&](int64_t rows, int64_t columns) {
        return rows * columns * taps * plan.mRunLength;
    };
    const auto rowUnits = [&] {
        return s.batches * ceilDivide(s.outputH, plan.mLinesPerUnit) *
               ceilDivide(s.outputW, plan.mRowsPerUnit);
    };
    // As many row units as that, if they do not become too small for it.
    const auto cutRows = [&](int64_t units, int64_t fewestRows) {
        while (rowUnits() < units && plan.mLinesPerUnit > 1 &&
               plan.mLinesPerUnit / 2 * s.outputW >= fewestRows &&
               operations(plan.mLinesPerUnit / 2 * s.outputW, plan.mColumnsPerUnit) >
                       kFewestOperations) {
            plan.mLinesPerUnit = ceilDivide(plan.mLinesPerUnit, 2);
        }
        while (oneLine && rowUnits() < units && plan.mRowsPerUnit > traits.tileRows &&
               s.outputW > traits.tileRows &&
               operations(plan.mRowsPerUnit / 2, plan.mColumnsPerUnit) > kFewestOperations) {
            plan.mRowsPerUnit = roundUp(plan.mRowsPerUnit / 2, traits.tileRows);
        }
    };
    const auto cutColumns = [&] {
        const int64_t all = operations(plan.mLinesPerUnit * plan.mRowsPerUnit, plan.mGroupColumns);
        const int64_t fetching = operations(kRowsOfFetching, plan.mGroupColumns);
        const int64_t worthwhile = std::min(ceilDivide(wanted, rowUnits() * s.groups),
                                            (all + fetching) / kFewestOperations);
        const int64_t cuts = std::max<int64_t>({ceilDivide(all, kMostOperations), worthwhile, 1});
        plan.mColumnsPerUnit =
                std::min(roundUp(ceilDivide(plan.mGroupColumns, cuts), traits.tileColumns),
                         plan.mGroupColumns);
    };
    plan.mColumnsPerUnit = plan.mGroupColumns;
    if (!cutsColumns) {
        cutRows(wanted, 1);
    }
    cutColumns();
    // What is fetched for the columns then serves a thread for several units.
    if (cutsColumns) {
        const int64_t columnUnits = s.groups * ceilDivide(plan.mGroupColumns, plan.mColumnsPerUnit);
        cutRows(ceilDivide(wanted, columnUnits), traits.tileRows);
    }
    plan.mLineGroups = ceilDivide(s.outputH, plan.mLinesPerUnit);
    plan.mRowGroups = ceilDivide(s.outputW, plan.mRowsPerUnit);
    plan.mColumnGroupsOfGroup = ceilDivide(plan.mGroupColumns, plan.mColumnsPerUnit);
    plan.mColumnGroups = s.groups * plan.mColumnGroupsOfGroup;
    // What neighbouring units share is better the larger of the two matrices.
    plan.mRowsFirst = cutsColumns || (weights > pixels && weights * bytes > kFewWeightBytes);

    int64_t lineStride = s.inputW * s.inputC;
    if (plan.mUsesStrip) {
        const int64_t width =
                (plan.mRowsPerUnit - 1) * s.strideW + (s.filterW - 1) * s.dilationW + 1;
        const int64_t lines =
                (plan.mLinesPerUnit - 1) * s.strideH + (s.filterH - 1) * s.dilationH + 1;
        // Behind the last pixel, what pads a run may be read.
        plan.mStripRow = roundUp(width * s.inputC + plan.mRunLength - run, traits.runMultiple);
        const std::optional<size_t> length =
                checkedMultiply(static_cast<size_t>(plan.mStripRow), static_cast<size_t>(lines));
        if (!length.has_value() || !checkedMultiply(*length, traits.elementBytes).has_value()) {
            return outOfReach("its copy of the input is out of reach");
        }
        plan.mStripLength = *length;
        lineStride = plan.mStripRow;
    }
    plan.mALine = s.strideH * lineStride;
    plan.mARow = s.strideW * s.inputC;
    for (int64_t i = 0; i < s.filterH; ++i) {
        const ptrdiff_t line = i * s.dilationH * lineStride;
        for (int64_t j = 0; j < (merged ? 1 : s.filterW); ++j) {
            plan.mRuns.push_back(line + j * s.dilationW * s.inputC);
        }
    }
    return plan;
}

ProductUnit ProductPlan::unit(int64_t index) const {
    const int64_t rowUnits = mBatches * mLineGroups * mRowGroups;
    const int64_t rowUnit = mRowsFirst ? index % rowUnits : index / mColumnGroups;
    const int64_t columnUnit = mRowsFirst ? index / rowUnits : index % mColumnGroups;
    ProductUnit unit;
    unit.batch = rowUnit / (mLineGroups * mRowGroups);
    unit.line = rowUnit / mRowGroups % mLineGroups * mLinesPerUnit;
    unit.lines = std::min(mLinesPerUnit, mShape.outputH - unit.line);
    unit.row = rowUnit % mRowGroups * mRowsPerUnit;
    unit.rows = std::min(mRowsPerUnit, mShape.outputW - unit.row);
    unit.group = columnUnit / mColumnGroupsOfGroup;
    unit.column = columnUnit % mColumnGroupsOfGroup * mColumnsPerUnit;
    unit.columns = std::min(mColumnsPerUnit, mGroupColumns - unit.column);
    return unit;
}

int64_t ProductPlan::unitOperations() const {
    return mLinesPerUnit * mRowsPerUnit * mColumnsPerUnit * static_cast<int64_t>(mRuns.size()) *
           mRunLength;
}

ptrdiff_t ProductPlan::inputOffset(const ProductUnit& unit) const {
    const ProductShape& s = mShape;
    const int64_t line = unit.batch * s.inputH + unit.line * s.strideH;
    return (line * s.inputW + unit.row * s.strideW) * s.inputC + unit.group * (s.inputC / s.groups);
}

ptrdiff_t ProductPlan::outputOffset(const ProductUnit& unit) const {
    const ProductShape& s = mShape;
    const int64_t line = unit.batch * s.outputH + unit.line;
    return (line * s.outputW + unit.row) * s.outputC + unit.group * mGroupColumns + unit.column;
}

}  // namespace halyard::engine::cpu
