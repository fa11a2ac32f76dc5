// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/kernels/gemm_chooser.h"

#include <algorithm>
#include <span>

#include "engine/backends/gpu/kernels/gemm_costs.h"
#include "engine/backends/gpu/launches/launch.h"

namespace halyard::engine::gpu {
namespace {

// Whether the device's matrix unit multiplies the type.
bool usesMatrixUnit(const GemmNeeds& needs) {
    const MatrixFeatures& has = needs.matrixFeatures;
    if (needs.x == DataType::FLOAT16) {
        return has.float16Mma;
    }
    if (needs.x == DataType::FLOAT32) {
        return has.tf32Mma && needs.mayRound;
    }
    return has.int8Mma;
}

// That of a device which is described by its features alone is as the others.
const MatrixUnit& unitOf(const DeviceFacts& facts) {
    static constexpr MatrixUnit kUsual;
    return facts.matrixUnit == nullptr ? kUsual : *facts.matrixUnit;
}

// A shorter K takes fewer words in a stage. With the matrix unit words that are not there take next
// to nothing, and fewer programs are built where they stay (`shortens` false).
GemmTile fitted(GemmTile tile, const VectorLoad& vectors, int32_t wordsOfStep, bool shortens,
                int64_t words) {
    const int32_t least = wordsOfStep * tile.groupSplitK;
    tile.words = std::min(tile.words, kTileWorkItems * vectors.elements / vectors.pack);
    while (shortens && tile.words > least && tile.words / 2 >= words) {
        tile.words /= 2;
    }
    return tile;
}

// Without the matrix unit, or by `wordsPerCycle` of it where operands are not copied
// asynchronously.
double plainCycles(const GemmForm& form, double rounds, int64_t each, double wordsPerCycle,
                   const GemmCosts& costs) {
    const double tile = static_cast<double>(form.tile.rows) * form.tile.columns;
    const auto waves = static_cast<double>(partsOf(each, costs.residentWorkGroups));
    const double waits = form.asyncCopy ? 1 + (rounds - 1) / costs.stagesAhead : rounds;
    return waves * (waits * costs.latency + costs.workGroupCycles +
                    tile / kTileWorkItems * costs.rowCycles) +
           static_cast<double>(each) * (rounds * form.tile.words * tile / wordsPerCycle);
}

double cyclesOf(const GemmForm& form, const Geometry& geometry, uint32_t computeUnits,
                const GemmCosts& costs) {
    const auto rounds = static_cast<double>(
            partsOf(partsOf(form.words(geometry), form.tile.words), form.splitK));
    const double tile = static_cast<double>(form.tile.rows) * form.tile.columns;
    const int64_t each = partsOf(form.workGroups * form.splitK, computeUnits);
    const double shares = form.splitK == 1 ? 0
                                           : costs.splitKCycles + form.splitK * tile * 4 /
                                                                          costs.splitKBytesPerCycle;
    if (!form.isMatrix) {
        return plainCycles(form, rounds, each, costs.wordsPerCycle, costs) + shares;
    }
    const auto waves = static_cast<double>(partsOf(each, costs.residentWorkGroups));
    const double bytes =
            static_cast<double>(form.tile.rows + form.tile.columns) * form.tile.words * 4;
    return waves * costs.matrixWorkGroupCycles + shares +
           static_cast<double>(each) * (rounds * (bytes / costs.bytesPerCycle + costs.roundCycles) +
                                        tile / kTileWorkItems * costs.sumsCycles);
}

void sortByCycles(GemmChoices& choices) {
    std::ranges::stable_sort(choices.legal, {}, &GemmForm::cycles);
}

// Adds each form again with as many work-groups for a tile as the device holds, where that is more
// than one.
void addSplitK(GemmChoices& choices, const Geometry& geometry, const DeviceFacts& facts) {
    const GemmCosts& costs = gemmCostsOf(facts.family);
    const size_t count = choices.legal.size();
    for (size_t i = 0; i < count; ++i) {
        GemmForm split = choices.legal[i];
        const auto exclude = [&](std::string reason) {
            choices.excluded.push_back(
                    {.name = split.name() + " by split-K", .reason = std::move(reason)});
        };
        if (!split.asyncCopy) {
            exclude("split-K takes asynchronous copies");
            continue;
        }
        if (split.workGroups < 1 || split.workGroups > int64_t{kCounters}) {
            exclude("there are more tiles than counters");
            continue;
        }
        const int64_t rounds = partsOf(split.words(geometry), split.tile.words);
        const int64_t most = std::min({facts.computeUnits / split.workGroups, costs.maxSplitK,
                                       rounds / costs.minRoundsOfSplitK});
        if (most < 2) {
            exclude(facts.computeUnits / split.workGroups < 2 ? "the tiles occupy the device"
                                                              : "K is too short");
            continue;
        }
        // None is left with nothing.
        split.splitK = static_cast<int32_t>(partsOf(rounds, partsOf(rounds, most)));
        split.cycles = cyclesOf(split, geometry, facts.computeUnits, costs);
        choices.legal.push_back(split);
    }
}

// Why local memory does not hold the tile; empty: it does.
std::string lacksLocalMemory(const GemmForm& form, int32_t stages, int32_t rowWords,
                             const DeviceFacts& facts) {
    const size_t bytes = form.tile.localBytes(stages, rowWords);
    return bytes <= facts.localBytes
                   ? ""
                   : "it takes " + std::to_string(bytes) + " bytes of local memory of " +
                             std::to_string(facts.localBytes);
}

// The forms of the tiles; `complete` counts a form's work-groups and says why it is excluded.
template <typename Complete>
GemmChoices tiledChoices(const GemmNeeds& needs, const GemmTiles& tiles, const Geometry& geometry,
                         Complete complete) {
    const bool isMatrix = usesMatrixUnit(needs);
    VectorLoad vectors = vectorLoadFor(needs.x, geometry.groupDepth, isMatrix);
    if (vectors.elements == 1) {
        vectors.elements = vectors.pack;
        vectors.gathers = true;
    }
    const bool asyncCopy = isMatrix
                                   ? !vectors.gathers || vectors.pack == 1
                                   : needs.matrixFeatures.asyncCopy && needs.x == DataType::FLOAT32;
    const int32_t wordsOfStep = isMatrix ? unitOf(needs.facts).words : 4;
    GemmChoices choices;
    for (const GemmTile& tile : isMatrix ? tiles.matrix : asyncCopy ? tiles.async : tiles.plain) {
        GemmForm form = {.tile = fitted(tile, vectors, wordsOfStep, !isMatrix || vectors.gathers,
                                        rowWords(geometry, vectors)),
                         .vectors = vectors,
                         .isMatrix = isMatrix,
                         .asyncCopy = asyncCopy};
        const int32_t extra = form.tile.convolutionRowWords();
        std::string reason = lacksLocalMemory(form, asyncCopy ? 2 : 1, extra, needs.facts);
        if (reason.empty()) {
            reason = complete(form);
        }
        if (!reason.empty()) {
            choices.excluded.push_back({.name = form.name(), .reason = std::move(reason)});
            continue;
        }
        form.pipelineStages = form.tile.pipelineStages(
                needs.facts.localBytes, asyncCopy ? unitOf(needs.facts).pipelineStages : 2, extra);
        form.cycles +=
                cyclesOf(form, geometry, needs.facts.computeUnits, gemmCostsOf(needs.facts.family));
        choices.legal.push_back(form);
    }
    return choices;
}

int64_t tilesAcross(const GemmForm& form, const Geometry& geometry) {
    return partsOf(geometry.channelsPerGroup, form.tile.columns) * geometry.groups();
}

// Tiles of the depthwise convolution's output that make the least work, of those whose pixels of x
// fit; why none does.
std::string coverWindow(GemmForm& form, const Geometry& geometry, const Geometry& window,
                        const GemmCosts& costs) {
    const int64_t batches = int64_t{window.positions} / window.outputH / window.outputW;
    const auto halo = [](int32_t tile, int32_t stride, int32_t filter, int32_t dilation) {
        return (tile - 1) * stride + (filter - 1) * dilation + 1;
    };
    int64_t fewest = 0;
    for (int32_t h = 1; h <= window.outputH; ++h) {
        const int32_t haloH = halo(h, window.strideH, window.filterH, window.dilationH);
        const int32_t mostW = form.tile.rows / haloH;
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
        form.window = {.strideH = window.strideH,
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
    form.workGroups = batches * fewest * partsOf(geometry.channels, form.tile.columns);
    // Each item of the window's.
    form.cycles = static_cast<double>(form.window.tileH) * form.window.tileW * form.tile.columns /
                  kTileWorkItems * window.filterH * window.filterW * costs.tapCycles;
    return fewest != 0 ? "" : "no tile covers what a position of the window reads";
}

// Why each row of such a GEMM does not read all weights by itself; empty: it does.
std::string excludesGemv(const DeviceFacts& facts, const Geometry& geometry) {
    const int32_t most = gemmCostsOf(facts.family).maxGemvRows;
    if (!facts.prefersTiles) {
        return "the device has no local memory of its own";
    }
    if (!geometry.isPointwise() || geometry.groups() != 1) {
        return "it is no GEMM of whole rows";
    }
    return geometry.positions <= most ? ""
                                      : "M is " + std::to_string(geometry.positions) +
                                                ", more than " + std::to_string(most);
}

std::string cyclesOf(const GemmForm& form) {
    return std::to_string(static_cast<int64_t>(form.cycles)) + " cycles";
}

}  // namespace

std::string GemmForm::name() const {
    if (algorithm != GemmAlgorithm::TILED) {
        return algorithm == GemmAlgorithm::GEMV ? "gemv" : "direct";
    }
    std::string name = isMatrix ? "matrix" : "tile";
    for (const int32_t number : {tile.rows, tile.columns, tile.groupSplitK, tile.words}) {
        name.append(" ").append(std::to_string(number));
    }
    name.append(splitK > 1 ? " by " + std::to_string(splitK) : "");
    return name;
}

std::string GemmChoices::lostForms() const {
    std::string text;
    const auto add = [&](const std::string& name, const std::string& why) {
        text.append(text.empty() ? "" : "; ").append(name).append(": ").append(why);
    };
    for (size_t i = 1; i < legal.size(); ++i) {
        add(legal[i].name(), legal[i].cycles > 0
                                     ? "costs " + cyclesOf(legal[i]) + ", and " +
                                               legal.front().name() + " " + cyclesOf(legal.front())
                                     : "is not estimated");
    }
    for (const ExcludedGemmForm& form : excluded) {
        add(form.name, form.reason);
    }
    return text;
}

GemmAlgorithm gemmAlgorithmOf(const DeviceFacts& facts, const Geometry& geometry) {
    if (excludesGemv(facts, geometry).empty()) {
        return GemmAlgorithm::GEMV;
    }
    return facts.prefersTiles ? GemmAlgorithm::TILED : GemmAlgorithm::DIRECT;
}

GemmChoices chooseGemm(const GemmNeeds& needs, const Geometry& geometry) {
    const DeviceFacts& facts = needs.facts;
    const GemmForm gemv = {.algorithm = GemmAlgorithm::GEMV};
    const GemmForm direct = {.algorithm = GemmAlgorithm::DIRECT};
    GemmChoices choices = tiledChoices(needs, gemmTiles(), geometry, [&](GemmForm& form) {
        form.workGroups = partsOf(geometry.positions, form.tile.rows) * tilesAcross(form, geometry);
        return std::string(facts.prefersTiles ? "" : "the device has no local memory of its own");
    });
    const std::string noGemv = excludesGemv(facts, geometry);
    if (noGemv.empty()) {
        for (const GemmForm& form : choices.legal) {
            choices.excluded.push_back(
                    {.name = form.name(), .reason = "M is short enough for GEMV"});
        }
        choices.legal = {gemv};
    } else {
        choices.excluded.push_back({.name = gemv.name(), .reason = noGemv});
        addSplitK(choices, geometry, facts);
        sortByCycles(choices);
    }
    if (choices.legal.empty()) {
        choices.legal = {direct};
    } else {
        choices.excluded.push_back(
                {.name = direct.name(), .reason = "the device has local memory of its own"});
    }
    return choices;
}

GemmChoices choosePointwiseDepthwise(const GemmNeeds& needs, const Geometry& geometry,
                                     const Geometry& window) {
    GemmChoices choices =
            tiledChoices(needs, pointwiseDepthwiseTiles(), geometry, [&](GemmForm& form) {
                return coverWindow(form, geometry, window, gemmCostsOf(needs.facts.family));
            });
    sortByCycles(choices);
    return choices;
}

GemmChoices choosePooledGemm(const GemmNeeds& needs, const Geometry& geometry) {
    // Of the shortest tiles alone: in others the same channels have more rows of nothing.
    int64_t rows = std::ranges::min(pooledGemmTiles().plain, {}, &GemmTile::rows).rows;
    while (rows < geometry.positionsOfFeatureMap()) {
        rows *= 2;
    }
    GemmChoices choices = tiledChoices(needs, pooledGemmTiles(), geometry, [&](GemmForm& form) {
        form.workGroups = geometry.featureMaps() * tilesAcross(form, geometry);
        return std::string(form.tile.rows == rows  ? ""
                           : form.tile.rows < rows ? "it does not hold a feature map"
                                                   : "a shorter tile holds a feature map");
    });
    addSplitK(choices, geometry, needs.facts);
    sortByCycles(choices);
    return choices;
}

GemmChoices chooseBatchGemm(const GemmNeeds& needs, const BatchGemmShape& shape) {
    const GemmCosts& costs = gemmCostsOf(needs.facts.family);
    const bool isMatrix = usesMatrixUnit(needs);
    const bool hasTiles = isFloat(needs.x) || needs.x == DataType::QUANT8_ASYMM ||
                          needs.x == DataType::QUANT8_ASYMM_SIGNED;
    const VectorLoad vectors = vectorLoadFor(needs.x, shape.vectorDivisor, isMatrix);
    const int64_t words = partsOf(shape.depth, vectors.pack);
    GemmChoices choices;
    for (const GemmTile& tile : isMatrix ? batchGemmTiles().matrix : batchGemmTiles().plain) {
        GemmForm form = {.tile = fitted(tile, vectors, isMatrix ? unitOf(needs.facts).words : 4,
                                        true, words),
                         .vectors = vectors,
                         .isMatrix = isMatrix};
        const int32_t extra = form.tile.batchRowWords();
        std::string reason = lacksLocalMemory(form, 1, extra, needs.facts);
        if (!needs.facts.prefersTiles) {
            reason = "the device has no local memory of its own";
        } else if (!hasTiles || shape.depth == 0) {
            reason = shape.depth == 0 ? "K is 0, or the operands have two types"
                                      : "tiles hold floats and 8 bits";
        }
        if (!reason.empty()) {
            choices.excluded.push_back({.name = form.name(), .reason = std::move(reason)});
            continue;
        }
        form.pipelineStages = form.tile.pipelineStages(needs.facts.localBytes, 2, extra);
        form.workGroups = partsOf(shape.rows, form.tile.rows) *
                          partsOf(shape.columns, form.tile.columns) * shape.batch;
        form.cycles = plainCycles(form, static_cast<double>(partsOf(words, form.tile.words)),
                                  partsOf(form.workGroups, needs.facts.computeUnits),
                                  isMatrix ? costs.batchWordsPerCycle : costs.wordsPerCycle, costs);
        choices.legal.push_back(form);
    }
    sortByCycles(choices);
    choices.legal.push_back({.algorithm = GemmAlgorithm::DIRECT});
    return choices;
}

bool isProfitablePooledGemm(const GemmNeeds& needs, const Geometry& geometry) {
    const GemmCosts& costs = gemmCostsOf(needs.facts.family);
    const std::vector<GemmForm> apart = chooseGemm(needs, geometry).legal;
    const std::vector<GemmForm> pooled = choosePooledGemm(needs, geometry).legal;
    // A model goes without the matrix unit where a kernel with it does not build.
    const MatrixFeatures none;
    const GemmNeeds plain = {
            .x = needs.x, .mayRound = needs.mayRound, .facts = needs.facts, .matrixFeatures = none};
    return apart.front().algorithm == GemmAlgorithm::TILED && !pooled.empty() &&
           !choosePooledGemm(plain, geometry).legal.empty() &&
           pooled.front().cycles + costs.poolingCycles < apart.front().cycles + costs.launchCycles;
}

bool isLegalPointwiseDepthwise(const Shape& filter, const Window2d& window) {
    const int64_t reachH = int64_t{filter[1] - 1} * window.dilationH + 1;
    const int64_t reachW = int64_t{filter[2] - 1} * window.dilationW + 1;
    // Of a tile of two positions by two, at the least.
    return (reachH + window.strideH) * (reachW + window.strideW) <=
           std::ranges::min(pointwiseDepthwiseTiles().plain, {}, &GemmTile::rows).rows;
}

bool isCheapToRecompute(const DeviceFacts& facts, int64_t depth) {
    return depth <= gemmCostsOf(facts.family).maxRecomputedDepth;
}

}  // namespace halyard::engine::gpu
