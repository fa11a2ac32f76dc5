// SPDX-License-Identifier: Apache-2.0
//
// Layer normalisation: a work-group for each row, whose elements are neighbours.

#include <cstdint>
#include <string>

#include "engine/backends/gpu/kernels/kernels.h"
#include "engine/backends/gpu/kernels/map.h"
#include "engine/backends/gpu/kernels/rows.h"
#include "engine/graph/shape_inference.h"
#include "engine/numerics/elements.h"

namespace halyard::engine::gpu {
namespace {

constexpr RowFamilies kLayer =
        forRows({.kernel = "normalize_layer", .shared = {kRowsText}, .text = R"(
FOLD(float, sum_of, a + b)

#define EACH(i) for (int i = LANE; i < count; i += WORK_ITEMS)

__kernel __attribute__((reqd_work_group_size(WORK_ITEMS, 1, 1))) void normalize_layer(
        IN(px), IN(gammas), IN(betas), OUT(pr), const int count, const float epsilon) {
    BIND_IN(X, px);
    BIND_IN(X, gammas);
    BIND_IN(X, betas);
    BIND_OUT(X, pr);
    LOCAL_MEMORY(float, local_memory);
    const int first = ROW * count;
    float sum = 0.0f;
    EACH(i) {
        sum += LOAD(X, px, first + i);
    }
    const float mean = sum_of(sum, local_memory) / (float)count;
    float squares = 0.0f;
    EACH(i) {
        const float distance = LOAD(X, px, first + i) - mean;
        squares += distance * distance;
    }
    const float variance = sum_of(squares, local_memory) / (float)count;
    const float inverse = 1.0f / sqrt(variance + epsilon);
    EACH(i) {
        float result = (LOAD(X, px, first + i) - mean) * inverse;
#ifdef HAS_GAMMA
        result *= LOAD(X, gammas, i);
#endif
#ifdef HAS_BETA
        result += LOAD(X, betas, i);
#endif
        STORE(X, pr, first + i, result);
    }
}
)"});

}  // namespace

Status supports(const LayerNormalize& /*node*/, const Graph& /*graph*/, const Node& /*whole*/,
                const DeviceFacts& /*facts*/) {
    return {};
}

Status plan(const LayerNormalize& node, StepPlan& step) {
    const Shape& x = step.input(0).shape;
    HALYARD_ASSIGN_OR_RETURN(const size_t axis, resolveAxis(node.axis, x.rank()));
    const int64_t length = countOf(Shape(x.extents().subspan(axis)));
    std::string defines = "#define X " + std::string(storageOf(step.input(0).type)) + "\n";
    defines += step.has(1) ? "#define HAS_GAMMA 1\n" : "";
    defines += step.has(2) ? "#define HAS_BETA 1\n" : "";
    const int64_t count = countOf(x);
    return addRows(step, {.families = kLayer,
                          .defines = defines,
                          .shape = "",
                          .rows = static_cast<uint64_t>(count / length),
                          .length = length,
                          .work = static_cast<uint64_t>(count) * 16,
                          .hand = [&](Launch& launch) {
                              // A kernel looks at none that is left out.
                              launch.with(step.in(0)).with(step.in(step.has(1) ? 1 : 0));
                              launch.with(step.in(step.has(2) ? 2 : 0)).with(step.out());
                              launch.with(static_cast<int32_t>(length)).with(node.epsilon);
                          }});
}

}  // namespace halyard::engine::gpu
