// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/kernels/tiled_gemm.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/backends/gpu/kernels/epilogue.h"
#include "engine/backends/gpu/kernels/gemm_needs.h"
#include "engine/backends/gpu/kernels/map.h"
#include "engine/backends/gpu/kernels/mean.h"
#include "engine/backends/gpu/kernels/tile_accumulate_text.h"
#include "engine/backends/gpu/kernels/tile_depthwise_text.h"
#include "engine/backends/gpu/kernels/tile_load_text.h"
#include "engine/backends/gpu/kernels/tile_mean_text.h"
#include "engine/backends/gpu/kernels/tiled_gemm_text.h"
#include "engine/backends/gpu/kernels/vector_load.h"
#include "engine/backends/gpu/vendor/matrix_unit.h"

namespace halyard::engine::gpu {
namespace {

constexpr KernelFamily kTiledGemm = {
        .kernel = "tiled_gemm",
        .usesMatrixUnit = true,
        .shared = {kMapNumbersText, kEpilogueText, kMultiplyAccumulateText, kVectorLoadText,
                   kTileAccumulateText, kTileLoadText, kMeanText, kTileMeanText,
                   kTileDepthwiseText},
        .text = kTiledGemmText,
        .local = {kTileWorkItems, 1, 1}};

// A copy of the kernel's struct.
struct SplitK {
    int32_t count = 1;
    int32_t length = 0;
};

// One of the choices, of a step that is told by `text` and the extents of its parts.
template <typename Plan>
Status choose(StepPlan& step, std::string_view text, std::span<const Geometry> geometries,
              const std::vector<GemmForm>& forms, Plan plan) {
    std::vector<Variant> variants;
    for (const GemmForm& form : forms) {
        variants.push_back(
                {.name = form.name(), .plan = [&](StepPlan& own) { return plan(own, form); }});
    }
    std::string key(text);
    for (const Geometry& geometry : geometries) {
        key.append(" ").append(geometry.toString());
    }
    return step.choose(key, variants);
}

std::string definesOf(const GemmForm& form, const StepPlan& step, const Geometry& geometry) {
    const GemmTile& tile = form.tile;
    std::string text = define("TM", tile.rows) + define("TN", tile.columns) +
                       define("GROUP_SPLIT_K", tile.groupSplitK) + define("ROW", tile.words) +
                       define("PIPELINE_STAGES", form.pipelineStages);
    text += form.asyncCopy ? define("ASYNC_COPY") : "";
    text += form.splitK > 1 ? define("SPLIT_K") : "";
    if (form.isMatrix) {
        text += define("MATRIX") + define("WARP_TILES_M", tile.itemRows) +
                define("WARP_TILES_N", tile.itemColumns);
    } else {
        text += define("RM", tile.itemRows) + define("RN", tile.itemColumns);
    }
    return text + form.vectors.defines() +
           (geometry.isPointwise() && !form.vectors.gathers ? define("POINTWISE") : "") +
           step.matrixFeatures().defines();
}

void addArguments(Launch& launch, const StepPlan& step, const MultiplyAccumulate& sum,
                  const Geometry& geometry) {
    launch.with(step.in(0)).with(step.in(1)).with(step.in(2)).with(sum.multipliers);
    launch.with(step.out(0, step.nodeCount() - 1)).with(geometry).with(sum.numbers);
}

uint64_t workOf(const GemmForm& form, const Geometry& geometry) {
    return static_cast<uint64_t>(form.workGroups) * static_cast<uint64_t>(form.tile.rows) *
           static_cast<uint64_t>(form.tile.columns) *
           (static_cast<uint64_t>(geometry.gemmDepth()) + 4);
}

// Nodes that are fused behind a GEMM.
struct Tail {
    std::string name;
    std::string defines;
    std::vector<std::variant<Operand, ByValue>> arguments;
};

Status addGemm(StepPlan& step, const Geometry& geometry, Activation activation,
               const std::vector<GemmForm>& forms, const Tail& tail) {
    const MultiplyAccumulate sum = multiplyAccumulateOf(step, activation);
    const std::string defines = storageDefines(step) + tail.defines;
    const auto plan = [&](StepPlan& own, const GemmForm& form) -> Status {
        HALYARD_ASSIGN_OR_RETURN(Launch* const launch,
                                 own.launch(kTiledGemm, defines + definesOf(form, own, geometry)));
        addArguments(*launch, own, sum, geometry);
        if (form.splitK > 1) {
            const int64_t sums = form.workGroups * form.splitK * form.tile.rows * form.tile.columns;
            launch->with(own.scratch(static_cast<size_t>(sums) * sizeof(uint32_t)));
            launch->with(StepPlan::counters());
            launch->with(SplitK{.count = form.splitK, .length = form.splitKLength(geometry)});
        }
        launch->withAll(tail.arguments);
        const int64_t columns = partsOf(geometry.channelsPerGroup, form.tile.columns);
        launch->workItems = {static_cast<size_t>(columns * kTileWorkItems),
                             static_cast<size_t>(form.workGroups / columns / geometry.groups()),
                             static_cast<size_t>(geometry.groups() * form.splitK)};
        launch->work = workOf(form, geometry);
        return {};
    };
    return choose(step, tail.name + " " + defines, std::array{geometry}, forms, plan);
}

}  // namespace

Status addTiledGemm(StepPlan& step, const Geometry& geometry, Activation activation) {
    const Epilogue epilogue = epilogueOf(step);
    return addGemm(step, geometry, activation, chooseGemm(gemmNeedsOf(step), geometry).legal,
                   {.name = "gemm", .defines = epilogue.defines, .arguments = epilogue.arguments});
}

Status addTiledPooledGemm(StepPlan& step, const Geometry& geometry, Activation activation,
                          size_t which) {
    const Mean mean = meanOf(step.node(which), step.input(0, which), step.output(0, which),
                             geometry.positionsOfFeatureMap());
    const Epilogue inner = epilogueOf(step, {.first = 1, .end = which, .name = "INNER_EPILOGUE"});
    const Epilogue epilogue = epilogueOf(step, {.first = which + 1, .end = step.nodeCount()});
    Tail tail = {.name = "pooled gemm",
                 .defines = define("POOLED") + mean.defines + inner.defines + epilogue.defines,
                 .arguments = {byValue(mean.numbers)}};
    for (const Epilogue* const each : {&inner, &epilogue}) {
        tail.arguments.insert(tail.arguments.end(), each->arguments.begin(), each->arguments.end());
    }
    return addGemm(step, geometry, activation, choosePooledGemm(gemmNeedsOf(step), geometry).legal,
                   tail);
}

Status addTiledHorizontalFusion(StepPlan& step, const Geometry& geometry,
                                std::span<const FusedBranch> fusedBranches) {
    // They cost as much as one GEMM of all their columns.
    Geometry together = geometry;
    together.channels *= static_cast<int32_t>(fusedBranches.size());
    std::vector<GemmForm> forms = chooseGemm(gemmNeedsOf(step), together).legal;
    // The launch's third dimension is the index of the layer, and not of a split of K.
    std::erase_if(forms, [](const GemmForm& form) { return form.splitK > 1; });
    const HorizontalFusionText text = textOf(step, fusedBranches);
    const std::string defines = storageDefines(step) + text.defines;
    const auto plan = [&](StepPlan& own, const GemmForm& form) -> Status {
        HALYARD_ASSIGN_OR_RETURN(Launch* const launch,
                                 own.launch(kTiledGemm, defines + definesOf(form, own, geometry)));
        launch->with(own.in(0)).with(geometry).withAll(text.arguments);
        launch->workItems = {
                static_cast<size_t>(partsOf(geometry.channelsPerGroup, form.tile.columns) *
                                    kTileWorkItems),
                static_cast<size_t>(partsOf(geometry.positions, form.tile.rows)),
                fusedBranches.size()};
        launch->work = workOf(form, together);
        return {};
    };
    return choose(step, "fusedBranches " + defines, std::array{together}, forms, plan);
}

Status addTiledPointwiseDepthwise(StepPlan& step, const Geometry& geometry, Activation activation,
                                  size_t which, const Geometry& window,
                                  Activation depthwiseActivation) {
    const std::vector<GemmForm> forms =
            choosePointwiseDepthwise(gemmNeedsOf(step), geometry, window).legal;
    const MultiplyAccumulate sum = multiplyAccumulateOf(step, activation);
    const MultiplyAccumulate windowSum = multiplyAccumulateOf(step, depthwiseActivation, which);
    const Epilogue inner = epilogueOf(step, {.first = 1, .end = which, .name = "INNER_EPILOGUE"});
    const Epilogue epilogue = epilogueOf(step, {.first = which + 1, .end = step.nodeCount()});
    const std::string defines = define("DEPTHWISE") + define("FILTER_H", window.filterH) +
                                define("FILTER_W", window.filterW) +
                                define("V", storageOf(step.input(1, which).type)) +
                                storageDefines(step) + inner.defines + epilogue.defines;
    const auto plan = [&](StepPlan& own, const GemmForm& form) -> Status {
        HALYARD_ASSIGN_OR_RETURN(Launch* const launch,
                                 own.launch(kTiledGemm, defines + definesOf(form, own, geometry)));
        addArguments(*launch, own, sum, geometry);
        launch->with(own.in(1, which)).with(own.in(2, which)).with(windowSum.multipliers);
        launch->with(form.window).with(windowSum.numbers);
        launch->withAll(inner.arguments).withAll(epilogue.arguments);
        const int64_t columns = partsOf(geometry.channels, form.tile.columns);
        launch->workItems = {static_cast<size_t>(columns * kTileWorkItems),
                             static_cast<size_t>(form.workGroups / columns), 1};
        launch->work = workOf(form, geometry);
        return {};
    };
    return choose(step, "expansion " + defines, std::array{geometry, window}, forms, plan);
}

}  // namespace halyard::engine::gpu
