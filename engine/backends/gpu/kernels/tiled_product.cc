// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/kernels/tiled_product.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/backends/gpu/instructions.h"
#include "engine/backends/gpu/kernels/map.h"
#include "engine/backends/gpu/kernels/mean.h"
#include "engine/backends/gpu/kernels/stages.h"
#include "engine/backends/gpu/kernels/tile_choice.h"
#include "engine/backends/gpu/kernels/tile_means_text.h"
#include "engine/backends/gpu/kernels/tile_rows_text.h"
#include "engine/backends/gpu/kernels/tile_sums_text.h"
#include "engine/backends/gpu/kernels/tile_windows_text.h"
#include "engine/backends/gpu/kernels/tiled_product_text.h"
#include "engine/backends/gpu/kernels/vectors.h"

namespace halyard::engine::gpu {
namespace {

constexpr KernelFamily kTiled = {
        .kernel = "multiply_tiled",
        .shared = {kMapNumbersText, kStagesText, kWeightedSumText, kVectorsText, kMatrixText,
                   kTileSumsText, kTileRowsText, kMeanText, kTileMeansText, kTileWindowsText},
        .text = kTilesText,
        .local = {kTileItems, 1, 1}};

// A copy of the kernel's struct.
struct Split {
    int32_t count = 1;
    int32_t length = 0;
};

// One of the choices, of a step that is told by `text` and the extents of its parts.
template <typename Plan>
Status choose(StepPlan& step, std::string_view text, std::span<const Geometry> geometries,
              const std::vector<TileChoice>& choices, Plan plan) {
    std::vector<Variant> variants;
    for (const TileChoice& choice : choices) {
        variants.push_back(
                {.name = choice.name(), .plan = [&](StepPlan& own) { return plan(own, choice); }});
    }
    std::string key(text);
    for (const Geometry& geometry : geometries) {
        key.append(" ").append(geometry.toString());
    }
    return step.choose(key, variants);
}

void addArguments(Launch& launch, const StepPlan& step, const WeightedSum& sum,
                  const Geometry& geometry) {
    launch.with(step.in(0)).with(step.in(1)).with(step.in(2)).with(sum.multipliers);
    launch.with(step.out(0, step.nodeCount() - 1)).with(geometry).with(sum.numbers);
}

uint64_t workOf(const TileChoice& choice, const Geometry& geometry) {
    return static_cast<uint64_t>(choice.groups) * static_cast<uint64_t>(choice.form.pixels) *
           static_cast<uint64_t>(choice.form.channels) *
           (static_cast<uint64_t>(geometry.products()) + 4);
}

// What a kernel has behind its products.
struct Tail {
    std::string name;
    std::string defines;
    std::vector<std::variant<Operand, ByValue>> arguments;
};

Status addProduct(StepPlan& step, const Geometry& geometry, Activation activation,
                  const std::vector<TileChoice>& choices, const Tail& tail) {
    const WeightedSum sum = weightedSumOf(step, activation);
    const std::string defines = storageDefines(step) + tail.defines;
    const auto plan = [&](StepPlan& own, const TileChoice& choice) -> Status {
        HALYARD_ASSIGN_OR_RETURN(Launch* const launch,
                                 own.launch(kTiled, defines + choice.defines(own, geometry)));
        addArguments(*launch, own, sum, geometry);
        if (choice.splits > 1) {
            const int64_t sums =
                    choice.groups * choice.splits * choice.form.pixels * choice.form.channels;
            launch->with(own.scratch(static_cast<size_t>(sums) * sizeof(uint32_t)));
            launch->with(StepPlan::counters());
            launch->with(Split{.count = choice.splits, .length = choice.splitLength(geometry)});
        }
        launch->withAll(tail.arguments);
        const int64_t columns = partsOf(geometry.channelsPerGroup, choice.form.channels);
        launch->items = {static_cast<size_t>(columns * kTileItems),
                         static_cast<size_t>(choice.groups / columns / geometry.groups()),
                         static_cast<size_t>(geometry.groups() * choice.splits)};
        launch->work = workOf(choice, geometry);
        return {};
    };
    return choose(step, tail.name + " " + defines, std::array{geometry}, choices, plan);
}

}  // namespace

Status addTiledProduct(StepPlan& step, const Geometry& geometry, Activation activation) {
    const Stages stages = stagesOf(step);
    return addProduct(
            step, geometry, activation, productChoices(tileNeedsOf(step), geometry),
            {.name = "product", .defines = stages.defines, .arguments = stages.arguments});
}

Status addTiledPooling(StepPlan& step, const Geometry& geometry, Activation activation,
                       size_t which) {
    const Mean mean = meanOf(step.node(which), step.input(0, which), step.output(0, which),
                             geometry.pixelsOfPicture());
    const Stages inner = stagesOf(step, {.first = 1, .end = which, .name = "INNER_STAGES"});
    const Stages stages = stagesOf(step, {.first = which + 1, .end = step.nodeCount()});
    Tail tail = {.name = "pooled product",
                 .defines = define("POOLED") + mean.defines + inner.defines + stages.defines,
                 .arguments = {byValue(mean.numbers)}};
    for (const Stages* const each : {&inner, &stages}) {
        tail.arguments.insert(tail.arguments.end(), each->arguments.begin(), each->arguments.end());
    }
    return addProduct(step, geometry, activation, pooledChoices(tileNeedsOf(step), geometry), tail);
}

Status addTiledHorizontalFusion(StepPlan& step, const Geometry& geometry,
                                std::span<const FusedBranch> fusedBranches) {
    // They take as long as groups of one product.
    Geometry together = geometry;
    together.channels *= static_cast<int32_t>(fusedBranches.size());
    std::vector<TileChoice> choices = productChoices(tileNeedsOf(step), together);
    // A launch's third dimension says whose product it is.
    std::erase_if(choices, [](const TileChoice& choice) { return choice.splits > 1; });
    const HorizontalFusionText text = textOf(step, fusedBranches);
    const std::string defines = storageDefines(step) + text.defines;
    const auto plan = [&](StepPlan& own, const TileChoice& choice) -> Status {
        HALYARD_ASSIGN_OR_RETURN(Launch* const launch,
                                 own.launch(kTiled, defines + choice.defines(own, geometry)));
        launch->with(own.in(0)).with(geometry).withAll(text.arguments);
        launch->items = {
                static_cast<size_t>(partsOf(geometry.channelsPerGroup, choice.form.channels) *
                                    kTileItems),
                static_cast<size_t>(partsOf(geometry.pixels, choice.form.pixels)),
                fusedBranches.size()};
        launch->work = workOf(choice, together);
        return {};
    };
    return choose(step, "fusedBranches " + defines, std::array{together}, choices, plan);
}

Status addTiledExpansion(StepPlan& step, const Geometry& geometry, Activation activation,
                         size_t which, const Geometry& window, Activation depthwiseActivation) {
    const std::vector<TileChoice> choices = expansionChoices(tileNeedsOf(step), geometry, window);
    const WeightedSum sum = weightedSumOf(step, activation);
    const WeightedSum windowSum = weightedSumOf(step, depthwiseActivation, which);
    const Stages inner = stagesOf(step, {.first = 1, .end = which, .name = "INNER_STAGES"});
    const Stages stages = stagesOf(step, {.first = which + 1, .end = step.nodeCount()});
    const std::string defines = define("DEPTHWISE") + define("FILTER_H", window.filterH) +
                                define("FILTER_W", window.filterW) +
                                define("V", storageOf(step.input(1, which).type)) +
                                storageDefines(step) + inner.defines + stages.defines;
    const auto plan = [&](StepPlan& own, const TileChoice& choice) -> Status {
        HALYARD_ASSIGN_OR_RETURN(Launch* const launch,
                                 own.launch(kTiled, defines + choice.defines(own, geometry)));
        addArguments(*launch, own, sum, geometry);
        launch->with(own.in(1, which)).with(own.in(2, which)).with(windowSum.multipliers);
        launch->with(choice.window).with(windowSum.numbers);
        launch->withAll(inner.arguments).withAll(stages.arguments);
        const int64_t columns = partsOf(geometry.channels, choice.form.channels);
        launch->items = {static_cast<size_t>(columns * kTileItems),
                         static_cast<size_t>(choice.groups / columns), 1};
        launch->work = workOf(choice, geometry);
        return {};
    };
    return choose(step, "expansion " + defines, std::array{geometry, window}, choices, plan);
}

}  // namespace halyard::engine::gpu
