// SPDX-License-Identifier: Apache-2.0
//
// Means: how the sum of elements that become one is made an element of the output, by the rules of
// the nodes that have means.

#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "engine/graph/graph.h"
#include "engine/graph/nodes.h"
#include "engine/graph/tensor.h"

namespace halyard::engine::gpu {

// A copy of the kernels' struct.
struct MeanNumbers {
    int32_t count = 1;  // elements that become one
    int32_t least = 0;
    int32_t most = 0;
    float multiplier = 0.0F;  // quantized_mean.h
    float bias = 0.0F;
    float low = -std::numeric_limits<float>::infinity();
    float high = std::numeric_limits<float>::infinity();
};

struct Mean {
    std::string defines;  // for kMeanText: the rule
    MeanNumbers numbers;
};

// Of x's elements, `count` at a time, where supports() holds for the node. Of pooling that takes
// no means: its limits alone.
Mean meanOf(const Reduce& node, const TensorType& x, const TensorType& output, int64_t count);
Mean meanOf(const Pool2d& node, const TensorType& x, const TensorType& output, int64_t count);
// Of a node for which isMeanOfFeatureMaps() holds.
Mean meanOf(const Node& node, const TensorType& x, const TensorType& output, int64_t count);

// Whether each feature map of x [N, H, W, C] becomes the mean of its positions.
bool isMeanOfFeatureMaps(const Pool2d& node, const Shape& x, const Shape& output);
// The same of any node, as far as the graph tells.
bool isMeanOfFeatureMaps(const Graph& graph, const Node& node);

// For texts of kernels: MEAN(sum, n), of MeanNumbers n, as it is stored.
inline constexpr std::string_view kMeanText = R"(
typedef struct {
    int count;
    int least;
    int most;
    float multiplier;
    float bias;
    float low;
    float high;
} MeanNumbers;

#if defined(MEAN_OF_BYTES)
#define MEAN(sum, n) \
    round_and_clamp((float)(sum) * (n).multiplier + (n).bias, 0, (n).least, (n).most)
#elif defined(MEAN_IN_STEPS)
int mean_in_steps(const long sum, const MeanNumbers n) {
    const long half_count = sum > 0 ? n.count / 2 : -(n.count / 2);
    return clamp((int)((sum + half_count) / n.count), n.least, n.most);
}
#define MEAN(sum, n) mean_in_steps(sum, n)
#else
#define MEAN(sum, n) between((sum) / (float)(n).count, (n).low, (n).high)
#endif
)";

}  // namespace halyard::engine::gpu
