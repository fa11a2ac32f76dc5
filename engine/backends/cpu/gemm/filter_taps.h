// SPDX-License-Identifier: Apache-2.0
//
// Which weights of a node's filter the columns of a GEMM are made of, where those are not all of
// them in the order in which they lie: a stride phase of a transposed convolution takes some taps,
// the last of them first.

#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "engine/base/fields.h"

namespace halyard::engine::cpu {

// Of a filter [channel][filterH][filterW][depth], rows firstRow, firstRow + rowStep ... and columns
// alike, `rows` and `columns` of them, each from the last to the first. A GEMM may have more
// channels than the filter: those of the next stride phase of a line follow, whose taps begin a
// column farther on.
struct FilterTaps {
    int64_t channels = 0;  // of the filter; 0: all weights, as they lie
    int64_t filterH = 0, filterW = 0, depth = 0;
    int64_t rows = 0, firstRow = 0, rowStep = 1;
    int64_t columns = 0, firstColumn = 0, columnStep = 1;

    HALYARD_FIELDS(channels, filterH, filterW, depth, rows, firstRow, rowStep, columns, firstColumn,
                   columnStep)

    // The filter's channel that a column of the GEMM has the weights, bias and scale of.
    int64_t sourceOf(int64_t column) const { return channels == 0 ? column : column % channels; }
};

// Reads them while they are packed.
template <typename T>
class TapReader {
  public:
    // `length`: weights of a column of the GEMM.
    TapReader(const FilterTaps& taps, const T* weights, int64_t length)
        : mTaps(taps), mWeights(weights), mLength(length) {}

    // Those of `count` columns from `first` on, one column behind the other. Valid up to the next
    // call.
    const T* channels(int64_t first, int64_t count) {
        if (mTaps.channels == 0) {
            return mWeights + first * mLength;
        }
        mRead.clear();
        for (int64_t column = first; column < first + count; ++column) {
            read(column % mTaps.channels, mTaps.firstColumn + column / mTaps.channels);
        }
        return mRead.data();
    }

  private:
    void read(int64_t channel, int64_t firstColumn) {
        for (int64_t i = mTaps.rows - 1; i >= 0; --i) {
            const int64_t row = channel * mTaps.filterH + mTaps.firstRow + i * mTaps.rowStep;
            for (int64_t j = mTaps.columns - 1; j >= 0; --j) {
                const int64_t tap = row * mTaps.filterW + firstColumn + j * mTaps.columnStep;
                const T* const from = mWeights + tap * mTaps.depth;
                mRead.insert(mRead.end(), from, from + mTaps.depth);
            }
        }
    }

    const FilterTaps& mTaps;
    const T* const mWeights;
    const int64_t mLength;
    std::vector<T> mRead;
};

}  // namespace halyard::engine::cpu
