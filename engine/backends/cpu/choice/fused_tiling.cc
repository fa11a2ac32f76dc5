// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/choice/fused_tiling.h"

#include <limits>

#include "engine/graph/shape_inference.h"
#include "engine/numerics/whole_division.h"

namespace halyard::engine::cpu {
Result<FusedFeatureMap> FusedFeatureMap::of(const Shape& x, const Shape& output,
                                            const Window2d& window, int64_t side) {
    HALYARD_ASSIGN_OR_RETURN(const ResolvedWindow resolved,
                             resolveWindow(window, x[1], x[2], static_cast<int32_t>(side),
                                           static_cast<int32_t>(side)));
    return FusedFeatureMap{.batches = x[0],
                           .height = x[1],
                           .width = x[2],
                           .outputHeight = output[1],
                           .outputWidth = output[2],
                           .depth = x[3],
                           .channels = output[3],
                           .side = side,
                           .strideH = window.strideH,
                           .strideW = window.strideW,
                           .top = resolved.top,
                           .left = resolved.left};
}

bool FusedTiling::isSmall(const FusedFeatureMap& p, const FusedCosts& costs) const {
    return length(p) * costs.elementBytes <= costs.mostWorkItemBytes &&
           channelTime(p, costs) * channels <= costs.mostTime;
}

bool FusedTiling::pays(const FusedFeatureMap& p, const FusedCosts& costs) {
    const FusedTiling whole = {.lines = p.outputHeight, .channels = costs.tileLanes};
    return whole.isSmall(p, costs);
}

FusedTiling FusedTiling::best(const FusedFeatureMap& p, const FusedCosts& costs, int64_t threads) {
    FusedTiling best;
    int64_t least = std::numeric_limits<int64_t>::max();
    for (int64_t groups = 1; groups <= costs.mostLineGroups; ++groups) {
        FusedTiling cut = {.lines = ceilDivide(p.outputHeight, groups)};
        if (groups > 1 && cut.lines < costs.fewestLines) {
            break;
        }
        cut.lineGroups = ceilDivide(p.outputHeight, cut.lines);
        for (int64_t panels = 1; panels <= ceilDivide(p.channels, costs.lanes); ++panels) {
            cut.channels = panels * costs.lanes;
            if (cut.channels > costs.tileLanes && !cut.isSmall(p, costs)) {
                break;
            }
            cut.channelGroups = ceilDivide(p.channels, cut.channels);
            // Half of a tile takes a quarter longer than a half.
            const bool isUneven = cut.channels % costs.tileLanes != 0;
            const int64_t quarters = 4 * panels + (isUneven ? 1 : 0);
            const int64_t item =
                    cut.channelTime(p, costs) * costs.lanes * quarters / 4 + costs.item;
            const int64_t time = ceilDivide(cut.items(p), threads) * item;
            // Small work items even out what threads are late by.
            if (time < least - least / 32) {
                least = time;
                best = cut;
            }
        }
    }
    return best;
}

FusedWorkItem FusedTiling::item(const FusedFeatureMap& p, int64_t index) const {
    const int64_t lineGroup = index / channelGroups;
    FusedWorkItem item = {.batch = lineGroup / lineGroups,
                          .line = lineGroup % lineGroups * lines,
                          .channel = index % channelGroups * channels};
    item.lines = std::min(lines, p.outputHeight - item.line);
    item.channels = std::min(channels, p.channels - item.channel);
    return item;
}

ReachedPart ReachedPart::of(const FusedFeatureMap& p, const FusedTiling& cut,
                            const FusedWorkItem& item) {
    const int64_t top = item.line * p.strideH - p.top;
    const int64_t reached = p.reachedLines(item.lines);
    ReachedPart part;
    part.lineLength = p.reachedPixels() * cut.channels;
    part.firstLine = std::clamp<int64_t>(-top, 0, reached);
    part.endLine = std::clamp<int64_t>(p.height - top, part.firstLine, reached);
    part.line = top + part.firstLine;
    part.left = std::min(p.left, p.reachedPixels());
    part.pixels = std::min(p.width, p.reachedPixels() - part.left);
    part.offset = part.firstLine * part.lineLength + part.left * cut.channels;
    return part;
}

}  // namespace halyard::engine::cpu
