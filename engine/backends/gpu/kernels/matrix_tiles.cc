// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/kernels/matrix_tiles.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

#include "engine/backends/gpu/instructions.h"
#include "engine/backends/gpu/kernels/map.h"
#include "engine/backends/gpu/kernels/matrix_tiles_text.h"
#include "engine/backends/gpu/kernels/stages.h"
#include "engine/backends/gpu/kernels/tile_sums_text.h"
#include "engine/backends/gpu/kernels/weighted_sum.h"
#include "engine/numerics/elements.h"

namespace halyard::engine::gpu {
namespace {

// Of a group, whatever its tile.
constexpr int32_t kItems = 256;

constexpr KernelFamily kTiledMatrices = {
        .kernel = "multiply_matrices",
        .shared = {kMapNumbersText, kStagesText, kMatrixProductText, kVectorsText, kMatrixText,
                   kTileSumsText},
        .text = kMatrixTilesText,
        .local = {kItems, 1, 1}};

constexpr std::array kForms = {
        MatrixForm{64, 64, 1, 32, 4, 4}, MatrixForm{64, 32, 2, 32, 4, 4},
        MatrixForm{32, 32, 4, 64, 4, 4}, MatrixForm{32, 16, 8, 64, 4, 4},
        MatrixForm{16, 32, 8, 64, 4, 4}, MatrixForm{16, 16, 8, 64, 2, 4},
};
constexpr std::array kMatrixForms = {
        MatrixForm{64, 64, 1, 32, 2, 2}, MatrixForm{64, 32, 1, 32, 1, 2},
        MatrixForm{32, 32, 2, 64, 1, 2}, MatrixForm{32, 16, 4, 64, 1, 2},
        MatrixForm{16, 32, 4, 64, 1, 2}, MatrixForm{16, 16, 8, 64, 1, 2},
};

int64_t partsOfAll(int64_t all, int64_t each) {
    return (all + each - 1) / each;
}

int32_t buffersOf(const MatrixForm& form, size_t localBytes) {
    return sizeof(uint32_t) * static_cast<size_t>(2 * (form.rows + form.columns) *
                                                  (form.words + 4)) +
                                   sizeof(uint32_t) *
                                           static_cast<size_t>(form.rows + form.columns) <=
                           localBytes
                   ? 2
                   : 1;
}

bool fits(const MatrixForm& form, size_t localBytes) {
    const int32_t tile = (form.rows + form.columns) * (form.words + 4);
    const int32_t sums = form.slices * form.rows * (form.columns + 8);
    return static_cast<size_t>(std::max(tile, sums) + form.rows + form.columns) *
                   sizeof(uint32_t) <=
           localBytes;
}

// Whether the device's own products of matrices do.
bool usesMatrix(const StepPlan& step, DataType type) {
    const Instructions& has = step.instructions();
    if (type == DataType::FLOAT16) {
        return has.halfMma;
    }
    if (type == DataType::FLOAT32) {
        return has.tf32Mma && step.mayRound();
    }
    return has.int8Mma;
}

// Rows that are shorter than a form's take fewer words at a time.
MatrixForm fitted(MatrixForm form, const VectorForm& vectors, bool isMatrix, int32_t inner) {
    const int32_t least = (isMatrix ? 8 : 4) * form.slices;
    const int64_t rowWords = partsOfAll(inner, vectors.pack);
    form.words = std::min(form.words, kItems * vectors.elements / vectors.pack);
    while (form.words > least && form.words / 2 >= rowWords) {
        form.words /= 2;
    }
    return form;
}

int64_t groupsOf(const MatrixForm& form, const MatrixProduct& product) {
    return partsOfAll(product.numbers.rows, form.rows) *
           partsOfAll(product.numbers.columns, form.columns) * product.matrices;
}

// As tile_choice.cc has them.
constexpr double kLatency = 700;
constexpr double kEnds = 1500;
constexpr double kWordsPerCycle = 64;
constexpr double kMatrixWordsPerCycle = 256;
constexpr int64_t kResidentGroups = 4;

double cyclesOf(const MatrixChoice& choice, const MatrixProduct& product, uint32_t computeUnits) {
    const MatrixForm& form = choice.form;
    const auto words = static_cast<double>(partsOfAll(product.numbers.inner, choice.vectors.pack));
    const double rounds = std::ceil(words / form.words);
    const double tile = static_cast<double>(form.rows) * form.columns;
    const int64_t each = partsOfAll(groupsOf(form, product), computeUnits);
    const auto waves = static_cast<double>(partsOfAll(each, kResidentGroups));
    const double compute =
            rounds * form.words * tile / (choice.isMatrix ? kMatrixWordsPerCycle : kWordsPerCycle);
    return waves * (rounds * kLatency + kEnds + tile / kItems * 20) +
           static_cast<double>(each) * compute;
}

// The longest vectors that lie in rows of both factors that have any.
VectorForm vectorsOf(const MatrixProduct& product, const MatrixChoice& choice, DataType type) {
    const MatrixNumbers& n = product.numbers;
    int32_t alike = 0;  // a divisor of it divides all
    if (!choice.aAcross) {
        alike = std::gcd(alike, std::gcd(n.inner, std::gcd(n.aRow, product.aStarts)));
    }
    if (!choice.bAcross) {
        alike = std::gcd(alike, std::gcd(n.inner, std::gcd(n.bColumn, product.bStarts)));
    }
    return vectorFormFor(type, alike, choice.isMatrix);
}

}  // namespace

std::string MatrixChoice::name() const {
    std::string name = isMatrix ? "matrix" : "tile";
    for (const int32_t number : {form.rows, form.columns, form.slices, form.words}) {
        name.append(" ").append(std::to_string(number));
    }
    return name;
}

std::vector<MatrixChoice> matrixChoices(const StepPlan& step, const MatrixProduct& product) {
    const TensorType& a = step.input(0, step.leader());
    const MatrixNumbers& n = product.numbers;
    const bool hasTiles = isFloat(a.type) || a.type == DataType::QUANT8_ASYMM ||
                          a.type == DataType::QUANT8_ASYMM_SIGNED;
    std::vector<MatrixChoice> choices;
    if (!hasTiles || a.type != step.input(1, step.leader()).type || n.inner == 0) {
        return choices;
    }
    MatrixChoice choice = {.isMatrix = usesMatrix(step, a.type),
                           .aAcross = n.aInner != 1,
                           .bAcross = n.bInner != 1};
    choice.vectors = vectorsOf(product, choice, a.type);
    const std::span<const MatrixForm> forms =
            choice.isMatrix ? std::span<const MatrixForm>(kMatrixForms) : kForms;
    for (const MatrixForm& form : forms) {
        choice.form = fitted(form, choice.vectors, choice.isMatrix, n.inner);
        if (fits(choice.form, step.facts().localBytes)) {
            choice.cycles = cyclesOf(choice, product, step.facts().computeUnits);
            choices.push_back(choice);
        }
    }
    std::ranges::stable_sort(choices, {}, &MatrixChoice::cycles);
    return choices;
}

Status addTiledMatrices(StepPlan& step, const MatrixProduct& product, const MatrixChoice& choice) {
    const MatrixForm& form = choice.form;
    std::string defines = product.defines + define("TM", form.rows) + define("TN", form.columns) +
                          define("SLICES", form.slices) + define("ROW", form.words) +
                          define("BUFFERS", buffersOf(form, step.facts().localBytes));
    if (choice.isMatrix) {
        defines += define("MATRIX") + define("WARP_TILES_M", form.itemRows) +
                   define("WARP_TILES_N", form.itemColumns);
    } else {
        defines += define("RM", form.itemRows) + define("RN", form.itemColumns);
    }
    defines += choice.aAcross ? define("A_ACROSS") : "";
    defines += choice.bAcross ? define("B_ACROSS") : "";
    defines += choice.vectors.defines() + step.instructions().defines();
    HALYARD_ASSIGN_OR_RETURN(Launch* const launch, step.launch(kTiledMatrices, defines));
    product.addArguments(*launch);
    launch->items = {
            static_cast<size_t>(partsOfAll(product.numbers.columns, form.columns) * kItems),
            static_cast<size_t>(partsOfAll(product.numbers.rows, form.rows)),
            static_cast<size_t>(product.matrices)};
    launch->work = static_cast<uint64_t>(groupsOf(form, product)) *
                   static_cast<uint64_t>(form.rows) * static_cast<uint64_t>(form.columns) *
                   (static_cast<uint64_t>(product.numbers.inner) + 4);
    return {};
}

}  // namespace halyard::engine::gpu
