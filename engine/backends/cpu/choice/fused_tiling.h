// SPDX-License-Identifier: Apache-2.0
//
// How the work of fused_pointwise_depthwise.h is cut, and where the parts of an expanded feature
// map lie.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "engine/base/status.h"
#include "engine/graph/nodes.h"
#include "engine/graph/tensor.h"

namespace halyard::engine::cpu {

struct FusedFeatureMap {
    int64_t batches = 1;
    int64_t height = 1, width = 1;
    int64_t outputHeight = 1, outputWidth = 1;
    int64_t depth = 1;  // channels of what is expanded
    int64_t channels = 1;
    int64_t side = 3;  // of the filter
    int64_t strideH = 1, strideW = 1;
    int64_t top = 0, left = 0;  // padding

    static Result<FusedFeatureMap> of(const Shape& x, const Shape& output, const Window2d& window,
                                      int64_t side);

    // Of the part of the feature map, with its padding, that the windows of so many lines reach.
    int64_t reachedLines(int64_t lines) const { return (lines - 1) * strideH + side; }
    int64_t reachedPixels() const { return (outputWidth - 1) * strideW + side; }
};

// The costs of parts of the work, in the time of a multiply-add of the GEMM.
struct FusedCosts {
    int64_t lanes = 1;      // channels that are computed together
    int64_t tileLanes = 1;  // and that are best
    int64_t elementBytes = 1;
    int64_t element = 0;            // of the expanded feature map, beside its products
    int64_t depthwise = 1;          // a multiply-add of the depthwise convolution
    int64_t item = 0;               // to begin one
    int64_t mostTime = 0;           // of a work item: some milliseconds
    int64_t mostWorkItemBytes = 0;  // of what a work item expands: some of a core's L2
    int64_t mostLineGroups = 1;
    int64_t fewestLines = 1;  // of a group, where there are several
};

// A thread's work at a time: some lines of some channels.
struct FusedWorkItem {
    int64_t batch = 0;
    int64_t line = 0, lines = 0;
    int64_t channel = 0, channels = 0;
};

struct FusedTiling {
    int64_t lines = 1;
    int64_t channels = 1;  // a multiple of the lanes
    int64_t lineGroups = 1;
    int64_t channelGroups = 1;

    // The quickest one on so many threads. All lines at once, but where threads would be without
    // work: neighbouring groups both expand the lines that both reach.
    static FusedTiling best(const FusedFeatureMap& p, const FusedCosts& costs, int64_t threads);
    // Whether work items of all lines are small enough.
    static bool pays(const FusedFeatureMap& p, const FusedCosts& costs);

    int64_t items(const FusedFeatureMap& p) const { return p.batches * lineGroups * channelGroups; }
    FusedWorkItem item(const FusedFeatureMap& p, int64_t index) const;
    // Elements that a work item expands, with the padding.
    int64_t length(const FusedFeatureMap& p) const {
        return p.reachedLines(lines) * p.reachedPixels() * channels;
    }
    // Multiply-adds of a work item.
    int64_t operations(const FusedFeatureMap& p) const {
        return channels * (expanded(p) * p.depth + lines * p.outputWidth * p.side * p.side);
    }

  private:
    int64_t expanded(const FusedFeatureMap& p) const {
        return std::min(p.reachedLines(lines), p.height) * p.width;
    }
    int64_t channelTime(const FusedFeatureMap& p, const FusedCosts& costs) const {
        return expanded(p) * (p.depth + costs.element) +
               costs.depthwise * lines * p.outputWidth * p.side * p.side;
    }
    bool isSmall(const FusedFeatureMap& p, const FusedCosts& costs) const;
};

// The part that the windows of a work item reach, as [line][spatial position][channel of the cut]:
// where the feature map lies in it, and the lines of the feature map.
struct ReachedPart {
    int64_t firstLine = 0, endLine = 0;  // of the part, those that are in the feature map
    int64_t line = 0;                    // of the feature map, the first of them
    int64_t left = 0, pixels = 0;        // of each line, those in the feature map
    int64_t lineLength = 0;              // elements
    ptrdiff_t offset = 0;                // elements before the first one of the feature map

    static ReachedPart of(const FusedFeatureMap& p, const FusedTiling& cut,
                          const FusedWorkItem& item);

    bool empty() const { return firstLine == endLine || pixels <= 0; }

    // Fills all that is not in the feature map.
    template <typename T>
    void pad(const FusedFeatureMap& p, const FusedTiling& cut, const FusedWorkItem& item, T* to,
             T padding) const {
        std::fill_n(to, firstLine * lineLength, padding);
        for (int64_t i = firstLine; i < endLine; ++i) {
            T* const begin = to + i * lineLength;
            std::fill_n(begin, left * cut.channels, padding);
            std::fill(begin + (left + pixels) * cut.channels, begin + lineLength, padding);
        }
        std::fill_n(to + endLine * lineLength, (p.reachedLines(item.lines) - endLine) * lineLength,
                    padding);
    }
};

}  // namespace halyard::engine::cpu
