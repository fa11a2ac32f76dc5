// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/gemm/gemm_tiling.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace halyard::engine::cpu {
namespace {

// A convolution of square feature maps, as ResNet-50 has them.
GemmShape convolution(int64_t input, int64_t channels, int64_t columns, int64_t filter,
                      int64_t stride) {
    const int64_t output = input / stride;
    return {.inputH = input,
            .inputW = input,
            .inputC = channels,
            .outputH = output,
            .outputW = output,
            .outputC = columns,
            .filterH = filter,
            .filterW = filter,
            .strideH = stride,
            .strideW = stride,
            .top = filter / 2,
            .left = filter / 2};
}

// Rows of a feature map whose every spatial position is taken alone.
GemmShape pixels(int64_t rows, int64_t channels, int64_t columns) {
    return {.inputW = rows, .inputC = channels, .outputW = rows, .outputC = columns};
}

GemmTiling cutOf(const GemmShape& shape, const GemmTraits& traits) {
    return tileGemm(shape, traits, shape.filterH * shape.filterW * shape.groupDepth());
}

// Tiles of 16 by 16, of which two by four are a unit's best.
GemmTraits tiles(int64_t threads) {
    return {.tileRows = 32,
            .tileColumns = 64,
            .smallTileRows = 16,
            .smallTileColumns = 32,
            .elementBytes = 1,
            .threads = static_cast<size_t>(threads)};
}

GemmTraits floats(int64_t threads) {
    return {.tileRows = 14, .tileColumns = 32, .threads = static_cast<size_t>(threads)};
}

int64_t partsOf(int64_t whole, int64_t part) {
    return (whole + part - 1) / part;
}

int64_t unitsOf(const GemmShape& shape, const GemmTiling& cut) {
    return shape.batches * partsOf(shape.outputH, cut.lines) * partsOf(shape.outputW, cut.rows) *
           shape.groups * partsOf(shape.groupColumns(), cut.columns);
}

const std::vector<GemmShape>& shapes() {
    static const std::vector<GemmShape> kShapes = {
            pixels(3136, 64, 256),           pixels(784, 512, 128),
            pixels(196, 256, 1024),          pixels(196, 1024, 512),
            pixels(49, 2048, 512),           pixels(49, 512, 2048),
            convolution(56, 64, 64, 3, 1),   convolution(14, 256, 256, 3, 1),
            convolution(7, 512, 512, 3, 1),  convolution(28, 256, 256, 3, 2),
            convolution(14, 512, 512, 3, 2), convolution(28, 512, 1024, 1, 2)};
    return kShapes;
}

TEST(GemmTiling, GivesEachThreadAUnit) {
    for (const int64_t threads : {2, 4, 8, 16}) {
        for (const GemmShape& shape : shapes()) {
            const GemmTiling cut = cutOf(shape, tiles(threads));
            EXPECT_GE(unitsOf(shape, cut), threads)
                    << threads << " threads, " << shape.outputW << " rows of " << shape.inputC
                    << " channels, " << shape.outputC << " columns";
        }
    }
}

TEST(GemmTiling, ReadsRowsOfTilesOnce) {
    for (const int64_t threads : {2, 4, 8, 16}) {
        EXPECT_EQ(cutOf(pixels(784, 512, 128), tiles(threads)).columns, 128) << threads;
        EXPECT_EQ(cutOf(pixels(784, 128, 512), tiles(threads)).columns, 512) << threads;
    }
    EXPECT_EQ(cutOf(pixels(196, 256, 1024), tiles(4)).columns, 1024);
    EXPECT_EQ(cutOf(convolution(28, 512, 1024, 1, 2), tiles(4)).columns, 1024);
}

TEST(GemmTiling, CutsRowsToOneTileBeforeColumns) {
    const GemmTiling cut = cutOf(pixels(196, 256, 1024), tiles(16));
    EXPECT_EQ(cut.rows, 16);
    EXPECT_LT(cut.columns, 1024);
    EXPECT_EQ(cut.columns % 64, 0);
    EXPECT_EQ(cutOf(convolution(28, 256, 256, 3, 2), tiles(16)).lines, 1);
}

TEST(GemmTiling, FillsTilesOfLinesButForAnEighth) {
    for (const int64_t threads : {4, 8, 16, 64}) {
        EXPECT_EQ(cutOf(convolution(14, 512, 512, 3, 2), tiles(threads)).lines, 2) << threads;
        EXPECT_GE(cutOf(convolution(14, 256, 256, 3, 1), tiles(threads)).lines, 2) << threads;
    }
}

TEST(GemmTiling, NarrowsColumnsWhereRowsAreTooFewForAllThreads) {
    const GemmShape few = convolution(7, 512, 512, 3, 1);
    EXPECT_EQ(cutOf(few, tiles(4)).columns, 64);
    EXPECT_EQ(cutOf(few, tiles(16)).columns, 32);
    EXPECT_EQ(cutOf(pixels(49, 2048, 512), tiles(16)).columns, 64);
    EXPECT_EQ(cutOf(pixels(49, 2048, 512), tiles(32)).columns, 32);
}

TEST(GemmTiling, CutsColumnsWhereWeightsAreByFarTheLargerMatrix) {
    const GemmTiling cut = cutOf(pixels(49, 512, 2048), floats(8));
    EXPECT_EQ(cut.rows, 49);
    EXPECT_LE(cut.columns, 2048 / 16);
    EXPECT_TRUE(cut.rowsFirst);
    EXPECT_FALSE(cutOf(pixels(3136, 64, 64), floats(8)).rowsFirst);
}

TEST(GemmTiling, AsksForTheTimeWithinSomeMilliseconds) {
    constexpr int64_t kMost = int64_t{1} << 26;
    const GemmShape shape = pixels(int64_t{1} << 20, 4096, 4096);
    for (const int64_t threads : {1, 8}) {
        for (const GemmTraits& traits : {tiles(threads), floats(threads)}) {
            const GemmTiling cut = cutOf(shape, traits);
            EXPECT_LE(cut.lines * cut.rows * cut.columns * 4096, kMost) << threads;
        }
    }
}

}  // namespace
}  // namespace halyard::engine::cpu
