// SPDX-License-Identifier: Apache-2.0
//
// Loads of both operands of a tile to local memory, stage by stage: implicit im2col for x.

#pragma once

#include <string_view>

namespace halyard::engine::gpu {

// A tile has TM rows of x, one for each of its positions, and TN rows of the weights. A stage has
// ROW words of each; a work-item brings the same place of every ROWS_APART-th row. With ASYNC_COPY
// rows go from global to local memory asynchronously, several stages ahead; else they wait in
// registers. `Rows` is where the work-item's rows of the next stage are.
inline constexpr std::string_view kTileLoadText = R"(
#define STEP (ROW * PACK)
#define ROW_WORDS (ROW + 4)
#define VECTORS (STEP / VECTOR_ELEMENTS)
#define ROWS_APART (WORK_ITEMS / VECTORS)
#define X_EACH ((TM + ROWS_APART - 1) / ROWS_APART)
#define W_EACH ((TN + ROWS_APART - 1) / ROWS_APART)
#define TILE_WORDS ((TM + TN) * ROW_WORDS)
// Whether this work-item brings row `row` of so many.
#define BRINGS(row, rows) ((rows) % ROWS_APART == 0 || (row) < (rows))

typedef struct {
    int starts[X_EACH];  // of the first element, of x
#ifndef POINTWISE
    int ys[X_EACH];
    int xs[X_EACH];
    // The part of a row that lies at one place of the filter.
    int down;
    int right;
    int element;
    int padded_part;    // elements that it takes
    int across;  // so many beside each other
#ifdef GATHERS
    int is_whole;
    int part;  // elements that it has
#endif
#endif
    int depth;  // elements that a row has in all
    int w_start;
    int w_rows;
    int k;    // number of the element at which the work-item's next vectors begin
    int end;  // what is behind is zero
    int row;  // first of the work-item's
} Rows;

// A vector on its way: what is at number `at`, or a vector of words `otherwise`.
#ifdef ASYNC_COPY
#define BRING(T, p, next, is_there, at, otherwise, to) \
    COPY_ASYNC(LOCAL_ADDRESS(to), (p) + ((is_there) ? (at) : 0), is_there, otherwise)
#else
#define BRING(T, p, next, is_there, at, otherwise, to) \
    next = (Vector)(otherwise);                        \
    if (is_there) {                                    \
        next = FETCH(T, p, at);                        \
    }
#endif

#if defined(GATHERS) && PACK > 1
// Elements `first` until `end` of a part, of which the word begins with number `element`. Up to
// `part` others are padding.
#define GATHER(T, p, next, at, element, first, end, part, padding)             \
    next = 0;                                                                  \
    UNROLL for (int q = 0; q < PACK; ++q) {                                    \
        uint bits = (element) + q < (part) ? (padding) & (~0u >> (32 - 32 / PACK)) : 0; \
        if ((element) + q >= (first) && (element) + q < (end)) {               \
            bits = ((const __global BITS(T)*)(p))[(at) + q];                   \
        }                                                                      \
        next |= bits << q * (32 / PACK);                                       \
    }
#endif

// Where the work-item's part of a row begins, `k` elements behind its first.
void start_rows(Rows* const rows, const int k, const int end) {
    rows->k = k;
    rows->end = end;
#ifndef POINTWISE
    rows->down = k / (rows->padded_part * rows->across);
    rows->right = k / rows->padded_part - rows->down * rows->across;
    rows->element = k % rows->padded_part;
#endif
}

void bring_rows(const Rows* const rows, const __global ELEMENT(X)* const px,
                const __global ELEMENT(W)* const pw, const Geometry g, const uint padding,
                Vector* const next_x, Vector* const next_w, __local uint* const to) {
    const int k = rows->k;
#ifndef POINTWISE
    const int moved_down = rows->down * g.dilation_h;
    const int moved_right = rows->right * g.dilation_w;
    const int moved = (moved_down * g.width + moved_right) * g.depth + rows->element;
#endif
#ifdef GATHERS
    const int part = k < rows->end ? rows->part : 0;
    const int w_moved = (rows->down * rows->across + rows->right) * rows->part + rows->element;
#endif
UNROLL
    for (int i = 0; i < X_EACH; ++i) {
        if (!BRINGS(rows->row + i * ROWS_APART, TM)) {
            continue;
        }
#ifdef POINTWISE
        BRING(X, px, next_x[i], k < rows->end && rows->starts[i] >= 0, rows->starts[i] + k, 0,
              to + i * ROWS_APART * ROW_WORDS);
#else
        const int y = rows->ys[i] + moved_down;
        const int x = rows->xs[i] + moved_right;
        const int at = rows->starts[i] + moved;
#ifdef GATHERS
        int first = 0;
        int end = x >= 0 && x < g.width ? part : 0;
        if (rows->is_whole) {
            first = -x * g.depth;
            end = min(part, (g.width - x) * g.depth);
        }
        end = y >= 0 && y < g.height ? end : 0;
#if PACK > 1
        GATHER(X, px, next_x[i], at, rows->element, first, end, part, padding);
#else
        BRING(X, px, next_x[i], rows->element >= first && rows->element < end, at, 0,
              to + i * ROWS_APART * ROW_WORDS);
#endif
#else
        BRING(X, px, next_x[i],
              k < rows->end && y >= 0 && y < g.height && x >= 0 && x < g.width, at,
              k < rows->end ? padding : 0, to + i * ROWS_APART * ROW_WORDS);
#endif
#endif
    }
UNROLL
    for (int i = 0; i < W_EACH; ++i) {
        if (!BRINGS(rows->row + i * ROWS_APART, TN)) {
            continue;
        }
        const bool is_there = k < rows->end && i * ROWS_APART < rows->w_rows;
        const int start = rows->w_start + i * ROWS_APART * rows->depth;
#if defined(GATHERS) && PACK > 1
        GATHER(W, pw, next_w[i], start + w_moved, rows->element, 0, is_there ? part : 0, 0, 0);
#elif defined(GATHERS)
        BRING(W, pw, next_w[i], is_there, start + w_moved, 0,
              to + (TM + i * ROWS_APART) * ROW_WORDS);
#else
        BRING(W, pw, next_w[i], is_there, start + k, 0, to + (TM + i * ROWS_APART) * ROW_WORDS);
#endif
    }
}

// To the next round's.
void move_rows(Rows* const rows) {
    rows->k += STEP;
#ifndef POINTWISE
    for (rows->element += STEP; rows->element >= rows->padded_part;
         rows->element -= rows->padded_part) {
        ++rows->right;
        if (rows->right == rows->across) {
            rows->right = 0;
            ++rows->down;
        }
    }
#endif
}
)";

}  // namespace halyard::engine::gpu
