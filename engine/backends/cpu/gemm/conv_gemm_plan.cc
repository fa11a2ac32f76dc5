// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/gemm/conv_gemm_plan.h"

#include <algorithm>
#include <optional>

#include "engine/base/checked_math.h"

namespace halyard::engine::cpu {
namespace {

int64_t ceilDivide(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

int64_t roundUp(int64_t value, int64_t multiple) {
    return ceilDivide(value, multiple) * multiple;
}

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
    if (takesEveryPixelAlone(s)) {
        s.inputW = s.outputW = s.batches * s.inputH * s.inputW;
        s.batches = s.inputH = s.outputH = 1;
    }
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
    plan.mLinesPerUnit = cut.lines;
    plan.mRowsPerUnit = cut.rows;
    plan.mColumnsPerUnit = cut.columns;
    plan.mRowsFirst = cut.rowsFirst;
    plan.mLineGroups = ceilDivide(s.outputH, plan.mLinesPerUnit);
    plan.mRowGroups = ceilDivide(s.outputW, plan.mRowsPerUnit);
    plan.mColumnGroupsOfGroup = ceilDivide(plan.mGroupColumns, plan.mColumnsPerUnit);
    plan.mColumnGroups = s.groups * plan.mColumnGroupsOfGroup;

    int64_t lineStride = s.inputW * s.inputC;
    if (plan.mUsesPaddedTile) {
        const int64_t lines = plan.stripLines(plan.mLinesPerUnit);
        // Behind the last spatial position, what pads a run may be read.
        plan.mPaddedTileRow =
                roundUp(plan.stripWidth(plan.mRowsPerUnit) * s.inputC + plan.mRunLength - run,
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
    }
    plan.mALine = s.strideH / plan.mStridePhasesH * lineStride;
    plan.mARow = s.strideW / plan.mStridePhasesW * s.inputC;
    for (int64_t i = 0; i < s.filterH; ++i) {
        const int64_t y = i * s.dilationH;
        for (int64_t j = 0; j < (merged ? 1 : s.filterW); ++j) {
            const int64_t x = j * s.dilationW;
            const int64_t phase =
                    y % plan.mStridePhasesH * plan.mStridePhasesW + x % plan.mStridePhasesW;
            plan.mRuns.push_back(phase * plan.mStridePhaseLength +
                                 y / plan.mStridePhasesH * lineStride +
                                 x / plan.mStridePhasesW * s.inputC);
        }
    }
    return plan;
}

GemmWorkItem ConvGemmPlan::unit(int64_t index) const {
    const int64_t rowUnit = mRowsFirst ? index % rowUnits() : index / mColumnGroups;
    const int64_t columnUnit = mRowsFirst ? index / rowUnits() : index % mColumnGroups;
    GemmWorkItem unit;
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

int64_t ConvGemmPlan::unitOperations() const {
    return mLinesPerUnit * mRowsPerUnit * mColumnsPerUnit * static_cast<int64_t>(mRuns.size()) *
           mRunLength;
}

ptrdiff_t ConvGemmPlan::inputOffset(const GemmWorkItem& unit) const {
    const GemmShape& s = mShape;
    const int64_t line = unit.batch * s.inputH + unit.line * s.strideH;
    return (line * s.inputW + unit.row * s.strideW) * s.inputC + unit.group * (s.inputC / s.groups);
}

ptrdiff_t ConvGemmPlan::outputOffset(const GemmWorkItem& unit) const {
    const GemmShape& s = mShape;
    const int64_t line = unit.batch * s.outputH + unit.line;
    return (line * s.outputW + unit.row) * s.outputC + unit.group * mGroupColumns + unit.column;
}

}  // namespace halyard::engine::cpu
