// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "tests/engine/nodes/inference.h"

namespace halyard::engine::nodes_test {
namespace {

Window2d same(int32_t stride, int32_t dilation = 1) {
    return {.padding = PaddingScheme::SAME,
            .strideH = stride,
            .strideW = stride,
            .dilationH = dilation,
            .dilationW = dilation};
}

Window2d padded(int32_t top, int32_t bottom, int32_t left, int32_t right) {
    return {.padding = PaddingScheme::EXPLICIT,
            .top = top,
            .bottom = bottom,
            .left = left,
            .right = right};
}

TEST(Window, ValidTakesWholeFiltersOnly) {
    const Result<ResolvedWindow> window = resolveWindow({.strideH = 2, .strideW = 3}, 7, 10, 3, 4);
    ASSERT_TRUE(window.ok());
    EXPECT_EQ(window->outputH, 3);
    EXPECT_EQ(window->outputW, 3);
    EXPECT_EQ(window->top + window->bottom + window->left + window->right, 0);
}

// MobileNet's first convolution: 224 to 112, the one row of padding at the end.
TEST(Window, SamePutsTheOddElementAtTheEnd) {
    const Result<ResolvedWindow> window = resolveWindow(same(2), 224, 225, 3, 3);
    ASSERT_TRUE(window.ok());
    EXPECT_EQ(window->outputH, 112);
    EXPECT_EQ(window->top, 0);
    EXPECT_EQ(window->bottom, 1);
    EXPECT_EQ(window->outputW, 113);
    EXPECT_EQ(window->left, 1);
    EXPECT_EQ(window->right, 1);
}

TEST(Window, SameCountsDilation) {
    const Result<ResolvedWindow> window = resolveWindow(same(1, 2), 5, 5, 3, 3);
    ASSERT_TRUE(window.ok());
    EXPECT_EQ(window->outputH, 5);
    EXPECT_EQ(window->top, 2);
    EXPECT_EQ(window->bottom, 2);
}

TEST(Window, SameNeedsNoPaddingWhereStridesSkip) {
    const Result<ResolvedWindow> window = resolveWindow(same(4), 8, 8, 1, 1);
    ASSERT_TRUE(window.ok());
    EXPECT_EQ(window->outputH, 2);
    EXPECT_EQ(window->top, 0);
    EXPECT_EQ(window->bottom, 0);
}

TEST(Window, ExplicitPaddingIsKept) {
    const Result<ResolvedWindow> window = resolveWindow(padded(1, 2, 0, 3), 4, 4, 3, 3);
    ASSERT_TRUE(window.ok());
    EXPECT_EQ(window->outputH, 5);
    EXPECT_EQ(window->outputW, 5);
    EXPECT_EQ(window->top, 1);
    EXPECT_EQ(window->right, 3);
}

TEST(Window, UnknownInputGivesUnknownOutputOnThatAxisOnly) {
    const Result<ResolvedWindow> window = resolveWindow(same(1), kUnknown, 5, 3, 3);
    ASSERT_TRUE(window.ok());
    EXPECT_EQ(window->outputH, kUnknown);
    EXPECT_EQ(window->outputW, 5);
}

TEST(Window, UnknownFilterGivesUnknownOutput) {
    const Result<ResolvedWindow> window = resolveWindow({}, 5, 5, kUnknown, 2);
    ASSERT_TRUE(window.ok());
    EXPECT_EQ(window->outputH, kUnknown);
    EXPECT_EQ(window->outputW, 4);
}

TEST(Window, SameOfAnEmptyInputIsEmpty) {
    const Result<ResolvedWindow> window = resolveWindow(same(1), 0, 4, 3, 3);
    ASSERT_TRUE(window.ok());
    EXPECT_EQ(window->outputH, 0);
}

TEST(Window, RejectsAFilterThatDoesNotFit) {
    EXPECT_TRUE(rejects(resolveWindow({}, 2, 5, 3, 3), "height: the dilated filter (3)"));
    EXPECT_TRUE(rejects(resolveWindow({.dilationW = 3}, 5, 5, 3, 3), "width"));
    EXPECT_TRUE(rejects(resolveWindow(padded(1, 0, 0, 0), 1, 5, 3, 3), "does not fit"));
}

TEST(Window, RejectsStridesDilationsAndPaddingsOutOfRange) {
    EXPECT_TRUE(rejects(resolveWindow({.strideH = 0}, 5, 5, 3, 3), "must be positive"));
    EXPECT_TRUE(rejects(resolveWindow({.strideW = -1}, 5, 5, 3, 3), "must be positive"));
    EXPECT_TRUE(rejects(resolveWindow({.dilationH = 0}, 5, 5, 3, 3), "must be positive"));
    EXPECT_TRUE(rejects(resolveWindow(padded(-1, 0, 0, 0), 5, 5, 3, 3), "must not be negative"));
    EXPECT_TRUE(rejects(resolveWindow(padded(0, 0, 0, -1), 5, 5, 3, 3), "must not be negative"));
    EXPECT_TRUE(rejects(resolveWindow({}, 5, 5, 0, 3), "no elements"));
}

TEST(Window, RejectsWhatOverflows) {
    EXPECT_TRUE(rejects(resolveWindow(padded(kMax, kMax, 0, 0), kMax, 5, 1, 1), "too large"));
    EXPECT_TRUE(rejects(resolveWindow({.dilationH = kMax}, 5, 5, kMax, 3), "does not fit"));
    EXPECT_TRUE(rejects(resolveWindow(same(1, kMax), 5, 5, kMax, 3), "too large"));
    EXPECT_TRUE(resolveWindow({.strideH = kMax, .strideW = kMax}, kMax, kMax, 1, 1).ok());
}

// Of TRANSPOSE_CONV_2D: two filters of 3 a stride of 2 apart cover 5.
TEST(TransposeWindow, SameCutsWhatIsTooMuchTheOddElementAtTheEnd) {
    const Result<ResolvedWindow> window = resolveTransposeWindow(same(2), 2, 2, 3, 4, 4, 4);
    ASSERT_TRUE(window.ok()) << window.status().toString();
    EXPECT_EQ(window->top, 0);
    EXPECT_EQ(window->bottom, 1);
    EXPECT_EQ(window->left, 1);
    EXPECT_EQ(window->right, 1);
    EXPECT_EQ(window->outputH, 4);
}

TEST(TransposeWindow, SameLeavesWhatNoFilterCovers) {
    const Result<ResolvedWindow> window = resolveTransposeWindow(same(2), 2, 2, 1, 1, 4, 4);
    ASSERT_TRUE(window.ok()) << window.status().toString();
    EXPECT_EQ(window->top + window->bottom, 0);
    EXPECT_EQ(window->outputH, 4);
}

TEST(TransposeWindow, ValidCutsNothing) {
    const Result<ResolvedWindow> window =
            resolveTransposeWindow({.strideH = 2, .strideW = 2}, 2, 2, 3, 3, 5, 6);
    ASSERT_TRUE(window.ok()) << window.status().toString();
    EXPECT_EQ(window->top + window->bottom + window->left + window->right, 0);
    EXPECT_EQ(window->outputW, 6);
    EXPECT_TRUE(rejects(resolveTransposeWindow({}, 2, 2, 3, 3, 5, 4), "belongs to an input of 3"));
    EXPECT_TRUE(rejects(resolveTransposeWindow({}, 2, 2, 3, 3, 2, 4), "belongs to an input of 0"));
}

TEST(TransposeWindow, ExplicitPaddingDecidesTheOutput) {
    const Result<ResolvedWindow> window =
            resolveTransposeWindow(padded(1, 0, 2, 1), 4, 4, 3, 3, kUnknown, kUnknown);
    ASSERT_TRUE(window.ok()) << window.status().toString();
    EXPECT_EQ(window->outputH, 5);
    EXPECT_EQ(window->outputW, 3);
    EXPECT_TRUE(rejects(resolveTransposeWindow(padded(9, 0, 0, 0), 4, 4, 3, 3, 0, 0), "can't be"));
}

TEST(TransposeWindow, RejectsWhatOverflows) {
    Window2d huge = padded(0, 0, 0, 0);
    huge.strideH = kMax;
    EXPECT_TRUE(rejects(resolveTransposeWindow(huge, kMax, 1, kMax, 1, 0, 0), "can't be"));
    EXPECT_TRUE(rejects(resolveTransposeWindow(same(1), 1, 1, 0, 1, 1, 1), "no elements"));
    EXPECT_TRUE(resolveTransposeWindow(same(kMax), 1, 1, kMax, kMax, kMax, kMax).ok());
}

}  // namespace
}  // namespace halyard::engine::nodes_test
