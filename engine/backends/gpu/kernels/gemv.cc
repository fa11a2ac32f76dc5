// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/kernels/gemv.h"

#include <string_view>

#include "engine/backends/gpu/kernels/epilogue.h"
#include "engine/backends/gpu/kernels/map.h"
#include "engine/backends/gpu/kernels/vector_load.h"

namespace halyard::engine::gpu {
namespace {

constexpr int32_t kWorkItems = 128;
constexpr int32_t kTeam = 32;  // work-items that share a channel

// Each team of work-items has a channel of a row.
constexpr std::string_view kGemvText = R"(
#define WORK_ITEMS 128
#define TEAM 32
#if VECTOR_WORDS == 4
#define VECTOR_SUM(sum, x, w) \
    WORD_SUM(WORD_SUM(WORD_SUM(WORD_SUM(sum, (x).s0, (w).s0), (x).s1, (w).s1), (x).s2, (w).s2), \
             (x).s3, (w).s3)
#elif VECTOR_WORDS == 2
#define VECTOR_SUM(sum, x, w) WORD_SUM(WORD_SUM(sum, (x).s0, (w).s0), (x).s1, (w).s1)
#else
#define VECTOR_SUM(sum, x, w) WORD_SUM(sum, x, w)
#endif

__kernel __attribute__((reqd_work_group_size(WORK_ITEMS, 1, 1))) void gemv(
        PARAMETERS EPILOGUES_PARAMETERS) {
    BIND_ALL;
    const int item = (int)get_local_id(0);
    const int lane = item % TEAM;
    const int channel = (int)get_global_id(0) / TEAM;
    const int position = (int)get_global_id(1);
    const int x_row = position * g.depth;
    const int w_row = min(channel, g.channels - 1) * g.depth;
    __local SUM sums[WORK_ITEMS];
    SUM sum = 0;
#ifdef QUANTIZED
    __local int x_sums[WORK_ITEMS];
    __local int w_sums[WORK_ITEMS];
    int x_sum = 0;
    int w_sum = 0;
#endif
    for (int k = lane * VECTOR_ELEMENTS; k < g.depth; k += TEAM * VECTOR_ELEMENTS) {
        const Vector x = FETCH(X, px, x_row + k);
        const Vector w = FETCH(W, pw, w_row + k);
        sum = VECTOR_SUM(sum, x, w);
#ifdef QUANTIZED
        x_sum += ROW_SUM(X, x);
        w_sum += ROW_SUM(W, w);
#endif
    }
    sums[item] = sum;
#ifdef QUANTIZED
    x_sums[item] = x_sum;
    w_sums[item] = w_sum;
#endif
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int apart = TEAM / 2; apart > 0; apart /= 2) {
        if (lane < apart) {
            sums[item] += sums[item + apart];
#ifdef QUANTIZED
            x_sums[item] += x_sums[item + apart];
            w_sums[item] += w_sums[item + apart];
#endif
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lane == 0 && channel < g.channels) {
#ifdef QUANTIZED
        SUM whole = WITH_ZEROS(sums[item], g.depth, x_sums[item], w_sums[item]);
#else
        SUM whole = sums[item];
#endif
        whole += START(channel);
        VALUE(R) value = FINISH(whole, channel);
        EPILOGUE(value, position * g.channels + channel)
        STORE(R, output, position * g.channels + channel, value);
    }
}
)";

constexpr KernelFamily kGemv = {
        .kernel = "gemv",
        .usesMatrixUnit = true,
        .shared = {kMapNumbersText, kEpilogueText, kMultiplyAccumulateText, kVectorLoadText},
        .text = kGemvText,
        .local = {kWorkItems, 1, 1}};

}  // namespace

Status addGemv(StepPlan& step, const Geometry& geometry, Activation activation) {
    const VectorLoad vectors = vectorLoadFor(step.input(0).type, geometry.depth, false);
    const MultiplyAccumulate sum = multiplyAccumulateOf(step, activation);
    const Epilogue epilogue = epilogueOf(step);
    HALYARD_ASSIGN_OR_RETURN(
            Launch* const launch,
            step.launch(kGemv, storageDefines(step) + vectors.defines() +
                                       step.matrixFeatures().defines() + epilogue.defines));
    launch->with(step.in(0)).with(step.in(1)).with(step.in(2)).with(sum.multipliers);
    launch->with(step.out(0, step.nodeCount() - 1)).with(geometry).with(sum.numbers);
    launch->withAll(epilogue.arguments);
    launch->workItems = {static_cast<size_t>(geometry.channels) * kTeam,
                         static_cast<size_t>(geometry.positions), 1};
    launch->work = static_cast<uint64_t>(geometry.positions) *
                   static_cast<uint64_t>(geometry.channels) *
                   (static_cast<uint64_t>(geometry.depth) + 4);
    return {};
}

}  // namespace halyard::engine::gpu
