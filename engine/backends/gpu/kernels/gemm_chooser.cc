// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/kernels/gemm_chooser.h"

#include <array>
#include <span>

#include "engine/backends/gpu/vendor/matrix_unit.h"

namespace halyard::engine::gpu {
namespace {

constexpr std::array kForms = {
        GemmTile{64, 64, 1, 32, 4, 4}, GemmTile{64, 32, 2, 32, 4, 4},
        GemmTile{32, 32, 4, 64, 4, 4}, GemmTile{32, 16, 8, 64, 4, 4},
        GemmTile{16, 32, 8, 64, 4, 4}, GemmTile{16, 16, 8, 128, 2, 4},
};
// The same where rows go to local memory by themselves: shorter, with more of them on their way.
constexpr std::array kAsyncForms = {
        GemmTile{64, 64, 1, 16, 4, 4}, GemmTile{64, 32, 2, 32, 4, 4}, GemmTile{32, 32, 4, 32, 4, 4},
        GemmTile{32, 16, 8, 64, 4, 4}, GemmTile{16, 32, 8, 64, 4, 4}, GemmTile{16, 16, 8, 64, 2, 4},
};
// Few, as each is a program of its own.
constexpr std::array kMatrixForms = {
        GemmTile{64, 64, 2, 32, 2, 4},
        GemmTile{32, 64, 4, 32, 2, 4},
        GemmTile{32, 32, 4, 32, 2, 2},
        GemmTile{16, 16, 8, 64, 1, 2},
};
// Behind these come depthwise convolutions.
constexpr std::array kWindowedForms = {
        GemmTile{128, 32, 1, 32, 4, 4},
        GemmTile{96, 32, 1, 32, 3, 4},
        GemmTile{64, 32, 2, 32, 4, 4},
        GemmTile{96, 16, 2, 32, 3, 4},
};
constexpr std::array kAsyncWindowedForms = {
        GemmTile{128, 32, 1, 16, 4, 4},
        GemmTile{96, 32, 1, 16, 3, 4},
        GemmTile{64, 32, 2, 32, 4, 4},
        GemmTile{96, 16, 2, 16, 3, 4},
};
constexpr std::array kMatrixWindowedForms = {
        GemmTile{128, 32, 1, 32, 2, 2},
        GemmTile{96, 32, 1, 32, 3, 1},
        GemmTile{64, 32, 1, 32, 1, 2},
        GemmTile{96, 16, 2, 32, 3, 1},
};
// A tile of these holds a picture: with as few channels as leave groups enough.
constexpr std::array kPooledForms = {
        GemmTile{128, 32, 1, 32, 4, 4}, GemmTile{128, 16, 2, 32, 4, 4},
        GemmTile{64, 64, 1, 32, 4, 4},  GemmTile{64, 32, 2, 32, 4, 4},
        GemmTile{64, 16, 4, 32, 4, 4},  GemmTile{32, 32, 4, 64, 4, 4},
        GemmTile{32, 16, 8, 64, 4, 4},  GemmTile{16, 32, 8, 64, 4, 4},
        GemmTile{16, 16, 8, 128, 2, 4},
};
constexpr std::array kAsyncPooledForms = {
        GemmTile{128, 32, 1, 16, 4, 4}, GemmTile{128, 16, 2, 32, 4, 4},
        GemmTile{64, 64, 1, 16, 4, 4},  GemmTile{64, 32, 2, 32, 4, 4},
        GemmTile{64, 16, 4, 32, 4, 4},  GemmTile{32, 32, 4, 32, 4, 4},
        GemmTile{32, 16, 8, 64, 4, 4},  GemmTile{16, 32, 8, 64, 4, 4},
        GemmTile{16, 16, 8, 64, 2, 4},
};
constexpr std::array kMatrixPooledForms = {
        GemmTile{128, 32, 1, 32, 2, 2}, GemmTile{128, 16, 2, 32, 2, 2},
        GemmTile{64, 64, 2, 32, 2, 4},  GemmTile{64, 32, 2, 32, 2, 2},
        GemmTile{64, 16, 4, 32, 2, 2},  GemmTile{32, 32, 4, 32, 2, 2},
        GemmTile{32, 16, 4, 32, 1, 2},  GemmTile{16, 16, 8, 64, 1, 2},
};

// By what brings rows and multiplies them.
struct Forms {
    std::span<const GemmTile> any;
    std::span<const GemmTile> async;
    std::span<const GemmTile> ofMatrices;
};
constexpr Forms kProductForms = {.any = kForms, .async = kAsyncForms, .ofMatrices = kMatrixForms};
constexpr Forms kExpansionForms = {
        .any = kWindowedForms, .async = kAsyncWindowedForms, .ofMatrices = kMatrixWindowedForms};
constexpr Forms kPoolingForms = {
        .any = kPooledForms, .async = kAsyncPooledForms, .ofMatrices = kMatrixPooledForms};

}  // namespace

std::string GemmForm::defines(const StepPlan& step, const Geometry& geometry) const {
    std::string text =
            define("TM", form.positions) + define("TN", form.channels) +
            define("GROUP_SPLIT_K", form.groupSplitK) + define("ROW", form.words) +
            define("PIPELINE_STAGES", form.pipelineStages(step.facts().localBytes, asyncCopy));
    text += asyncCopy ? define("ASYNC_COPY") : "";
    text += splitK > 1 ? define("SPLIT_K") : "";
    if (isMatrix) {
        text += define("MATRIX") + define("WARP_TILES_M", form.itemRows) +
                define("WARP_TILES_N", form.itemColumns);
    } else {
        text += define("RM", form.itemRows) + define("RN", form.itemColumns);
    }
    return text + vectors.defines() +
           (geometry.isPointwise() && !vectors.gathers ? define("POINTWISE") : "") +
           step.matrixFeatures().defines();
}

std::string GemmForm::name() const {
    std::string name = isMatrix ? "matrix" : "tile";
    for (const int32_t number : {form.positions, form.channels, form.groupSplitK, form.words}) {
        name.append(" ").append(std::to_string(number));
    }
    name.append(splitK > 1 ? " by " + std::to_string(splitK) : "");
    return name;
}

namespace {

// Whether the device's own products of matrices do for the node.
bool usesMatrix(const GemmNeeds& needs) {
    const MatrixFeatures& has = needs.matrixFeatures;
    if (needs.x == DataType::FLOAT16) {
        return has.float16Mma;
    }
    if (needs.x == DataType::FLOAT32) {
        return has.tf32Mma && needs.mayRound;
    }
    return has.int8Mma;
}

// Rows that are shorter than a form's take fewer words at a time. Not so where words that are not
// there take next to nothing: fewer programs are then built.
GemmTile fitted(GemmTile form, const VectorLoad& vectors, bool isMatrix, int64_t words) {
    const int32_t least = (isMatrix ? 8 : 4) * form.groupSplitK;
    form.words = std::min(form.words, kTileWorkItems * vectors.elements / vectors.pack);
    while ((!isMatrix || vectors.gathers) && form.words > least && form.words / 2 >= words) {
        form.words /= 2;
    }
    return form;
}

// What was seen on an H100, and does for others: how long memory takes to answer, what a group
// needs to begin and to end, and products of words in a cycle.
constexpr double kLatency = 700;
constexpr double kStagesAhead = 3;  // where copies are on their way while others are at work
constexpr double kEnds = 1500;
constexpr double kWordsPerCycle = 64;
constexpr int64_t kResidentWorkGroups = 4;
// The same of the device's own products, which wait for their rows alone: bytes of these in a
// cycle, what a round and a row of sums take besides, and what it takes that groups share a tile.
constexpr double kMatrixEnds = 5400;
constexpr double kBytesPerCycle = 28;
constexpr double kRoundCycles = 105;
constexpr double kSumsCycles = 91;
constexpr double kSplitKCycles = 4500;
constexpr double kSplitKBytesPerCycle = 30;
// What another launch takes, though it does next to nothing, and a group's means of its tile.
constexpr double kLaunchCycles = 3500;
constexpr double kPoolingCycles = 300;
// Groups that share a tile.
constexpr int64_t kMaxSplitK = 12;
constexpr int64_t kMinRoundsOfSplitK = 2;

double cyclesOf(const GemmForm& choice, const Geometry& geometry, uint32_t computeUnits) {
    const GemmTile& form = choice.form;
    const auto rounds = static_cast<double>(
            partsOf(partsOf(choice.words(geometry), form.words), choice.splitK));
    const double tile = static_cast<double>(form.positions) * form.channels;
    const int64_t each = partsOf(choice.workGroups * choice.splitK, computeUnits);
    const auto waves = static_cast<double>(partsOf(each, kResidentWorkGroups));
    const double shares = choice.splitK == 1
                                  ? 0
                                  : kSplitKCycles + choice.splitK * tile * 4 / kSplitKBytesPerCycle;
    if (!choice.isMatrix) {
        const double compute = rounds * form.words * tile / kWordsPerCycle;
        const double waits = choice.asyncCopy ? 1 + (rounds - 1) / kStagesAhead : rounds;
        return waves * (waits * kLatency + kEnds + tile / kTileWorkItems * 20) + shares +
               static_cast<double>(each) * compute;
    }
    const double bytes = static_cast<double>(form.positions + form.channels) * form.words * 4;
    return waves * kMatrixEnds + shares +
           static_cast<double>(each) * (rounds * (bytes / kBytesPerCycle + kRoundCycles) +
                                        tile / kTileWorkItems * kSumsCycles);
}

// Behind the choices the same with as many groups for a tile as the device has room for, where that
// is more than one.
void addSplitK(std::vector<GemmForm>& choices, const Geometry& geometry, uint32_t computeUnits) {
    const size_t count = choices.size();
    for (size_t i = 0; i < count; ++i) {
        GemmForm split = choices[i];
        if (!split.asyncCopy || split.workGroups < 1 || split.workGroups > int64_t{kCounters}) {
            continue;
        }
        const int64_t rounds = partsOf(split.words(geometry), split.form.words);
        const int64_t most = std::min(
                {computeUnits / split.workGroups, kMaxSplitK, rounds / kMinRoundsOfSplitK});
        if (most < 2) {
            continue;
        }
        // None is left with nothing.
        split.splitK = static_cast<int32_t>(partsOf(rounds, partsOf(rounds, most)));
        split.cycles = cyclesOf(split, geometry, computeUnits);
        choices.push_back(split);
    }
}

bool fits(const GemmForm& choice, const DeviceFacts& facts) {
    return choice.form.localBytes(choice.asyncCopy ? 2 : 1) <= facts.localBytes;
}

// Those of the forms that `complete` makes a choice of, the best first.
template <typename Complete>
std::vector<GemmForm> choicesOf(const GemmNeeds& needs, const Forms& forms,
                                const Geometry& geometry, Complete complete) {
    const bool isMatrix = usesMatrix(needs);
    VectorLoad vectors = vectorLoadFor(needs.x, geometry.groupDepth, isMatrix);
    if (vectors.elements == 1) {
        vectors.elements = vectors.pack;
        vectors.gathers = true;
    }
    std::vector<GemmForm> choices;
    const bool asyncCopy = isMatrix
                                   ? !vectors.gathers || vectors.pack == 1
                                   : needs.matrixFeatures.asyncCopy && needs.x == DataType::FLOAT32;
    for (const GemmTile& form : isMatrix ? forms.ofMatrices : asyncCopy ? forms.async : forms.any) {
        GemmForm choice = {.form = fitted(form, vectors, isMatrix, rowWords(geometry, vectors)),
                           .vectors = vectors,
                           .isMatrix = isMatrix,
                           .asyncCopy = asyncCopy};
        if (fits(choice, needs.facts) && complete(choice)) {
            choice.cycles += cyclesOf(choice, geometry, needs.facts.computeUnits);
            choices.push_back(choice);
        }
    }
    std::ranges::stable_sort(choices, {}, &GemmForm::cycles);
    return choices;
}

// Tiles of the depthwise convolution's output that make the least work, of those whose pixels of x
// fit. False where none does.
bool layTiles(GemmForm& choice, const Geometry& geometry, const Geometry& window) {
    const int64_t batches = int64_t{window.positions} / window.outputH / window.outputW;
    const auto halo = [](int32_t tile, int32_t stride, int32_t filter, int32_t dilation) {
        return (tile - 1) * stride + (filter - 1) * dilation + 1;
    };
    int64_t fewest = 0;
    for (int32_t h = 1; h <= window.outputH; ++h) {
        const int32_t haloH = halo(h, window.strideH, window.filterH, window.dilationH);
        const int32_t mostW = choice.form.positions / haloH;
        const int32_t reach = (window.filterW - 1) * window.dilationW + 1;
        if (mostW < reach) {
            break;
        }
        const int32_t w = std::min((mostW - reach) / window.strideW + 1, window.outputW);
        const int64_t tiles = partsOf(window.outputH, h) * partsOf(window.outputW, w);
        if (fewest != 0 && tiles >= fewest) {
            continue;
        }
        fewest = tiles;
        // Tiles of one size leave the least at the edges.
        const auto tilesH = static_cast<int32_t>(partsOf(window.outputH, h));
        const auto tilesW = static_cast<int32_t>(partsOf(window.outputW, w));
        const auto evenH = static_cast<int32_t>(partsOf(window.outputH, tilesH));
        const auto evenW = static_cast<int32_t>(partsOf(window.outputW, tilesW));
        choice.window = {.strideH = window.strideH,
                         .strideW = window.strideW,
                         .top = window.top,
                         .left = window.left,
                         .dilationH = window.dilationH,
                         .dilationW = window.dilationW,
                         .outputH = window.outputH,
                         .outputW = window.outputW,
                         .tileH = evenH,
                         .tileW = evenW,
                         .tilesH = tilesH,
                         .tilesW = tilesW,
                         .haloH = halo(evenH, window.strideH, window.filterH, window.dilationH),
                         .haloW = halo(evenW, window.strideW, window.filterW, window.dilationW)};
    }
    choice.workGroups = batches * fewest * partsOf(geometry.channels, choice.form.channels);
    // Each item of the window's.
    choice.cycles = static_cast<double>(choice.window.tileH) * choice.window.tileW *
                    choice.form.channels / kTileWorkItems * window.filterH * window.filterW * 10;
    return fewest != 0;
}

}  // namespace

GemmNeeds gemmNeedsOf(const StepPlan& step) {
    return {.x = step.input(0).type,
            .mayRound = step.mayRound(),
            .facts = step.facts(),
            .matrixFeatures = step.matrixFeatures()};
}

std::vector<GemmForm> gemmForms(const GemmNeeds& needs, const Geometry& geometry) {
    std::vector<GemmForm> choices = choicesOf(needs, kProductForms, geometry, [&](GemmForm& each) {
        each.workGroups = partsOf(geometry.positions, each.form.positions) *
                          partsOf(geometry.channelsPerGroup, each.form.channels) *
                          geometry.groups();
        return true;
    });
    addSplitK(choices, geometry, needs.facts.computeUnits);
    std::ranges::stable_sort(choices, {}, &GemmForm::cycles);
    return choices;
}

std::vector<GemmForm> pointwiseDepthwiseForms(const GemmNeeds& needs, const Geometry& geometry,
                                              const Geometry& window) {
    return choicesOf(needs, kExpansionForms, geometry,
                     [&](GemmForm& each) { return layTiles(each, geometry, window); });
}

std::vector<GemmForm> pooledGemmForms(const GemmNeeds& needs, const Geometry& geometry) {
    // Of the shortest tiles alone: in others the same channels have more rows of nothing.
    int64_t rows = std::ranges::min(kPooledForms, {}, &GemmTile::positions).positions;
    while (rows < geometry.positionsOfFeatureMap()) {
        rows *= 2;
    }
    std::vector<GemmForm> choices = choicesOf(needs, kPoolingForms, geometry, [&](GemmForm& each) {
        each.workGroups = geometry.featureMaps() *
                          partsOf(geometry.channelsPerGroup, each.form.channels) *
                          geometry.groups();
        return each.form.positions == rows;
    });
    addSplitK(choices, geometry, needs.facts.computeUnits);
    std::ranges::stable_sort(choices, {}, &GemmForm::cycles);
    return choices;
}

bool isProfitablePooledGemm(const GemmNeeds& needs, const Geometry& geometry) {
    const std::vector<GemmForm> apart = gemmForms(needs, geometry);
    const std::vector<GemmForm> pooled = pooledGemmForms(needs, geometry);
    // What a model has that goes without the device's instructions after all.
    const MatrixFeatures none;
    const GemmNeeds plain = {
            .x = needs.x, .mayRound = needs.mayRound, .facts = needs.facts, .matrixFeatures = none};
    return !apart.empty() && !pooled.empty() && !pooledGemmForms(plain, geometry).empty() &&
           pooled.front().cycles + kPoolingCycles < apart.front().cycles + kLaunchCycles;
}

bool isLegalPointwiseDepthwise(const Shape& filter, const Window2d& window) {
    const int64_t reachH = int64_t{filter[1] - 1} * window.dilationH + 1;
    const int64_t reachW = int64_t{filter[2] - 1} * window.dilationW + 1;
    // Of a tile of two pixels by two, at the least.
    return (reachH + window.strideH) * (reachW + window.strideW) <=
           std::ranges::min(kWindowedForms, {}, &GemmTile::positions).positions;
}

}  // namespace halyard::engine::gpu
