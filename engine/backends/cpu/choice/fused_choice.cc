// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/choice/fused_choice.h"

#include <string>

namespace halyard::engine::cpu {
namespace {

constexpr int64_t kFloatBytes = sizeof(float);
// Columns of four tiles of AMX, which become bytes at once.
constexpr int64_t kAmxGroupColumns = 64;

std::string kibibytes(int64_t bytes) {
    return std::to_string(bytes >> 10) + " KiB";
}

Status takesInt8PointwiseDepthwise(const FusedLayers& layers, const CpuTarget& target) {
    const FusedTuning& tuning = target.tuning.fused;
    if (target.set != InstructionSet::AVX512_AMX) {
        return unsupported(std::string(toString(target.set)) + " has no tiles");
    }
    if (layers.threads < tuning.int8FewestThreads) {
        return unsupported("takes " + std::to_string(tuning.int8FewestThreads) +
                           " threads and more");
    }
    if (layers.map.channels % kAmxGroupColumns != 0) {
        return unsupported("takes multiples of 64 channels");
    }
    if (layers.map.strideH != 1 || layers.map.strideW != 1) {
        return unsupported("gains little from windows that lie apart");
    }
    const FusedCosts costs = fusedInt8Costs(tuning);
    if (!FusedTiling::pays(layers.map, costs)) {
        return unsupported("L2 has no room for the expanded feature map of a work item");
    }
    const auto threads = static_cast<int64_t>(layers.threads);
    if (FusedTiling::best(layers.map, costs, threads).items(layers.map) * 4 < threads * 3) {
        return unsupported("has too few work items for the threads");
    }
    if (!layers.keepsType) {
        return unsupported("takes results of the input's type");
    }
    return isLegalAndProfitableOnAmx(layers.expansion, target.tuning);
}

}  // namespace

int64_t ResidualExtents::channelBlock(int64_t lanes, int64_t tileLanes, int64_t channels) {
    for (int64_t block = tileLanes; block <= 2 * tileLanes; block += tileLanes) {
        if (channels % block == 0) {
            return block;
        }
    }
    for (int64_t block = 2 * tileLanes; block > 0; block -= lanes) {
        if (channels % block == 0) {
            return block;
        }
    }
    return 0;
}

FusedCosts fusedFloatCosts(int64_t lanes, int64_t tileLanes, const FusedTuning& tuning) {
    return {.lanes = lanes,
            .tileLanes = tileLanes,
            .elementBytes = kFloatBytes,
            .depthwise = tuning.floatDepthwise,
            .item = tuning.floatWorkItem,
            .mostTime = tuning.floatMostTime,
            .mostWorkItemBytes = tuning.mostWorkItemBytes,
            .mostLineGroups = tuning.mostLineGroups,
            .fewestLines = tuning.fewestLines};
}

FusedCosts fusedInt8Costs(const FusedTuning& tuning) {
    return {.lanes = kAmxGroupColumns,
            .tileLanes = kAmxGroupColumns,
            .elementBytes = 1,
            .element = tuning.int8Element,
            .depthwise = tuning.int8Depthwise,
            .item = tuning.int8WorkItem,
            .mostTime = tuning.int8MostTime,
            .mostWorkItemBytes = tuning.mostWorkItemBytes,
            .mostLineGroups = tuning.mostLineGroups,
            .fewestLines = tuning.fewestLines};
}

Status takesInvertedResidual(const FusedLayers& layers, const CpuTarget& target) {
    const InvertedResidualTuning& tuning = target.tuning.invertedResidual;
    const FusedFeatureMap& map = layers.map;
    if (!layers.isFloat) {
        return unsupported("takes floats");
    }
    if (layers.activatesBetween) {
        return unsupported("takes no activation between the nodes");
    }
    if (!layers.hasProjection || !layers.projectsPointwise) {
        return unsupported("takes a pointwise convolution behind the depthwise one");
    }
    if (layers.multiplier != 1 || layers.dilationH != 1 || layers.dilationW != 1 ||
        layers.expansionGroups != 1) {
        return unsupported("takes multipliers, dilations and groups of 1");
    }
    const ResidualExtents e = {
            .batches = map.batches,
            .height = map.height,
            .width = map.width,
            .outputHeight = map.outputHeight,
            .outputWidth = map.outputWidth,
            .depth = layers.expansionDepth,
            .expanded = map.channels,
            .channels = layers.projectionColumns,
            .filter = layers.filterH,
            .stride = map.strideH,
            .block = ResidualExtents::channelBlock(layers.lanes, layers.tileLanes, map.channels),
            .threads = 1,
            .tuning = tuning};
    // An expansion that is not pointwise takes a row at a time.
    if (e.width * e.depth * e.expanded > tuning.mostLineOperations) {
        return unsupported("a row of the expanded feature map takes too long");
    }
    if (e.block <= 0 || e.height <= 1 || e.outputHeight <= 0 || e.outputWidth <= 0) {
        return unsupported("takes channels of whole vectors and several rows");
    }
    if (const int64_t bytes = e.height * e.ringLine() * kFloatBytes;
        bytes < tuning.fewestExpandedBytes) {
        return unsupported("the expanded feature map, " + kibibytes(bytes) + ", stays in L2");
    }
    if (const int64_t bytes = (e.ringLength() + e.passLength()) * kFloatBytes;
        bytes > tuning.mostRingBytes) {
        return unsupported("its ring of rows, " + kibibytes(bytes) + ", does not stay in L2");
    }
    return {};
}

Status takesFusedPointwiseDepthwise(const FusedLayers& layers, const CpuTarget& target) {
    const FusedFeatureMap& map = layers.map;
    if (!layers.isFloat && !layers.isInt8) {
        return unsupported("takes floats and int8");
    }
    if (layers.isFloat && !layers.isStrict) {
        return unsupported("GEMMs may be faster with results as rough as float16's");
    }
    if (layers.multiplier != 1 || layers.dilationH != 1 || layers.dilationW != 1) {
        return unsupported("takes multipliers and dilations of 1");
    }
    if (layers.filterH != layers.filterW || (layers.filterH != 3 && layers.filterH != 5)) {
        return unsupported("takes filters of 3x3 and 5x5");
    }
    if (!layers.expandsPointwise) {
        return unsupported("takes a pointwise convolution before the depthwise one");
    }
    if (map.batches * map.outputHeight * map.outputWidth * map.channels == 0) {
        return unsupported("there is nothing to compute");
    }
    if (layers.isInt8) {
        return takesInt8PointwiseDepthwise(layers, target);
    }
    if (layers.lanes != layers.depthwiseLanes) {
        return unsupported("takes vectors of one length");
    }
    return FusedTiling::pays(map,
                             fusedFloatCosts(layers.lanes, layers.tileLanes, target.tuning.fused))
                   ? Status()
                   : unsupported("L2 has no room for the expanded feature map of a work item");
}

FusedChoice chooseFused(const FusedLayers& layers, const CpuTarget& target) {
    FusedChoice choice;
    if (choice.lost.takes(Form::INVERTED_RESIDUAL, takesInvertedResidual(layers, target))) {
        choice.form = Form::INVERTED_RESIDUAL;
        return choice;
    }
    if (choice.lost.takes(Form::FUSED_POINTWISE_DEPTHWISE,
                          takesFusedPointwiseDepthwise(layers, target))) {
        choice.form = Form::FUSED_POINTWISE_DEPTHWISE;
    }
    return choice;
}

}  // namespace halyard::engine::cpu
