// SPDX-License-Identifier: Apache-2.0
//
// The kernels of recurrent nodes.

#pragma once

#include <string_view>

namespace halyard::engine::gpu {

// GEMM of inputs: a tile of 16 by 16 for each work-group; each work-item has two of its elements.
inline constexpr std::string_view kInputGemmText = R"(
#define TILE 16
__kernel __attribute__((reqd_work_group_size(16, 8, 1))) void input_gemm(
        IN(px), IN(weights),
#ifdef BIAS
        IN(bias),
#endif
        OUT(pr), const int rows, const int columns, const int depth, const int stride) {
    const int along = (int)get_local_id(0);
    const int down = (int)get_local_id(1);
    const int column = (int)get_global_id(0);
    const int first_column = column - along;
    const int first_row = ((int)get_global_id(1) - down) * 2;
    BIND_IN(T, px);
    BIND_IN(T, weights);
    BIND_OUT(F32, pr);
    __local float x_tile[TILE][TILE + 1];
    __local float weight_tile[TILE][TILE + 1];
    float sum[2] = {0.0f, 0.0f};
    for (int begin = 0; begin < depth; begin += TILE) {
        const int k = begin + along;
        for (int i = down; i < TILE; i += 8) {
            const int row = first_row + i;
            const int unit = first_column + i;
            x_tile[i][along] =
                row < rows && k < depth ? LOAD(T, px, (size_t)row * depth + k) : 0.0f;
            weight_tile[i][along] =
                unit < columns && k < depth ? LOAD(T, weights, (size_t)unit * depth + k) : 0.0f;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const int count = min(TILE, depth - begin);
        for (int i = 0; i < count; ++i) {
            const float weight = weight_tile[along][i];
            sum[0] = multiply_add(x_tile[down][i], weight, sum[0]);
            sum[1] = multiply_add(x_tile[down + 8][i], weight, sum[1]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (column >= columns) {
        return;
    }
#ifdef BIAS
    BIND_IN(T, bias);
    const float before = LOAD(T, bias, column);
#else
    const float before = 0.0f;
#endif
    for (int i = 0; i < 2; ++i) {
        const int row = first_row + down + 8 * i;
        if (row < rows) {
            const size_t at = (size_t)row * stride + column;
#ifdef ADDS
            pr[at] += sum[i];
#else
            pr[at] = before + sum[i];
#endif
        }
    }
}
)";

// For the kernels below: Numbers, and what a cell makes of its gates.
inline constexpr std::string_view kCellText = R"(
typedef struct {
    int batch;
    int units;
    int state_size;
    int state_stride;
    int x_size;
    int x_stride;
    int sums_stride;
    int output_stride;
    float low;
    float high;
    float cell_clip;
    float epsilon;
    int function;
} Numbers;

#if GATES == 1
#define EACH_GATE(DO) DO(0)
#elif GATES == 3
#define EACH_GATE(DO) DO(0) DO(1) DO(2)
#else
#define EACH_GATE(DO) DO(0) DO(1) DO(2) DO(3)
#endif
#define FORGET (GATES - 3)
#define MODULATION (GATES - 2)
#define LET_OUT (GATES - 1)
#define BIAS_PARAMETER(i) IN(bias##i),
#define BIND_BIAS(i) BIND_IN(T, bias##i);

float logistic(float x) {
    return 1.0f / (1.0f + exp(-x));
}

// LstmAttributes::Function.
float function_of(float x, int function) {
    switch (function) {
        case 1:
            return between(x, 0.0f, INFINITY);
        case 2:
            return between(x, -1.0f, 1.0f);
        case 3:
            return between(x, 0.0f, 6.0f);
        case 4:
            return tanh(x);
        case 5:
            return logistic(x);
        default:
            return x;
    }
}
#define FUNCTION(x) function_of(x, n.function)

#ifdef PEEPHOLES
#if GATES == 4
#define PEEPHOLE_PARAMETERS IN(peephole_in), IN(peephole_forget), IN(peephole_out),
#define BIND_PEEPHOLES \
    BIND_IN(T, peephole_in); BIND_IN(T, peephole_forget); BIND_IN(T, peephole_out)
#define SEEN_IN(c, u) (c) * LOAD(T, peephole_in, u)
#else
#define PEEPHOLE_PARAMETERS IN(peephole_forget), IN(peephole_out),
#define BIND_PEEPHOLES BIND_IN(T, peephole_forget); BIND_IN(T, peephole_out)
#endif
#define SEEN_FORGET(c, u) (c) * LOAD(T, peephole_forget, u)
#define SEEN_OUT(c, u) (c) * LOAD(T, peephole_out, u)
#else
#define PEEPHOLE_PARAMETERS
#define BIND_PEEPHOLES
#define SEEN_IN(c, u) 0.0f
#define SEEN_FORGET(c, u) 0.0f
#define SEEN_OUT(c, u) 0.0f
#endif
#ifdef CELL
#define CELL_PARAMETERS PEEPHOLE_PARAMETERS IN(cell), OUT(next_cell),
#define BIND_CELL \
    BIND_PEEPHOLES; \
    BIND_IN(CELL_IN, cell); \
    BIND_OUT(CELL_OUT, next_cell)
#endif
#ifdef RESULT
#define RESULT_PARAMETER OUT(result),
#define STORE_RESULT(row, unit, value) \
    { BIND_OUT(RESULT, result); STORE(RESULT, result, (row) * n.units + (unit), value); }
#else
#define RESULT_PARAMETER
#define STORE_RESULT(row, unit, value)
#endif
#ifdef OUTPUT
#define OUTPUT_PARAMETER OUT(output),
#define STORE_OUTPUT(row, unit, value) \
    { BIND_OUT(T, output); STORE(T, output, (row) * n.output_stride + (unit), value); }
#else
#define OUTPUT_PARAMETER
#define STORE_OUTPUT(row, unit, value)
#endif

// The next state of a cell.
float updated(float before, float in, float forget, float modulation, float clip) {
    const float next = forget * before + in * modulation;
    return clip > 0.0f ? between(next, -clip, clip) : next;
}
)";

// A unit for each work-group, of all its gates and some elements of the batch.
inline constexpr std::string_view kRecurrentStepText = R"(
#define WORK_ITEMS 64
#define RECURRENT_PARAMETER(i) IN(recurrent##i),
#define BIND_RECURRENT(i) BIND_IN(T, recurrent##i);
#define WEIGHT_PARAMETER(i) IN(weight##i),
#define BIND_WEIGHT(i) BIND_IN(T, weight##i);

__kernel __attribute__((reqd_work_group_size(WORK_ITEMS, 1, 1))) void recurrent_step(
        IN(state), EACH_GATE(RECURRENT_PARAMETER)
#ifdef X
        IN(px), EACH_GATE(WEIGHT_PARAMETER)
#endif
#ifdef SUMS
        IN(sums),
#endif
#ifdef BIAS
        EACH_GATE(BIAS_PARAMETER)
#endif
#ifdef CELL
        CELL_PARAMETERS
#endif
        RESULT_PARAMETER OUTPUT_PARAMETER
        const Numbers n) {
    const int unit = (int)(get_global_id(0) / WORK_ITEMS);
    const int lane = (int)get_local_id(0);
    const int first = (int)get_global_id(1) * ROWS;
    float sum[GATES][ROWS];
    for (int i = 0; i < GATES; ++i) {
        for (int row = 0; row < ROWS; ++row) {
            sum[i][row] = 0.0f;
        }
    }
#define ADD_RECURRENT(i) { \
        const float weight = LOAD(T, recurrent##i, unit * n.state_size + k); \
        for (int row = 0; row < ROWS; ++row) { \
            sum[i][row] = multiply_add(weight, element[row], sum[i][row]); \
        } \
    }
#define ADD_WEIGHT(i) { \
        const float weight = LOAD(T, weight##i, unit * n.x_size + k); \
        for (int row = 0; row < ROWS; ++row) { \
            sum[i][row] = multiply_add(weight, element[row], sum[i][row]); \
        } \
    }
    BIND_IN(STATE, state);
    EACH_GATE(BIND_RECURRENT)
    for (int k = lane; k < n.state_size; k += WORK_ITEMS) {
        float element[ROWS];
        for (int row = 0; row < ROWS; ++row) {
            element[row] = first + row < n.batch
                ? LOAD(STATE, state, (first + row) * n.state_stride + k) : 0.0f;
        }
        EACH_GATE(ADD_RECURRENT)
    }
#ifdef X
    BIND_IN(T, px);
    EACH_GATE(BIND_WEIGHT)
    for (int k = lane; k < n.x_size; k += WORK_ITEMS) {
        float element[ROWS];
        for (int row = 0; row < ROWS; ++row) {
            element[row] = first + row < n.batch
                ? LOAD(T, px, (first + row) * n.x_stride + k) : 0.0f;
        }
        EACH_GATE(ADD_WEIGHT)
    }
#endif
    __local float local_memory[GATES * ROWS][WORK_ITEMS];
    for (int i = 0; i < GATES; ++i) {
        for (int row = 0; row < ROWS; ++row) {
            local_memory[i * ROWS + row][lane] = sum[i][row];
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int apart = WORK_ITEMS / 2; apart > 0; apart /= 2) {
        if (lane < apart) {
            for (int i = 0; i < GATES * ROWS; ++i) {
                local_memory[i][lane] += local_memory[i][lane + apart];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const int row = first + lane;
    if (lane >= ROWS || row >= n.batch) {
        return;
    }
    float total[GATES];
    for (int i = 0; i < GATES; ++i) {
        total[i] = local_memory[i * ROWS + lane][0];
    }
#ifdef SUMS
    BIND_IN(F32, sums);
    for (int i = 0; i < GATES; ++i) {
        total[i] += sums[(size_t)row * n.sums_stride + i * n.units + unit];
    }
#endif
#ifdef BIAS
    EACH_GATE(BIND_BIAS)
#define ADD_BIAS(i) total[i] += LOAD(T, bias##i, unit);
    EACH_GATE(ADD_BIAS)
#endif
#ifdef CELL
    BIND_CELL;
    const int at = row * n.units + unit;
    const float before = LOAD(CELL_IN, cell, at);
    const float forget = logistic(total[FORGET] + SEEN_FORGET(before, unit));
#if GATES == 4
    const float in = logistic(total[0] + SEEN_IN(before, unit));
#else
    const float in = 1.0f - forget;
#endif
    const float next = updated(before, in, forget, FUNCTION(total[MODULATION]), n.cell_clip);
    STORE(CELL_OUT, next_cell, at, next);
    const float value = logistic(total[LET_OUT] + SEEN_OUT(next, unit)) * FUNCTION(next);
    STORE_RESULT(row, unit, value)
    STORE_OUTPUT(row, unit, value)
#elif defined(RAW)
    BIND_OUT(F32, result);
    for (int i = 0; i < GATES; ++i) {
        result[(row * GATES + i) * n.units + unit] = total[i];
    }
#else
    const float value = between(total[0], n.low, n.high);
    STORE_RESULT(row, unit, value)
    STORE_OUTPUT(row, unit, value)
#endif
}
)";

// An element of the batch for each work-group: gates that are normalised wait for all of their
// units. The scratch memory of the cell's input gate keeps the cell's next state.
inline constexpr std::string_view kNormalizedCellText = R"(
FOLD(float, sum_of, a + b)
#define NORM_PARAMETER(i) IN(norm##i),
#define BIND_NORM(i) BIND_IN(T, norm##i);
#define EACH(u) for (int u = LANE; u < n.units; u += WORK_ITEMS)
#define RAW(i, u) raw[(ROW * GATES + (i)) * n.units + (u)]

#define SETTLE(i, VALUE) \
    float mean##i = 0.0f; \
    EACH(u) { \
        mean##i += VALUE; \
    } \
    mean##i = sum_of(mean##i, local_memory) / (float)n.units; \
    float inverse##i = 0.0f; \
    EACH(u) { \
        const float distance = VALUE - mean##i; \
        inverse##i += distance * distance; \
    } \
    inverse##i = 1.0f / sqrt(sum_of(inverse##i, local_memory) / (float)n.units + n.epsilon);
#define NORMALIZED_(i, VALUE) \
    ((VALUE - mean##i) * inverse##i * LOAD(T, norm##i, u) + LOAD(T, bias##i, u))
#define NORMALIZED(i, VALUE) NORMALIZED_(i, VALUE)
#define SETTLED(i, VALUE) SETTLE(i, VALUE)
#if GATES == 4
#define AT_FORGET 1
#define AT_MODULATION 2
#define AT_OUT 3
#else
#define AT_FORGET 0
#define AT_MODULATION 1
#define AT_OUT 2
#endif
#define IN_SUM (RAW(0, u) + SEEN_IN(LOAD(CELL_IN, cell, ROW * n.units + u), u))
#define FORGET_SUM (RAW(FORGET, u) + SEEN_FORGET(LOAD(CELL_IN, cell, ROW * n.units + u), u))
#define MODULATION_SUM RAW(MODULATION, u)
#define OUT_SUM (RAW(LET_OUT, u) + SEEN_OUT(RAW(MODULATION, u), u))

__kernel __attribute__((reqd_work_group_size(WORK_ITEMS, 1, 1))) void normalized_cell(
        OUT(raw), EACH_GATE(NORM_PARAMETER) EACH_GATE(BIAS_PARAMETER)
        CELL_PARAMETERS RESULT_PARAMETER OUTPUT_PARAMETER
        const Numbers n) {
    LOCAL_MEMORY(float, local_memory);
    BIND_OUT(F32, raw);
    EACH_GATE(BIND_NORM)
    EACH_GATE(BIND_BIAS)
    BIND_CELL;
#if GATES == 4
    SETTLED(0, IN_SUM)
#endif
    SETTLED(AT_FORGET, FORGET_SUM)
    SETTLED(AT_MODULATION, MODULATION_SUM)
    EACH(u) {
        const float forget = logistic(NORMALIZED(AT_FORGET, FORGET_SUM));
#if GATES == 4
        const float in = logistic(NORMALIZED(0, IN_SUM));
#else
        const float in = 1.0f - forget;
#endif
        const int at = ROW * n.units + u;
        const float modulation = FUNCTION(NORMALIZED(AT_MODULATION, MODULATION_SUM));
        const float next =
            updated(LOAD(CELL_IN, cell, at), in, forget, modulation, n.cell_clip);
        RAW(MODULATION, u) = next;
        STORE(CELL_OUT, next_cell, at, next);
    }
    SETTLED(AT_OUT, OUT_SUM)
    EACH(u) {
        const float next = RAW(MODULATION, u);
        const float value = logistic(NORMALIZED(AT_OUT, OUT_SUM)) * FUNCTION(next);
        STORE_RESULT(ROW, u, value)
        STORE_OUTPUT(ROW, u, value)
    }
}
)";

}  // namespace halyard::engine::gpu
