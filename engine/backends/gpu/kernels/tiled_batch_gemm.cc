// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/kernels/tiled_batch_gemm.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

#include "engine/backends/gpu/kernels/epilogue.h"
#include "engine/backends/gpu/kernels/map.h"
#include "engine/backends/gpu/kernels/tile_accumulate_text.h"
#include "engine/backends/gpu/kernels/tiled_batch_gemm_text.h"
#include "engine/backends/gpu/kernels/weighted_sum.h"
#include "engine/backends/gpu/vendor/matrix_unit.h"
#include "engine/numerics/elements.h"

namespace halyard::engine::gpu {
namespace {

// Of a group, whatever its tile.
constexpr int32_t kWorkItems = 256;

constexpr KernelFamily kTiledBatchGemm = {
        .kernel = "tiled_batch_gemm",
        .usesMatrixUnit = true,
        .shared = {kMapNumbersText, kEpilogueText, kBatchGemmText, kVectorLoadText, kTileSumsText},
        .text = kTiledBatchGemmText,
        .local = {kWorkItems, 1, 1}};

constexpr std::array kForms = {
        BatchGemmTile{64, 64, 1, 32, 4, 4}, BatchGemmTile{64, 32, 2, 32, 4, 4},
        BatchGemmTile{32, 32, 4, 64, 4, 4}, BatchGemmTile{32, 16, 8, 64, 4, 4},
        BatchGemmTile{16, 32, 8, 64, 4, 4}, BatchGemmTile{16, 16, 8, 64, 2, 4},
};
constexpr std::array kMatrixForms = {
        BatchGemmTile{64, 64, 1, 32, 2, 2}, BatchGemmTile{64, 32, 1, 32, 1, 2},
        BatchGemmTile{32, 32, 2, 64, 1, 2}, BatchGemmTile{32, 16, 4, 64, 1, 2},
        BatchGemmTile{16, 32, 4, 64, 1, 2}, BatchGemmTile{16, 16, 8, 64, 1, 2},
};

int64_t partsOfAll(int64_t all, int64_t each) {
    return (all + each - 1) / each;
}

int32_t buffersOf(const BatchGemmTile& form, size_t localBytes) {
    return sizeof(uint32_t) * static_cast<size_t>(2 * (form.rows + form.columns) *
                                                  (form.words + 4)) +
                                   sizeof(uint32_t) *
                                           static_cast<size_t>(form.rows + form.columns) <=
                           localBytes
                   ? 2
                   : 1;
}

bool fits(const BatchGemmTile& form, size_t localBytes) {
    const int32_t tile = (form.rows + form.columns) * (form.words + 4);
    const int32_t sums = form.groupSplitK * form.rows * (form.columns + 8);
    return static_cast<size_t>(std::max(tile, sums) + form.rows + form.columns) *
                   sizeof(uint32_t) <=
           localBytes;
}

// Whether the device's own products of matrices do.
bool usesMatrix(const StepPlan& step, DataType type) {
    const MatrixFeatures& has = step.matrixFeatures();
    if (type == DataType::FLOAT16) {
        return has.float16Mma;
    }
    if (type == DataType::FLOAT32) {
        return has.tf32Mma && step.mayRound();
    }
    return has.int8Mma;
}

// Rows that are shorter than a form's take fewer words at a time.
BatchGemmTile fitted(BatchGemmTile form, const VectorLoad& vectors, bool isMatrix, int32_t inner) {
    const int32_t least = (isMatrix ? 8 : 4) * form.groupSplitK;
    const int64_t rowWords = partsOfAll(inner, vectors.pack);
    form.words = std::min(form.words, kWorkItems * vectors.elements / vectors.pack);
    while (form.words > least && form.words / 2 >= rowWords) {
        form.words /= 2;
    }
    return form;
}

int64_t groupsOf(const BatchGemmTile& form, const BatchGemm& product) {
    return partsOfAll(product.numbers.rows, form.rows) *
           partsOfAll(product.numbers.columns, form.columns) * product.matrices;
}

// As tile_choice.cc has them.
constexpr double kLatency = 700;
constexpr double kEnds = 1500;
constexpr double kWordsPerCycle = 64;
constexpr double kMatrixWordsPerCycle = 256;
constexpr int64_t kResidentWorkGroups = 4;

double cyclesOf(const BatchGemmForm& choice, const BatchGemm& product, uint32_t computeUnits) {
    const BatchGemmTile& form = choice.form;
    const auto words = static_cast<double>(partsOfAll(product.numbers.inner, choice.vectors.pack));
    const double rounds = std::ceil(words / form.words);
    const double tile = static_cast<double>(form.rows) * form.columns;
    const int64_t each = partsOfAll(groupsOf(form, product), computeUnits);
    const auto waves = static_cast<double>(partsOfAll(each, kResidentWorkGroups));
    const double compute =
            rounds * form.words * tile / (choice.isMatrix ? kMatrixWordsPerCycle : kWordsPerCycle);
    return waves * (rounds * kLatency + kEnds + tile / kWorkItems * 20) +
           static_cast<double>(each) * compute;
}

// The longest vectors that lie in rows of both factors that have any.
VectorLoad vectorsOf(const BatchGemm& product, const BatchGemmForm& choice, DataType type) {
    const GemmNumbers& n = product.numbers;
    int32_t alike = 0;  // a divisor of it divides all
    if (!choice.aAcross) {
        alike = std::gcd(alike, std::gcd(n.inner, std::gcd(n.aRow, product.aStarts)));
    }
    if (!choice.bAcross) {
        alike = std::gcd(alike, std::gcd(n.inner, std::gcd(n.bColumn, product.bStarts)));
    }
    return vectorLoadFor(type, alike, choice.isMatrix);
}

}  // namespace

std::string BatchGemmForm::name() const {
    std::string name = isMatrix ? "matrix" : "tile";
    for (const int32_t number : {form.rows, form.columns, form.groupSplitK, form.words}) {
        name.append(" ").append(std::to_string(number));
    }
    return name;
}

std::vector<BatchGemmForm> batchGemmForms(const StepPlan& step, const BatchGemm& product) {
    const TensorType& a = step.input(0, step.leader());
    const GemmNumbers& n = product.numbers;
    const bool hasTiles = isFloat(a.type) || a.type == DataType::QUANT8_ASYMM ||
                          a.type == DataType::QUANT8_ASYMM_SIGNED;
    std::vector<BatchGemmForm> choices;
    if (!hasTiles || a.type != step.input(1, step.leader()).type || n.inner == 0) {
        return choices;
    }
    BatchGemmForm choice = {.isMatrix = usesMatrix(step, a.type),
                            .aAcross = n.aInner != 1,
                            .bAcross = n.bInner != 1};
    choice.vectors = vectorsOf(product, choice, a.type);
    const std::span<const BatchGemmTile> forms =
            choice.isMatrix ? std::span<const BatchGemmTile>(kMatrixForms) : kForms;
    for (const BatchGemmTile& form : forms) {
        choice.form = fitted(form, choice.vectors, choice.isMatrix, n.inner);
        if (fits(choice.form, step.facts().localBytes)) {
            choice.cycles = cyclesOf(choice, product, step.facts().computeUnits);
            choices.push_back(choice);
        }
    }
    std::ranges::stable_sort(choices, {}, &BatchGemmForm::cycles);
    return choices;
}

Status addTiledBatchGemm(StepPlan& step, const BatchGemm& product, const BatchGemmForm& choice) {
    const BatchGemmTile& form = choice.form;
    std::string defines = product.defines + define("TM", form.rows) + define("TN", form.columns) +
                          define("GROUP_SPLIT_K", form.groupSplitK) + define("ROW", form.words) +
                          define("PIPELINE_STAGES", buffersOf(form, step.facts().localBytes));
    if (choice.isMatrix) {
        defines += define("MATRIX") + define("WARP_TILES_M", form.itemRows) +
                   define("WARP_TILES_N", form.itemColumns);
    } else {
        defines += define("RM", form.itemRows) + define("RN", form.itemColumns);
    }
    defines += choice.aAcross ? define("A_ACROSS") : "";
    defines += choice.bAcross ? define("B_ACROSS") : "";
    defines += choice.vectors.defines() + step.matrixFeatures().defines();
    HALYARD_ASSIGN_OR_RETURN(Launch* const launch, step.launch(kTiledBatchGemm, defines));
    product.addArguments(*launch);
    launch->workItems = {
            static_cast<size_t>(partsOfAll(product.numbers.columns, form.columns) * kWorkItems),
            static_cast<size_t>(partsOfAll(product.numbers.rows, form.rows)),
            static_cast<size_t>(product.matrices)};
    launch->work = static_cast<uint64_t>(groupsOf(form, product)) *
                   static_cast<uint64_t>(form.rows) * static_cast<uint64_t>(form.columns) *
                   (static_cast<uint64_t>(product.numbers.inner) + 4);
    return {};
}

}  // namespace halyard::engine::gpu
