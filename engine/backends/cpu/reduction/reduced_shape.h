// SPDX-License-Identifier: Apache-2.0
//
// The axes of a reduction's input, merged into kept and reduced ones.

#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>

#include "engine/graph/tensor.h"
#include "engine/numerics/index_walk.h"

namespace halyard::engine::cpu {

// Axes of x that are walked one index after the other.
class AxisWalk {
  public:
    void add(int64_t extent, int64_t stride) {
        mAxes[mRank++] = {.extent = extent, .stride = stride};
        mCount *= extent;
    }
    int64_t count() const { return mCount; }
    // Where index i, in row-major order, lies in x.
    int64_t offsetOf(int64_t i) const {
        int64_t offset = 0;
        for (size_t axis = mRank; axis-- > 0;) {
            offset += i % mAxes[axis].extent * mAxes[axis].stride;
            i /= mAxes[axis].extent;
        }
        return offset;
    }

  private:
    struct Axis {
        int64_t extent = 1;
        int64_t stride = 0;
    };
    std::array<Axis, kMaxRank> mAxes;
    size_t mRank = 0;
    int64_t mCount = 1;
};

// x by what becomes of its axes. Neighbours that go, or stay, are one axis.
struct ReducedShape {
    AxisWalk kept;    // but for the innermost ones
    AxisWalk folded;  // but for the last ones, which are `reduced`
    int64_t reduced = 1;
    int64_t inner = 1;  // innermost axes that are kept

    int64_t count() const { return folded.count() * reduced; }
};

inline ReducedShape reducedShape(const Shape& x, const std::bitset<kMaxRank>& axes) {
    ReducedShape shape;
    size_t axis = x.rank();
    while (axis > 0 && !axes[axis - 1]) {
        shape.inner *= x[--axis];
    }
    while (axis > 0 && axes[axis - 1]) {
        shape.reduced *= x[--axis];
    }
    // From the outermost one on, which changes last.
    const Strides strides = stridesOf(x);
    for (size_t first = 0; first < axis;) {
        const bool isReduced = axes[first];
        int64_t extent = 1;
        for (; first < axis && axes[first] == isReduced; ++first) {
            extent *= x[first];
        }
        (isReduced ? shape.folded : shape.kept).add(extent, strides[first - 1]);
    }
    return shape;
}

}  // namespace halyard::engine::cpu
