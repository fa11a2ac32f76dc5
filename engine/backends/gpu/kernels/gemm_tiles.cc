// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/kernels/gemm_tiles.h"

#include <array>

namespace halyard::engine::gpu {
namespace {

constexpr std::array kTiles = {
        GemmTile{64, 64, 1, 32, 4, 4}, GemmTile{64, 32, 2, 32, 4, 4},
        GemmTile{32, 32, 4, 64, 4, 4}, GemmTile{32, 16, 8, 64, 4, 4},
        GemmTile{16, 32, 8, 64, 4, 4}, GemmTile{16, 16, 8, 128, 2, 4},
};
constexpr std::array kAsyncTiles = {
        GemmTile{64, 64, 1, 16, 4, 4}, GemmTile{64, 32, 2, 32, 4, 4}, GemmTile{32, 32, 4, 32, 4, 4},
        GemmTile{32, 16, 8, 64, 4, 4}, GemmTile{16, 32, 8, 64, 4, 4}, GemmTile{16, 16, 8, 64, 2, 4},
};
// Few, as each is a program of its own.
constexpr std::array kMatrixTiles = {
        GemmTile{64, 64, 2, 32, 2, 4},
        GemmTile{32, 64, 4, 32, 2, 4},
        GemmTile{32, 32, 4, 32, 2, 2},
        GemmTile{16, 16, 8, 64, 1, 2},
};
constexpr std::array kDepthwiseTiles = {
        GemmTile{128, 32, 1, 32, 4, 4},
        GemmTile{96, 32, 1, 32, 3, 4},
        GemmTile{64, 32, 2, 32, 4, 4},
        GemmTile{96, 16, 2, 32, 3, 4},
};
constexpr std::array kAsyncDepthwiseTiles = {
        GemmTile{128, 32, 1, 16, 4, 4},
        GemmTile{96, 32, 1, 16, 3, 4},
        GemmTile{64, 32, 2, 32, 4, 4},
        GemmTile{96, 16, 2, 16, 3, 4},
};
constexpr std::array kMatrixDepthwiseTiles = {
        GemmTile{128, 32, 1, 32, 2, 2},
        GemmTile{96, 32, 1, 32, 3, 1},
        GemmTile{64, 32, 1, 32, 1, 2},
        GemmTile{96, 16, 2, 32, 3, 1},
};
constexpr std::array kPooledTiles = {
        GemmTile{128, 32, 1, 32, 4, 4}, GemmTile{128, 16, 2, 32, 4, 4},
        GemmTile{64, 64, 1, 32, 4, 4},  GemmTile{64, 32, 2, 32, 4, 4},
        GemmTile{64, 16, 4, 32, 4, 4},  GemmTile{32, 32, 4, 64, 4, 4},
        GemmTile{32, 16, 8, 64, 4, 4},  GemmTile{16, 32, 8, 64, 4, 4},
        GemmTile{16, 16, 8, 128, 2, 4},
};
constexpr std::array kAsyncPooledTiles = {
        GemmTile{128, 32, 1, 16, 4, 4}, GemmTile{128, 16, 2, 32, 4, 4},
        GemmTile{64, 64, 1, 16, 4, 4},  GemmTile{64, 32, 2, 32, 4, 4},
        GemmTile{64, 16, 4, 32, 4, 4},  GemmTile{32, 32, 4, 32, 4, 4},
        GemmTile{32, 16, 8, 64, 4, 4},  GemmTile{16, 32, 8, 64, 4, 4},
        GemmTile{16, 16, 8, 64, 2, 4},
};
constexpr std::array kMatrixPooledTiles = {
        GemmTile{128, 32, 1, 32, 2, 2}, GemmTile{128, 16, 2, 32, 2, 2},
        GemmTile{64, 64, 2, 32, 2, 4},  GemmTile{64, 32, 2, 32, 2, 2},
        GemmTile{64, 16, 4, 32, 2, 2},  GemmTile{32, 32, 4, 32, 2, 2},
        GemmTile{32, 16, 4, 32, 1, 2},  GemmTile{16, 16, 8, 64, 1, 2},
};

constexpr std::array kBatchTiles = {
        GemmTile{64, 64, 1, 32, 4, 4}, GemmTile{64, 32, 2, 32, 4, 4}, GemmTile{32, 32, 4, 64, 4, 4},
        GemmTile{32, 16, 8, 64, 4, 4}, GemmTile{16, 32, 8, 64, 4, 4}, GemmTile{16, 16, 8, 64, 2, 4},
};
constexpr std::array kMatrixBatchTiles = {
        GemmTile{64, 64, 1, 32, 2, 2}, GemmTile{64, 32, 1, 32, 1, 2}, GemmTile{32, 32, 2, 64, 1, 2},
        GemmTile{32, 16, 4, 64, 1, 2}, GemmTile{16, 32, 4, 64, 1, 2}, GemmTile{16, 16, 8, 64, 1, 2},
};

constexpr GemmTiles kAll = {.plain = kTiles, .async = kAsyncTiles, .matrix = kMatrixTiles};
constexpr GemmTiles kAllDepthwise = {
        .plain = kDepthwiseTiles, .async = kAsyncDepthwiseTiles, .matrix = kMatrixDepthwiseTiles};
constexpr GemmTiles kAllPooled = {
        .plain = kPooledTiles, .async = kAsyncPooledTiles, .matrix = kMatrixPooledTiles};
// Batch GEMM has no asynchronous copies: its operands lie by strides.
constexpr GemmTiles kAllBatch = {
        .plain = kBatchTiles, .async = kBatchTiles, .matrix = kMatrixBatchTiles};

}  // namespace

const GemmTiles& gemmTiles() {
    return kAll;
}
const GemmTiles& pointwiseDepthwiseTiles() {
    return kAllDepthwise;
}
const GemmTiles& pooledGemmTiles() {
    return kAllPooled;
}
const GemmTiles& batchGemmTiles() {
    return kAllBatch;
}

}  // namespace halyard::engine::gpu
