// SPDX-License-Identifier: Apache-2.0
//
// A convolution or a fully connected layer as a GEMM: which rows A has, where they lie in the input
// (implicit im2col), and the work items that threads share (gemm_tiling.h).
//
// The rows of A are the windows of the output's spatial positions, row by row. Where windows reach
// into the padding, or the input has another type than the micro-kernel reads, the rows that a work
// item needs are first copied to a padded input tile, converted: of groups, the channels of one.
// Otherwise they are read where they lie. With a stride above 1 the padded tile can have stride
// phases: first every second spatial position of every second row, say, then those between them. A
// tap then finds all of its spatial positions in one phase, as with stride 1. A pointwise filter
// with stride 1 makes one row of the whole feature map.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <type_traits>
#include <vector>

#include "engine/backends/cpu/gemm/gemm_tiling.h"
#include "engine/backends/cpu/kernels/epilogue.h"
#include "engine/base/status.h"
#include "engine/graph/nodes.h"
#include "engine/graph/tensor.h"

namespace halyard::engine::cpu {

// A part of the work: some rows of some lines of one batch, and some columns of one group.
struct GemmWorkItem {
    int64_t batch = 0;
    int64_t line = 0, lines = 0;
    int64_t row = 0, rows = 0;
    int64_t group = 0;
    int64_t column = 0, columns = 0;  // within the group
};

class ConvGemmPlan {
  public:
    // RESOURCE_EXHAUSTED where a padded input tile could not be addressed.
    static Result<ConvGemmPlan> create(const GemmShape& shape, const GemmTraits& traits);

    int64_t workItemCount() const { return rowBlocks() * mColumnGroups; }
    // Work items that have the same columns.
    int64_t rowBlocks() const { return mBatches * mLineGroups * mRowGroups; }
    GemmWorkItem item(int64_t index) const;
    // Multiply-adds in a work item of full size.
    int64_t workItemOperations() const;
    // Rows, and elements of the output.
    int64_t workItemRows() const { return mLinesPerWorkItem * mRowsPerWorkItem; }
    // Of whole lines where no line takes more than a work item may.
    int64_t linesPerWorkItem() const { return mLinesPerWorkItem; }
    int64_t workItemElements() const { return workItemRows() * mColumnsPerWorkItem; }

    bool usesPaddedTile() const { return mUsesPaddedTile; }
    // Of the padded input tile of one work item, in elements.
    size_t stripLength() const { return mPaddedTileLength; }
    int64_t runLength() const { return mRunLength; }
    // Offsets of the runs in elements, in the padded input tile or in the input.
    std::span<const ptrdiff_t> runs() const { return mRuns; }
    // Elements from a line, and from a row, to the next, in the padded input tile or in the input.
    ptrdiff_t aLine() const { return mALine; }
    ptrdiff_t aRow() const { return mARow; }
    // And in the output.
    ptrdiff_t cLine() const { return mOutput.line; }
    ptrdiff_t cRow() const { return mOutput.row; }
    // How the work item's matrices lie, in what every form of product calls by the same names.
    template <typename Block>
    void lay(const GemmWorkItem& item, Block& block) const {
        block.aLine = aLine();
        block.aRow = aRow();
        block.runs = runs();
        block.runLength = runLength();
        block.lines = item.lines;
        block.rows = item.rows;
        block.columns = item.columns;
        block.cLine = cLine();
        block.cRow = cRow();
    }
    // Where the work item's first row starts in the input, where that is read in place.
    ptrdiff_t inputOffset(const GemmWorkItem& item) const;
    ptrdiff_t outputOffset(const GemmWorkItem& item) const;
    EpilogueRows outputRows(const GemmWorkItem& item) const {
        return {.begin = outputOffset(item),
                .lines = item.lines,
                .line = cLine(),
                .rows = item.rows,
                .row = cRow(),
                .columns = item.columns};
    }

    // Copies to the padded input tile what a work item reads, the channels of its group, with
    // `padding` where there is no input. convert(From) gives an element of the padded input tile,
    // or convert(from, count, to) as many neighbours.
    template <typename From, typename To, typename Convert>
    void fillPaddedTile(const GemmWorkItem& item, const From* input, To* paddedTile, To padding,
                        Convert convert) const;

  private:
    // Lines and spatial positions of each phase, for so many of the output.
    int64_t stripLines(int64_t lines) const {
        return (lines - 1) * (mShape.strideH / mStridePhasesH) +
               (mShape.filterH - 1) * mShape.dilationH / mStridePhasesH + 1;
    }
    int64_t stripWidth(int64_t rows) const {
        return (rows - 1) * (mShape.strideW / mStridePhasesW) +
               (mShape.filterW - 1) * mShape.dilationW / mStridePhasesW + 1;
    }

    GemmShape mShape;  // after a feature map became one line
    GemmOutput mOutput;
    int64_t mBatches = 1;
    int64_t mLinesPerWorkItem = 1, mRowsPerWorkItem = 1, mColumnsPerWorkItem = 1;
    int64_t mLineGroups = 1, mRowGroups = 1, mColumnGroups = 1;
    int64_t mGroupColumns = 1;         // columns of one group of channels
    int64_t mColumnGroupsOfGroup = 1;  // work items that those are cut into
    bool mRowsFirst = true;            // neighbouring work items differ in their rows
    bool mUsesPaddedTile = false;
    size_t mPaddedTileLength = 0;
    int64_t mPaddedTileRow = 0;  // elements of one line of the padded input tile
    int64_t mStridePhasesH = 1,
            mStridePhasesW = 1;      // lines, and spatial positions of a line, by turns
    int64_t mStridePhaseLength = 0;  // elements of one phase
    int64_t mRunLength = 0;
    ptrdiff_t mALine = 0, mARow = 0;
    std::vector<ptrdiff_t> mRuns;
};

// convert() of each of a few elements, without what a loop of vectors takes to begin.
template <typename From, typename To, typename Convert>
To* convertFew(const From* from, int64_t count, To* to, Convert convert) {
    constexpr int64_t kTogether = 8;
    for (; count >= kTogether; count -= kTogether, from += kTogether, to += kTogether) {
        From elements[kTogether];
        To converted[kTogether];
        std::memcpy(elements, from, sizeof(elements));
        for (int64_t i = 0; i < kTogether; ++i) {
            converted[i] = convert(elements[i]);
        }
        std::memcpy(to, converted, sizeof(converted));
    }
    for (int64_t i = 0; i < count; ++i) {
        to[i] = convert(from[i]);
    }
    return to + count;
}

template <typename From, typename To, typename Convert>
void ConvGemmPlan::fillPaddedTile(const GemmWorkItem& item, const From* input, To* paddedTile,
                                  To padding, Convert convert) const {
    const GemmShape& s = mShape;
    const int64_t depth = s.groupDepth();
    const auto copy = [&](const From* from, int64_t pixels, To* to) {
        const int64_t count = pixels * depth;
        if constexpr (std::is_invocable_v<Convert, const From*, int64_t, To*>) {
            convert(from, count, to);
            return to + count;
        } else {
            if (s.groups > 1) {
                return convertFew(from, count, to, convert);
            }
            if constexpr (std::is_same_v<Convert, std::identity>) {
                return std::copy_n(from, count, to);
            } else {
                return std::transform(from, from + count, to, convert);
            }
        }
    };
    const int64_t lines = stripLines(item.lines);
    const int64_t width = stripWidth(item.rows);
    const From* const first =
            input + item.batch * s.inputH * s.inputW * s.inputC + item.group * depth;
    for (int64_t phase = 0; phase < mStridePhasesH * mStridePhasesW; ++phase) {
        const int64_t firstLine = item.line * s.strideH - s.top + phase / mStridePhasesW;
        const int64_t firstColumn = item.row * s.strideW - s.left + phase % mStridePhasesW;
        // The spatial positions of a line that there are.
        const auto pixelsBefore = [&](int64_t column) {
            return std::max<int64_t>(column - firstColumn + mStridePhasesW - 1, 0) / mStridePhasesW;
        };
        const int64_t begin = std::min(pixelsBefore(0), width);
        const int64_t end = std::clamp(pixelsBefore(s.inputW), begin, width);
        const int64_t together = mStridePhasesW == 1 && s.groups == 1 ? end - begin : 1;
        for (int64_t line = 0; line < lines; ++line) {
            To* to = paddedTile + phase * mStridePhaseLength + line * mPaddedTileRow;
            To* const stop = to + mPaddedTileRow;
            const int64_t at = firstLine + line * mStridePhasesH;
            if (at >= 0 && at < s.inputH) {
                to = std::fill_n(to, begin * depth, padding);
                for (int64_t i = begin; i < end; i += together) {
                    const int64_t column = firstColumn + i * mStridePhasesW;
                    to = copy(first + (at * s.inputW + column) * s.inputC, together, to);
                }
            }
            std::fill(to, stop, padding);
        }
    }
}

}  // namespace halyard::engine::cpu
