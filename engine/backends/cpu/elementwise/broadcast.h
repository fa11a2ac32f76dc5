// SPDX-License-Identifier: Apache-2.0
//
// Two inputs that are broadcast to an output, as rows that kernels go along.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "engine/base/status.h"
#include "engine/numerics/elements.h"
#include "engine/numerics/index_walk.h"
#include "engine/plan/kernel_call.h"

namespace halyard::engine::cpu {

// A row of the output: elements of `a` and `b` lie next to each other, or are the same one.
struct CombinedRow {
    const void* a = nullptr;
    const void* b = nullptr;
    void* to = nullptr;
    int64_t count = 0;
    bool repeatsA = false;
    bool repeatsB = false;
};

// The output as rows along its last axis. Neighbouring axes that are broadcast alike become one.
class Broadcast {
  public:
    Broadcast(const Shape& a, const Shape& b, const Shape& output) {
        const Strides ofA = broadcastStrides(a, output);
        const Strides ofB = broadcastStrides(b, output);
        for (size_t axis = 0; axis < output.rank(); ++axis) {
            add({.extent = output[axis], .a = ofA[axis], .b = ofB[axis]});
        }
        if (mRank == 0) {
            mAxes[mRank++] = {.extent = 1, .a = 1, .b = 1};
        }
    }

    int64_t rowLength() const { return mAxes[mRank - 1].extent; }
    bool repeatsA() const { return mAxes[mRank - 1].a == 0; }
    bool repeatsB() const { return mAxes[mRank - 1].b == 0; }

    // Whether each row of the output is a row of one input, the next for the next, with the one row
    // that the other input has.
    bool repeatsRowOfA() const { return mRank == 2 && isRepeated(&Axis::a) && isWhole(&Axis::b); }
    bool repeatsRowOfB() const { return mRank == 2 && isRepeated(&Axis::b) && isWhole(&Axis::a); }

    // Where a row begins in the inputs.
    struct Offsets {
        int64_t a = 0;
        int64_t b = 0;
    };
    Offsets offsetsOf(int64_t row) const {
        Offsets offsets;
        for (size_t axis = mRank - 1; axis-- > 0;) {
            const int64_t i = row % mAxes[axis].extent;
            row /= mAxes[axis].extent;
            offsets.a += i * mAxes[axis].a;
            offsets.b += i * mAxes[axis].b;
        }
        return offsets;
    }

  private:
    struct Axis {
        int64_t extent = 1;
        int64_t a = 0;
        int64_t b = 0;
    };

    bool isRepeated(int64_t Axis::*stride) const {
        return mAxes[0].*stride == 0 && mAxes[1].*stride == 1;
    }
    bool isWhole(int64_t Axis::*stride) const {
        return mAxes[0].*stride == mAxes[1].extent && mAxes[1].*stride == 1;
    }

    void add(const Axis& axis) {
        if (axis.extent == 1) {
            return;
        }
        if (mRank > 0) {
            Axis& outer = mAxes[mRank - 1];
            if (outer.a == axis.extent * axis.a && outer.b == axis.extent * axis.b) {
                outer = {.extent = outer.extent * axis.extent, .a = axis.a, .b = axis.b};
                return;
            }
        }
        mAxes[mRank++] = axis;
    }

    std::array<Axis, kMaxRank + 1> mAxes;
    size_t mRank = 0;
};

// Rows of a few kilobytes.
inline constexpr int64_t kLongRow = 1 << 11;

// forEachRow() where an input has one short row for all: several of them are made one, of that row
// again and again.
template <typename Form>
Status forEachRepeatedRow(KernelCall& call, int64_t operations, const Broadcast& broadcast,
                          Form form) {
    const TensorView& output = call.output(0);
    const auto fromSize = static_cast<int64_t>(elementSize(call.input(0).type->type));
    const auto toSize = static_cast<int64_t>(elementSize(output.type->type));
    const bool repeatsB = broadcast.repeatsRowOfB();
    const auto* const one = call.input(repeatsB ? 1 : 0).as<std::byte>();
    const auto* const all = call.input(repeatsB ? 0 : 1).as<std::byte>();
    auto* const to = output.as<std::byte>();
    const int64_t count = countOf(output.shape());
    const int64_t length = broadcast.rowLength();
    const int64_t rowBytes = length * fromSize;
    const int64_t together = std::min(kLongRow, count) / length * length;
    return call.inParallel((count + together - 1) / together, 16 + together * operations / 4,
                           [&](int64_t begin, int64_t end, size_t /*worker*/) {
                               alignas(64) std::byte repeated[kLongRow * sizeof(uint32_t)];
                               for (int64_t i = 0; i < together * fromSize; i += rowBytes) {
                                   std::memcpy(repeated + i, one, static_cast<size_t>(rowBytes));
                               }
                               for (int64_t i = begin * together;
                                    i < std::min(end * together, count); i += together) {
                                   const std::byte* const own = all + i * fromSize;
                                   form(CombinedRow{.a = repeatsB ? own : repeated,
                                                    .b = repeatsB ? repeated : own,
                                                    .to = to + i * toSize,
                                                    .count = std::min(together, count - i)});
                               }
                           });
}

// Calls form(row) for rows that make up output 0 of inputs 0 and 1, on the threads of the call. An
// element takes `operations` operations. The output has elements.
template <typename Form>
Status forEachRow(KernelCall& call, int64_t operations, Form form) {
    constexpr int64_t kShortRow = kLongRow / 4;
    const TensorView& output = call.output(0);
    const Broadcast broadcast(call.input(0).shape(), call.input(1).shape(), output.shape());
    if (broadcast.rowLength() <= kShortRow &&
        (broadcast.repeatsRowOfA() || broadcast.repeatsRowOfB())) {
        return forEachRepeatedRow(call, operations, broadcast, form);
    }
    const auto fromSize = static_cast<int64_t>(elementSize(call.input(0).type->type));
    const auto toSize = static_cast<int64_t>(elementSize(output.type->type));
    const auto* a = call.input(0).as<std::byte>();
    const auto* b = call.input(1).as<std::byte>();
    auto* to = output.as<std::byte>();
    const int64_t length = broadcast.rowLength();
    const int64_t chunks = (length + kLongRow - 1) / kLongRow;
    const int64_t rows = countOf(output.shape()) / length;
    return call.inParallel(
            rows * chunks, 16 + std::min(length, kLongRow) * operations / 4,
            [&](int64_t begin, int64_t end, size_t /*worker*/) {
                for (int64_t i = begin; i < end; ++i) {
                    const Broadcast::Offsets offsets = broadcast.offsetsOf(i / chunks);
                    const int64_t first = i % chunks * kLongRow;
                    const int64_t firstA = offsets.a + (broadcast.repeatsA() ? 0 : first);
                    const int64_t firstB = offsets.b + (broadcast.repeatsB() ? 0 : first);
                    form(CombinedRow{.a = a + firstA * fromSize,
                                     .b = b + firstB * fromSize,
                                     .to = to + (i / chunks * length + first) * toSize,
                                     .count = std::min(kLongRow, length - first),
                                     .repeatsA = broadcast.repeatsA(),
                                     .repeatsB = broadcast.repeatsB()});
                }
            });
}

}  // namespace halyard::engine::cpu
