// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/gemm/conv_gemm_plan.h"

#include <algorithm>
#include <optional>

#include "engine/base/checked_math.h"
#include "engine/numerics/whole_division.h"

namespace halyard::engine::cpu {
namespace {

bool takesEveryPixelAlone(const GemmShape& s) {
    return s.filterH == 1 && s.filterW == 1 && s.strideH == 1 && s.strideW == 1 && s.top == 0 &&
           s.left == 0 && s.outputH == s.inputH && s.outputW == s.inputW;
}

bool staysInside(const GemmShape& s) {
    return s.top == 0 && s.left == 0 &&
           (s.outputH - 1) * s.strideH + (s.filterH - 1) * s.dilationH < s.inputH &&
           (s.outputW - 1) * s.strideW + (s.filterW - 1) * s.dilationW < s.inputW;
}

}  // namespace

Result<ConvGemmPlan> ConvGemmPlan::create(const GemmShape& shape, const GemmTraits& traits) {
    ConvGemmPlan plan;
    GemmShape& s = plan.mShape;
    s = shape;
    if (!s.output.has_value() && takesEveryPixelAlone(s)) {
        s.inputW = s.outputW = s.batches * s.inputH * s.inputW;
        s.batches = s.inputH = s.outputH = 1;
    }
    plan.mOutput = s.output.value_or(GemmOutput{.batch = s.outputH * s.outputW * s.outputC,
                                                .line = s.outputW * s.outputC,
                                                .row = s.outputC});
    plan.mBatches = s.batches;
    const int64_t groupDepth = s.groupDepth();
    plan.mGroupColumns = s.groupColumns();
    // Phases that no tap looks at would be copied for nothing.
    if (traits.phaseMultiple > 0 && groupDepth % traits.phaseMultiple == 0 &&
        s.strideH <= s.filterH && s.strideW <= s.filterW) {
        plan.mStridePhasesH = s.strideH;
        plan.mStridePhasesW = s.strideW;
    }
    const bool hasPhases = plan.mStridePhasesH > 1 || plan.mStridePhasesW > 1;
    // Neighbouring taps are neighbours in memory, too, where they take all channels.
    const bool merged = s.groups == 1 && s.dilationW == 1 && plan.mStridePhasesW == 1;
    const int64_t taps = merged ? s.filterH : s.filterH * s.filterW;
    const int64_t run = merged ? s.filterW * groupDepth : groupDepth;
    plan.mRunLength = roundUp(run, traits.runMultiple);
    plan.mUsesPaddedTile =
            traits.alwaysPaddedTile || hasPhases || !staysInside(s) || plan.mRunLength != run;

    const GemmTiling cut = tileGemm(s, traits, taps * plan.mRunLength);
    plan.mLinesPerWorkItem = cut.lines;
    plan.mRowsPerWorkItem = cut.rows;
    plan.mColumnsPerWorkItem = cut.columns;
    plan.mRowsFirst = cut.rowsFirst;
    plan.mLineGroups = ceilDivide(s.outputH, plan.mLinesPerWorkItem);
    plan.mRowGroups = ceilDivide(s.outputW, plan.mRowsPerWorkItem);
    plan.mColumnGroupsOfGroup = ceilDivide(plan.mGroupColumns, plan.mColumnsPerWorkItem);
    plan.mColumnGroups = s.groups * plan.mColumnGroupsOfGroup;

    int64_t lineStride = s.inputW * s.inputC;
    int64_t pixel = s.inputC;  // elements
    if (plan.mUsesPaddedTile) {
        const int64_t lines = plan.stripLines(plan.mLinesPerWorkItem);
        // Behind the last spatial position, what pads a run may be read.
        plan.mPaddedTileRow =
                roundUp(plan.stripWidth(plan.mRowsPerWorkItem) * groupDepth + plan.mRunLength - run,
                        traits.runMultiple);
        const std::optional<size_t> length = checkedMultiply(
                static_cast<size_t>(plan.mPaddedTileRow),
                static_cast<size_t>(lines * plan.mStridePhasesH * plan.mStridePhasesW));
        if (!length.has_value() || !checkedMultiply(*length, traits.elementBytes).has_value()) {
            return outOfReach("its copy of the input is out of reach");
        }
        plan.mPaddedTileLength = *length;
        plan.mStridePhaseLength = plan.mPaddedTileRow * lines;
        lineStride = plan.mPaddedTileRow;
        pixel = groupDepth;
    }
    plan.mALine = s.strideH / plan.mStridePhasesH * lineStride;
    plan.mARow = s.strideW / plan.mStridePhasesW * pixel;
    for (int64_t i = 0; i < s.filterH; ++i) {
        const int64_t y = i * s.dilationH;
        for (int64_t j = 0; j < (merged ? 1 : s.filterW); ++j) {
            const int64_t x = j * s.dilationW;
            const int64_t phase =
                    y % plan.mStridePhasesH * plan.mStridePhasesW + x % plan.mStridePhasesW;
            plan.mRuns.push_back(phase * plan.mStridePhaseLength +
                                 y / plan.mStridePhasesH * lineStride +
                                 x / plan.mStridePhasesW * pixel);
        }
    }
    return plan;
}

GemmWorkItem ConvGemmPlan::item(int64_t index) const {
    const int64_t rowBlock = mRowsFirst ? index % rowBlocks() : index / mColumnGroups;
    const int64_t columnBlock = mRowsFirst ? index / rowBlocks() : index % mColumnGroups;
    GemmWorkItem item;
    item.batch = rowBlock / (mLineGroups * mRowGroups);
    item.line = rowBlock / mRowGroups % mLineGroups * mLinesPerWorkItem;
    item.lines = std::min(mLinesPerWorkItem, mShape.outputH - item.line);
    item.row = rowBlock % mRowGroups * mRowsPerWorkItem;
    item.rows = std::min(mRowsPerWorkItem, mShape.outputW - item.row);
    item.group = columnBlock / mColumnGroupsOfGroup;
    item.column = columnBlock % mColumnGroupsOfGroup * mColumnsPerWorkItem;
    item.columns = std::min(mColumnsPerWorkItem, mGroupColumns - item.column);
    return item;
}

int64_t ConvGemmPlan::workItemOperations() const {
    return mLinesPerWorkItem * mRowsPerWorkItem * mColumnsPerWorkItem *
           static_cast<int64_t>(mRuns.size()) * mRunLength;
}

ptrdiff_t ConvGemmPlan::inputOffset(const GemmWorkItem& item) const {
    const GemmShape& s = mShape;
    const int64_t line = item.batch * s.inputH + item.line * s.strideH;
    return (line * s.inputW + item.row * s.strideW) * s.inputC + item.group * s.groupDepth();
}

ptrdiff_t ConvGemmPlan::outputOffset(const GemmWorkItem& item) const {
    return mOutput.begin + item.batch * mOutput.batch + item.line * mOutput.line +
           item.row * mOutput.row + item.group * mGroupColumns + item.column;
}

}  // namespace halyard::engine::cpu
