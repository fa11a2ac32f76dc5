// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/gemm/gemm_tiling.h"

#include <algorithm>
#include <limits>

#include "engine/numerics/whole_division.h"

namespace halyard::engine::cpu {
namespace {

class Cutter {
  public:
    Cutter(const GemmShape& shape, const GemmTraits& traits, int64_t depth)
        : mShape(shape),
          mTraits(traits),
          mTuning(traits.tuning),
          mDepth(depth),
          mOneLine(shape.outputH == 1 && shape.filterW == 1),
          mThreads(static_cast<int64_t>(traits.threads)),
          mWanted(mThreads == 1 ? 1 : mThreads * mTuning.workItemsPerThread) {
        const int64_t weights = depth * shape.groupColumns();
        const int64_t pixels = shape.batches * shape.inputH * shape.inputW * shape.groupDepth();
        const bool areMany = weights * bytes() > mTuning.fewWeightBytes;
        // Weights that come from far away and are by far the larger matrix are read once, and not
        // once for some rows: then the columns are cut.
        mCutsColumns = areMany && weights / (traits.readsResults ? mTuning.moreWeightsOfRead
                                                                 : mTuning.moreWeights) >
                                          pixels;
        // Neighbouring work items had better share the larger of the two matrices.
        mCut.rowsFirst = mCutsColumns || (areMany && weights > pixels);
    }

    GemmTiling cut() {
        limitRows();
        mCut.columns = mShape.groupColumns();
        const bool hasSmallTiles = mTraits.smallTileRows > 0 && mThreads > 1;
        if (!hasSmallTiles) {
            shareMatrices(mTraits.tileRows, mTraits.tileColumns);
        } else if (mCutsColumns && linesOverlap()) {
            shareMatrices(mostly(mTraits.tileRows), columnsOfTile());
        } else {
            shareRows();
        }
        return mCut;
    }

  private:
    int64_t bytes() const { return static_cast<int64_t>(mTraits.elementBytes); }
    int64_t operations(int64_t rows, int64_t columns) const { return rows * columns * mDepth; }
    int64_t rowBlocks() const {
        return mShape.batches * ceilDivide(mShape.outputH, mCut.lines) *
               ceilDivide(mShape.outputW, mCut.rows);
    }
    // Work items that share columns read lines of the input that others read, too, and nothing is
    // copied but those lines.
    bool linesOverlap() const { return mShape.filterH > 1 && mShape.strideW == 1; }
    // Rows of lines that fill tiles but for an eighth.
    static int64_t mostly(int64_t tileRows) { return tileRows - tileRows / 8; }

    // As many rows as the cache takes. A padded input tile holds lines, which several output lines
    // share where windows overlap.
    void limitRows() {
        const GemmShape& s = mShape;
        const int64_t rowBytes = std::max<int64_t>(mDepth * bytes(), 1);
        const int64_t lineBytes = std::max<int64_t>(s.inputW * s.groupDepth() * bytes(), 1);
        const int64_t resultBytes = std::max<int64_t>(s.outputC * bytes(), 1);
        const int64_t workItemBytes =
                std::clamp(rowBytes * s.groupColumns() / mTuning.workItemShare,
                           mTuning.workItemBytes, mTuning.mostWorkItemBytes);
        const int64_t mostRows =
                mTraits.readsResults
                        ? std::max<int64_t>(
                                  std::max(mTuning.resultBytes, workItemBytes) / resultBytes, 1)
                        : std::numeric_limits<int64_t>::max();
        const int64_t fewestColumns =
                mCutsColumns ? std::min(mTraits.tileColumns, s.groupColumns()) : s.groupColumns();
        const int64_t rowOperations = std::max<int64_t>(operations(1, fewestColumns), 1);
        // A last work item of few rows would read the weights for little.
        const int64_t tiles = ceilDivide(s.outputW, mTraits.tileRows);
        int64_t mostTiles = s.outputW;
        if (mOneLine) {
            mostTiles = std::clamp<int64_t>(
                    std::min(workItemBytes / rowBytes, mostRows) / mTraits.tileRows, 1, 64);
            if (tiles <= mostTiles + mostTiles / 4) {
                mostTiles = tiles;
            }
        }
        mCut.rows = mTraits.tileRows *
                    std::clamp<int64_t>(mTuning.mostOperations / rowOperations / mTraits.tileRows,
                                        1, mostTiles);
        mCut.rows = std::min(mCut.rows, s.outputW);
        if (!mOneLine && mCut.rows == s.outputW) {
            const int64_t most = mTuning.mostOperations / (rowOperations * s.outputW);
            mCut.lines = std::clamp<int64_t>(std::min({workItemBytes / lineBytes - s.filterH, most,
                                                       mostRows / std::max<int64_t>(s.outputW, 1)}),
                                             1, s.outputH);
        }
    }

    // Cuts columns where weights are by far the larger matrix, and the rows else.
    void shareMatrices(int64_t fewestRows, int64_t tileColumns) {
        if (!mCutsColumns) {
            cutRows(mWanted, 1, mTraits.tileRows);
        }
        cutColumns(mWanted, tileColumns);
        // The weights of some columns then serve a thread for several work items.
        if (mCutsColumns) {
            const int64_t columnBlocks =
                    mShape.groups * ceilDivide(mShape.groupColumns(), mCut.columns);
            cutRows(ceilDivide(mWanted, columnBlocks), fewestRows, mTraits.tileRows);
        }
    }

    // Cuts rows as far as tiles go, and columns where those are too few.
    void shareRows() {
        cutRows(mWanted, mostly(mTraits.tileRows), mTraits.tileRows);
        const int64_t few = mThreads * mTuning.fewWorkItemsPerThread;
        if (!linesOverlap()) {
            cutRows(few, mostly(mTraits.smallTileRows), mTraits.smallTileRows);
        }
        cutColumns(mCutsColumns ? mWanted : few, columnsOfTile());
    }

    // Small ones only if not even rows that are cut as far as they can be give each thread a work
    // item and another half of them a second one.
    int64_t columnsOfTile() {
        const GemmTiling whole = mCut;
        const int64_t rows = linesOverlap() ? mTraits.tileRows : mTraits.smallTileRows;
        cutRows(std::numeric_limits<int64_t>::max(), mostly(rows), rows);
        const int64_t most = rowBlocks() * mShape.groups *
                             ceilDivide(mShape.groupColumns(), mTraits.tileColumns);
        mCut = whole;
        return most < mThreads + mThreads / 2 ? mTraits.smallTileColumns : mTraits.tileColumns;
    }

    // As many work items of rows as that, if they do not become too small for it: `fewestRows` of
    // lines, or a multiple of `step` of one line.
    void cutRows(int64_t items, int64_t fewestRows, int64_t step) {
        const int64_t width = mShape.outputW;
        while (rowBlocks() < items && mCut.lines > 1 && mCut.lines / 2 * width >= fewestRows &&
               operations(mCut.lines / 2 * width, mCut.columns) > mTuning.fewestOperations) {
            mCut.lines = ceilDivide(mCut.lines, 2);
        }
        while (mOneLine && rowBlocks() < items && mCut.rows > step && width > step &&
               operations(mCut.rows / 2, mCut.columns) > mTuning.fewestOperations) {
            mCut.rows = roundUp(mCut.rows / 2, step);
        }
    }

    // As many work items as that with those of rows that there are, if it is worthwhile, each a
    // multiple of `step` columns.
    void cutColumns(int64_t items, int64_t step) {
        const int64_t columns = mShape.groupColumns();
        const int64_t all = operations(mCut.lines * mCut.rows, columns);
        const int64_t fetching = operations(mTuning.rowsOfFetching, columns);
        const int64_t worthwhile = std::min(ceilDivide(items, rowBlocks() * mShape.groups),
                                            (all + fetching) / mTuning.fewestOperations);
        const int64_t cuts =
                std::max<int64_t>({ceilDivide(all, mTuning.mostOperations), worthwhile, 1});
        mCut.columns = std::min(roundUp(ceilDivide(columns, cuts), step), columns);
    }

    const GemmShape& mShape;
    const GemmTraits& mTraits;
    const TilingTuning& mTuning;
    const int64_t mDepth;
    const bool mOneLine;
    const int64_t mThreads;
    const int64_t mWanted;
    bool mCutsColumns = false;
    GemmTiling mCut;
};

}  // namespace

GemmTiling tileGemm(const GemmShape& shape, const GemmTraits& traits, int64_t depth) {
    return Cutter(shape, traits, depth).cut();
}

}  // namespace halyard::engine::cpu
