// SPDX-License-Identifier: Apache-2.0
//
// Code that the recurrent kernels share: they compute in float32 whatever type stores the elements,
// and keep their states so from one step of a sequence to the next.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/numerics/reals.h"
#include "engine/plan/kernel_call.h"

namespace halyard::engine::ref {

// A copy of an input's elements, for the kernel to replace.
inline Result<std::span<float>> stateOf(KernelCall& call, size_t input) {
    const ConstTensorView& view = call.input(input);
    const int64_t count = countOf(view.shape());
    HALYARD_ASSIGN_OR_RETURN(const std::span<float> state,
                             call.scratch<float>(static_cast<size_t>(count)));
    const RealReader elements(view);
    HALYARD_RETURN_IF_ERROR(call.forEach(
            count, 1, [&](int64_t i) { state[static_cast<size_t>(i)] = elements[i]; }));
    return state;
}

inline Status store(KernelCall& call, std::span<const float> elements, size_t output) {
    const RealWriter writer(call.output(output));
    return call.forEach(static_cast<int64_t>(elements.size()), 1,
                        [&](int64_t i) { writer.set(i, elements[static_cast<size_t>(i)]); });
}

// The rows of one step: one per element of the batch.
struct Rows {
    const float* first = nullptr;
    int64_t stride = 0;

    const float* operator[](int64_t row) const { return first + row * stride; }
};

// Where the rows of a sequence of steps lie in a tensor of shape [time, batch, size], or [batch,
// time, size] where not time-major.
class SequenceRows {
  public:
    SequenceRows(const Shape& shape, bool timeMajor, bool backward)
        : mTime(shape[timeMajor ? 0 : 1]),
          mBatch(shape[timeMajor ? 1 : 0]),
          mTimeMajor(timeMajor),
          mBackward(backward) {}

    int64_t steps() const { return mTime; }
    int64_t batch() const { return mBatch; }
    // The row of element `element` of the batch in the step that is taken as number `step`.
    int64_t row(int64_t step, int64_t element) const {
        const int64_t time = mBackward ? mTime - 1 - step : step;
        return mTimeMajor ? time * mBatch + element : element * mTime + time;
    }
    // All rows of that step in a tensor whose rows have `size` elements; none without a tensor.
    Rows rows(const float* elements, int64_t size, int64_t step) const {
        return elements == nullptr ? Rows()
                                   : Rows{.first = elements + row(step, 0) * size,
                                          .stride = (mTimeMajor ? 1 : mTime) * size};
    }
    // Stores the state of a step, [batch, size], as its rows of an output.
    Status store(KernelCall& call, std::span<const float> state, int64_t size, int64_t step,
                 size_t output) const {
        const RealWriter writer(call.output(output));
        return call.forEach(mBatch * size, 1, [&](int64_t i) {
            writer.set(row(step, i / size) * size + i % size, state[static_cast<size_t>(i)]);
        });
    }

  private:
    int64_t mTime;
    int64_t mBatch;
    bool mTimeMajor;
    bool mBackward;
};

}  // namespace halyard::engine::ref
