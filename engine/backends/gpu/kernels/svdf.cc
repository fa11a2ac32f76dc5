// SPDX-License-Identifier: Apache-2.0
//
// SVDF: a filter's product with the input takes the last place of its memory; each unit adds what
// its filters make of their memories, and passes them on moved forward by one place.

#include <cstdint>
#include <string>

#include "engine/backends/gpu/kernels/kernels.h"
#include "engine/backends/gpu/kernels/map.h"
#include "engine/backends/gpu/kernels/recurrent_step.h"
#include "engine/numerics/activation_range.h"
#include "engine/numerics/elements.h"

namespace halyard::engine::gpu {
namespace {

// A unit of an element of the batch for each work-item.
constexpr KernelFamily kMemories = {.kernel = "remember",
                                    .text = R"(
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void remember(
        IN(state), IN(features), IN(weights),
#ifdef BIAS
        IN(bias),
#endif
        OUT(passed_on), OUT(output), const int count, const int units, const int rank,
        const int memory, const float low, const float high) {
    const int at = (int)get_global_id(0);
    if (at >= count) {
        return;
    }
    BIND_IN(T, state);
    BIND_IN(F32, features);
    BIND_IN(T, weights);
    BIND_OUT(T, passed_on);
    BIND_OUT(T, output);
    const int unit = at % units;
#ifdef BIAS
    BIND_IN(T, bias);
    float sum = LOAD(T, bias, unit);
#else
    float sum = 0.0f;
#endif
    for (int filter = 0; filter < rank; ++filter) {
        const int first = (at * rank + filter) * memory;
        const int first_weight = (unit * rank + filter) * memory;
        const float feature = features[at * rank + filter];
        for (int i = 0; i < memory; ++i) {
            const float element = i == memory - 1 ? feature : LOAD(T, state, first + i);
            sum = multiply_add(element, LOAD(T, weights, first_weight + i), sum);
            if (i > 0) {
                STORE(T, passed_on, first + i - 1, element);
            }
        }
        if (memory > 0) {
            STORE(T, passed_on, first + memory - 1, 0.0f);
        }
    }
    STORE(T, output, at, between(sum, low, high));
}
)",
                                    .local = {64, 1, 1}};

}  // namespace

Status supports(const Svdf& /*node*/, const Graph& /*graph*/, const Node& /*whole*/,
                const DeviceFacts& /*facts*/) {
    return {};
}

Status plan(const Svdf& node, StepPlan& step) {
    constexpr size_t kBias = 3;
    const Shape& x = step.input(0).shape;
    const int64_t filters = step.input(2).shape[0];
    const std::string_view storage = storageOf(step.input(0).type);
    const Operand features = step.scratch(static_cast<size_t>(x[0] * filters) * sizeof(float));
    HALYARD_RETURN_IF_ERROR(addRecurrentStep(
            step, {.storage = storage,
                   .gates = {{.recurrentWeights = step.in(1)}},
                   .batch = x[0],
                   .units = filters,
                   .state = {.elements = {step.in(0), storage}, .size = x[1], .stride = x[1]},
                   .result = Stored{.operand = features}}));
    std::string defines = "#define T " + std::string(storage) + "\n";
    if (step.has(kBias)) {
        defines += "#define BIAS 1\n";
    }
    const RealRange range = rangeOf(node.activation);
    const auto count = static_cast<int32_t>(countOf(step.output(1).shape));
    const int32_t memory = step.input(2).shape[1];
    HALYARD_ASSIGN_OR_RETURN(Launch* const launch, step.launch(kMemories, defines));
    launch->with(step.in(4)).with(features).with(step.in(2));
    if (step.has(kBias)) {
        launch->with(step.in(kBias));
    }
    launch->with(step.out(0)).with(step.out(1)).with(count).with(step.output(1).shape[1]);
    launch->with(node.rank).with(memory).with(range.low).with(range.high);
    launch->workItems = {static_cast<size_t>(count), 1, 1};
    launch->work = static_cast<uint64_t>(count) * static_cast<uint64_t>(node.rank) *
                   (static_cast<uint64_t>(memory) + 4) * 4;
    return {};
}

}  // namespace halyard::engine::gpu
