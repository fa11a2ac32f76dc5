// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/kernels/tile_choice.h"

#include <array>
#include <span>

#include "engine/backends/gpu/instructions.h"
#include "engine/backends/gpu/kernels/tiled_product.h"

namespace halyard::engine::gpu {
namespace {

constexpr std::array kForms = {
        TileForm{64, 64, 1, 32, 4, 4}, TileForm{64, 32, 2, 32, 4, 4},
        TileForm{32, 32, 4, 64, 4, 4}, TileForm{32, 16, 8, 64, 4, 4},
        TileForm{16, 32, 8, 64, 4, 4}, TileForm{16, 16, 8, 128, 2, 4},
};
// The same where rows go to local memory by themselves: shorter, with more of them on their way.
constexpr std::array kCopyingForms = {
        TileForm{64, 64, 1, 16, 4, 4}, TileForm{64, 32, 2, 32, 4, 4}, TileForm{32, 32, 4, 32, 4, 4},
        TileForm{32, 16, 8, 64, 4, 4}, TileForm{16, 32, 8, 64, 4, 4}, TileForm{16, 16, 8, 64, 2, 4},
};
// Few, as each is a program of its own.
constexpr std::array kMatrixForms = {
        TileForm{64, 64, 2, 32, 2, 4},
        TileForm{32, 64, 4, 32, 2, 4},
        TileForm{32, 32, 4, 32, 2, 2},
        TileForm{16, 16, 8, 64, 1, 2},
};
// Behind these come depthwise convolutions.
constexpr std::array kWindowedForms = {
        TileForm{128, 32, 1, 32, 4, 4},
        TileForm{96, 32, 1, 32, 3, 4},
        TileForm{64, 32, 2, 32, 4, 4},
        TileForm{96, 16, 2, 32, 3, 4},
};
constexpr std::array kCopyingWindowedForms = {
        TileForm{128, 32, 1, 16, 4, 4},
        TileForm{96, 32, 1, 16, 3, 4},
        TileForm{64, 32, 2, 32, 4, 4},
        TileForm{96, 16, 2, 16, 3, 4},
};
constexpr std::array kMatrixWindowedForms = {
        TileForm{128, 32, 1, 32, 2, 2},
        TileForm{96, 32, 1, 32, 3, 1},
        TileForm{64, 32, 1, 32, 1, 2},
        TileForm{96, 16, 2, 32, 3, 1},
};
// A tile of these holds a picture: with as few channels as leave groups enough.
constexpr std::array kPooledForms = {
        TileForm{128, 32, 1, 32, 4, 4}, TileForm{128, 16, 2, 32, 4, 4},
        TileForm{64, 64, 1, 32, 4, 4},  TileForm{64, 32, 2, 32, 4, 4},
        TileForm{64, 16, 4, 32, 4, 4},  TileForm{32, 32, 4, 64, 4, 4},
        TileForm{32, 16, 8, 64, 4, 4},  TileForm{16, 32, 8, 64, 4, 4},
        TileForm{16, 16, 8, 128, 2, 4},
};
constexpr std::array kCopyingPooledForms = {
        TileForm{128, 32, 1, 16, 4, 4}, TileForm{128, 16, 2, 32, 4, 4},
        TileForm{64, 64, 1, 16, 4, 4},  TileForm{64, 32, 2, 32, 4, 4},
        TileForm{64, 16, 4, 32, 4, 4},  TileForm{32, 32, 4, 32, 4, 4},
        TileForm{32, 16, 8, 64, 4, 4},  TileForm{16, 32, 8, 64, 4, 4},
        TileForm{16, 16, 8, 64, 2, 4},
};
constexpr std::array kMatrixPooledForms = {
        TileForm{128, 32, 1, 32, 2, 2}, TileForm{128, 16, 2, 32, 2, 2},
        TileForm{64, 64, 2, 32, 2, 4},  TileForm{64, 32, 2, 32, 2, 2},
        TileForm{64, 16, 4, 32, 2, 2},  TileForm{32, 32, 4, 32, 2, 2},
        TileForm{32, 16, 4, 32, 1, 2},  TileForm{16, 16, 8, 64, 1, 2},
};

// By what brings rows and multiplies them.
struct Forms {
    std::span<const TileForm> any;
    std::span<const TileForm> copying;
    std::span<const TileForm> ofMatrices;
};
constexpr Forms kProductForms = {
        .any = kForms, .copying = kCopyingForms, .ofMatrices = kMatrixForms};
constexpr Forms kExpansionForms = {.any = kWindowedForms,
                                   .copying = kCopyingWindowedForms,
                                   .ofMatrices = kMatrixWindowedForms};
constexpr Forms kPoolingForms = {
        .any = kPooledForms, .copying = kCopyingPooledForms, .ofMatrices = kMatrixPooledForms};

}  // namespace

std::string TileChoice::defines(const StepPlan& step, const Geometry& geometry) const {
    std::string text = define("TM", form.pixels) + define("TN", form.channels) +
                       define("SLICES", form.slices) + define("ROW", form.words) +
                       define("BUFFERS", form.buffers(step.facts().localBytes, copies));
    text += copies ? define("COPIES") : "";
    text += splits > 1 ? define("SPLITS") : "";
    if (isMatrix) {
        text += define("MATRIX") + define("WARP_TILES_M", form.itemPixels) +
                define("WARP_TILES_N", form.itemChannels);
    } else {
        text += define("RM", form.itemPixels) + define("RN", form.itemChannels);
    }
    return text + vectors.defines() +
           (geometry.isPointwise() && !vectors.gathers ? define("POINTWISE") : "") +
           step.instructions().defines();
}

std::string TileChoice::name() const {
    std::string name = isMatrix ? "matrix" : "tile";
    for (const int32_t number : {form.pixels, form.channels, form.slices, form.words}) {
        name.append(" ").append(std::to_string(number));
    }
    name.append(splits > 1 ? " by " + std::to_string(splits) : "");
    return name;
}

namespace {

// Whether the device's own products of matrices do for the node.
bool usesMatrix(const TileNeeds& needs) {
    const Instructions& has = needs.instructions;
    if (needs.x == DataType::FLOAT16) {
        return has.halfMma;
    }
    if (needs.x == DataType::FLOAT32) {
        return has.tf32Mma && needs.mayRound;
    }
    return has.int8Mma;
}

// Rows that are shorter than a form's take fewer words at a time. Not so where words that are not
// there take next to nothing: fewer programs are then built.
TileForm fitted(TileForm form, const VectorForm& vectors, bool isMatrix, int64_t words) {
    const int32_t least = (isMatrix ? 8 : 4) * form.slices;
    form.words = std::min(form.words, kTileItems * vectors.elements / vectors.pack);
    while ((!isMatrix || vectors.gathers) && form.words > least && form.words / 2 >= words) {
        form.words /= 2;
    }
    return form;
}

// What was seen on an H100, and does for others: how long memory takes to answer, what a group
// needs to begin and to end, and products of words in a cycle.
constexpr double kLatency = 700;
constexpr double kRoundsAhead = 3;  // where copies are on their way while others are at work
constexpr double kEnds = 1500;
constexpr double kWordsPerCycle = 64;
constexpr int64_t kResidentGroups = 4;
// The same of the device's own products, which wait for their rows alone: bytes of these in a
// cycle, what a round and a row of sums take besides, and what it takes that groups share a tile.
constexpr double kMatrixEnds = 5400;
constexpr double kBytesPerCycle = 28;
constexpr double kRoundCycles = 105;
constexpr double kSumsCycles = 91;
constexpr double kSplitCycles = 4500;
constexpr double kSplitBytesPerCycle = 30;
// What another launch takes, though it does next to nothing, and a group's means of its tile.
constexpr double kLaunchCycles = 3500;
constexpr double kPoolingCycles = 300;
// Groups that share a tile.
constexpr int64_t kMostSplits = 12;
constexpr int64_t kLeastRoundsOfSplit = 2;

double cyclesOf(const TileChoice& choice, const Geometry& geometry, uint32_t computeUnits) {
    const TileForm& form = choice.form;
    const auto rounds = static_cast<double>(
            partsOf(partsOf(choice.words(geometry), form.words), choice.splits));
    const double tile = static_cast<double>(form.pixels) * form.channels;
    const int64_t each = partsOf(choice.groups * choice.splits, computeUnits);
    const auto waves = static_cast<double>(partsOf(each, kResidentGroups));
    const double shares =
            choice.splits == 1 ? 0 : kSplitCycles + choice.splits * tile * 4 / kSplitBytesPerCycle;
    if (!choice.isMatrix) {
        const double compute = rounds * form.words * tile / kWordsPerCycle;
        const double waits = choice.copies ? 1 + (rounds - 1) / kRoundsAhead : rounds;
        return waves * (waits * kLatency + kEnds + tile / kTileItems * 20) + shares +
               static_cast<double>(each) * compute;
    }
    const double bytes = static_cast<double>(form.pixels + form.channels) * form.words * 4;
    return waves * kMatrixEnds + shares +
           static_cast<double>(each) * (rounds * (bytes / kBytesPerCycle + kRoundCycles) +
                                        tile / kTileItems * kSumsCycles);
}

// Behind the choices the same with as many groups for a tile as the device has room for, where that
// is more than one.
void addSplits(std::vector<TileChoice>& choices, const Geometry& geometry, uint32_t computeUnits) {
    const size_t count = choices.size();
    for (size_t i = 0; i < count; ++i) {
        TileChoice split = choices[i];
        if (!split.copies || split.groups < 1 || split.groups > int64_t{kCounters}) {
            continue;
        }
        const int64_t rounds = partsOf(split.words(geometry), split.form.words);
        const int64_t most =
                std::min({computeUnits / split.groups, kMostSplits, rounds / kLeastRoundsOfSplit});
        if (most < 2) {
            continue;
        }
        // None is left with nothing.
        split.splits = static_cast<int32_t>(partsOf(rounds, partsOf(rounds, most)));
        split.cycles = cyclesOf(split, geometry, computeUnits);
        choices.push_back(split);
    }
}

bool fits(const TileChoice& choice, const DeviceFacts& facts) {
    return choice.form.localBytes(choice.copies ? 2 : 1) <= facts.localBytes;
}

// Those of the forms that `complete` makes a choice of, the best first.
template <typename Complete>
std::vector<TileChoice> choicesOf(const TileNeeds& needs, const Forms& forms,
                                  const Geometry& geometry, Complete complete) {
    const bool isMatrix = usesMatrix(needs);
    VectorForm vectors = vectorFormFor(needs.x, geometry.groupDepth, isMatrix);
    if (vectors.elements == 1) {
        vectors.elements = vectors.pack;
        vectors.gathers = true;
    }
    std::vector<TileChoice> choices;
    const bool copies = isMatrix
                                ? !vectors.gathers || vectors.pack == 1
                                : needs.instructions.copiesOfFloats && needs.x == DataType::FLOAT32;
    for (const TileForm& form : isMatrix ? forms.ofMatrices : copies ? forms.copying : forms.any) {
        TileChoice choice = {.form = fitted(form, vectors, isMatrix, rowWords(geometry, vectors)),
                             .vectors = vectors,
                             .isMatrix = isMatrix,
                             .copies = copies};
        if (fits(choice, needs.facts) && complete(choice)) {
            choice.cycles += cyclesOf(choice, geometry, needs.facts.computeUnits);
            choices.push_back(choice);
        }
    }
    std::ranges::stable_sort(choices, {}, &TileChoice::cycles);
    return choices;
}

// Tiles of the depthwise convolution's output that make the least work, of those whose pixels of x
// fit. False where none does.
bool layTiles(TileChoice& choice, const Geometry& geometry, const Geometry& window) {
    const int64_t batches = int64_t{window.pixels} / window.outputH / window.outputW;
    const auto halo = [](int32_t tile, int32_t stride, int32_t filter, int32_t dilation) {
        return (tile - 1) * stride + (filter - 1) * dilation + 1;
    };
    int64_t fewest = 0;
    for (int32_t h = 1; h <= window.outputH; ++h) {
        const int32_t haloH = halo(h, window.strideH, window.filterH, window.dilationH);
        const int32_t mostW = choice.form.pixels / haloH;
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
    choice.groups = batches * fewest * partsOf(geometry.channels, choice.form.channels);
    // Each item of the window's.
    choice.cycles = static_cast<double>(choice.window.tileH) * choice.window.tileW *
                    choice.form.channels / kTileItems * window.filterH * window.filterW * 10;
    return fewest != 0;
}

}  // namespace

TileNeeds tileNeedsOf(const StepPlan& step) {
    return {.x = step.input(0).type,
            .mayRound = step.mayRound(),
            .facts = step.facts(),
            .instructions = step.instructions()};
}

std::vector<TileChoice> productChoices(const TileNeeds& needs, const Geometry& geometry) {
    std::vector<TileChoice> choices =
            choicesOf(needs, kProductForms, geometry, [&](TileChoice& each) {
                each.groups = partsOf(geometry.pixels, each.form.pixels) *
                              partsOf(geometry.channelsPerGroup, each.form.channels) *
                              geometry.groups();
                return true;
            });
    addSplits(choices, geometry, needs.facts.computeUnits);
    std::ranges::stable_sort(choices, {}, &TileChoice::cycles);
    return choices;
}

std::vector<TileChoice> expansionChoices(const TileNeeds& needs, const Geometry& geometry,
                                         const Geometry& window) {
    return choicesOf(needs, kExpansionForms, geometry,
                     [&](TileChoice& each) { return layTiles(each, geometry, window); });
}

std::vector<TileChoice> pooledChoices(const TileNeeds& needs, const Geometry& geometry) {
    // Of the shortest tiles alone: in others the same channels have more rows of nothing.
    int64_t rows = std::ranges::min(kPooledForms, {}, &TileForm::pixels).pixels;
    while (rows < geometry.pixelsOfPicture()) {
        rows *= 2;
    }
    std::vector<TileChoice> choices =
            choicesOf(needs, kPoolingForms, geometry, [&](TileChoice& each) {
                each.groups = geometry.pictures() *
                              partsOf(geometry.channelsPerGroup, each.form.channels) *
                              geometry.groups();
                return each.form.pixels == rows;
            });
    addSplits(choices, geometry, needs.facts.computeUnits);
    std::ranges::stable_sort(choices, {}, &TileChoice::cycles);
    return choices;
}

bool gainsByPooling(const TileNeeds& needs, const Geometry& geometry) {
    const std::vector<TileChoice> apart = productChoices(needs, geometry);
    const std::vector<TileChoice> pooled = pooledChoices(needs, geometry);
    // What a model has that goes without the device's instructions after all.
    const Instructions none;
    const TileNeeds plain = {
            .x = needs.x, .mayRound = needs.mayRound, .facts = needs.facts, .instructions = none};
    return !apart.empty() && !pooled.empty() && !pooledChoices(plain, geometry).empty() &&
           pooled.front().cycles + kPoolingCycles < apart.front().cycles + kLaunchCycles;
}

bool fitsExpansion(const Shape& filter, const Window2d& window) {
    const int64_t reachH = int64_t{filter[1] - 1} * window.dilationH + 1;
    const int64_t reachW = int64_t{filter[2] - 1} * window.dilationW + 1;
    // Of a tile of two pixels by two, at the least.
    return (reachH + window.strideH) * (reachW + window.strideW) <=
           std::ranges::min(kWindowedForms, {}, &TileForm::pixels).pixels;
}

}  // namespace halyard::engine::gpu
