// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/kernels/tiled_batch_gemm.h"

#include <cstddef>
#include <cstdint>
#include <numeric>

#include "engine/backends/gpu/kernels/epilogue.h"
#include "engine/backends/gpu/kernels/gemm_needs.h"
#include "engine/backends/gpu/kernels/map.h"
#include "engine/backends/gpu/kernels/multiply_accumulate.h"
#include "engine/backends/gpu/kernels/tile_accumulate_text.h"
#include "engine/backends/gpu/kernels/tiled_batch_gemm_text.h"

namespace halyard::engine::gpu {
namespace {

constexpr KernelFamily kTiledBatchGemm = {.kernel = "tiled_batch_gemm",
                                          .usesMatrixUnit = true,
                                          .shared = {kMapNumbersText, kEpilogueText, kBatchGemmText,
                                                     kVectorLoadText, kTileAccumulateText},
                                          .text = kTiledBatchGemmText,
                                          .local = {kTileWorkItems, 1, 1}};

// A divisor of all that vectors along K have to be aligned to; 0: there are none.
int32_t vectorDivisorOf(const BatchGemm& gemm) {
    const GemmNumbers& n = gemm.numbers;
    int32_t divisor = 0;
    if (n.aInner == 1) {
        divisor = std::gcd(divisor, std::gcd(n.depth, std::gcd(n.aRow, gemm.aStarts)));
    }
    if (n.bInner == 1) {
        divisor = std::gcd(divisor, std::gcd(n.depth, std::gcd(n.bColumn, gemm.bStarts)));
    }
    return divisor;
}

}  // namespace

GemmChoices batchGemmChoices(const StepPlan& step, const BatchGemm& gemm) {
    const size_t leader = step.leader();
    const GemmNumbers& n = gemm.numbers;
    // Operands of two types are read element by element.
    const bool isAlike = step.input(0, leader).type == step.input(1, leader).type;
    return chooseBatchGemm(gemmNeedsOf(step, leader), {.rows = n.rows,
                                                       .columns = n.columns,
                                                       .depth = isAlike ? n.depth : 0,
                                                       .batch = gemm.batch,
                                                       .vectorDivisor = vectorDivisorOf(gemm)});
}

Status addTiledBatchGemm(StepPlan& step, const BatchGemm& gemm, const GemmForm& form) {
    const GemmTile& tile = form.tile;
    std::string defines = gemm.defines + define("TM", tile.rows) + define("TN", tile.columns) +
                          define("GROUP_SPLIT_K", tile.groupSplitK) + define("ROW", tile.words) +
                          define("PIPELINE_STAGES", form.pipelineStages);
    if (form.isMatrix) {
        defines += define("MATRIX") + define("WARP_TILES_M", tile.itemRows) +
                   define("WARP_TILES_N", tile.itemColumns);
    } else {
        defines += define("RM", tile.itemRows) + define("RN", tile.itemColumns);
    }
    defines += gemm.numbers.aInner != 1 ? define("A_ACROSS") : "";
    defines += gemm.numbers.bInner != 1 ? define("B_ACROSS") : "";
    defines += form.vectors.defines() + step.matrixFeatures().defines();
    HALYARD_ASSIGN_OR_RETURN(Launch* const launch, step.launch(kTiledBatchGemm, defines));
    gemm.addArguments(*launch);
    launch->workItems = {
            static_cast<size_t>(partsOf(gemm.numbers.columns, tile.columns) * kTileWorkItems),
            static_cast<size_t>(partsOf(gemm.numbers.rows, tile.rows)),
            static_cast<size_t>(gemm.batch)};
    launch->work = static_cast<uint64_t>(form.workGroups) * static_cast<uint64_t>(tile.rows) *
                   static_cast<uint64_t>(tile.columns) *
                   (static_cast<uint64_t>(gemm.numbers.depth) + 4);
    return {};
}

}  // namespace halyard::engine::gpu
