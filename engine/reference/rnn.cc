// SPDX-License-Identifier: Apache-2.0
//
// The cell without gates, its sequences, and SVDF.

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "engine/graph/recurrence.h"
#include "engine/numerics/activation_range.h"
#include "engine/reference/kernels.h"
#include "engine/reference/multiply_accumulate.h"
#include "engine/reference/recurrent.h"

namespace halyard::engine::ref {
namespace {

// Inputs of Rnn and RnnSequence; the last two feed a sequence only.
enum Input : size_t { kX, kWeights, kRecurrentWeights, kBias, kHidden, kAux, kAuxWeights };

// b: batch, k: input size, l: size of the auxiliary input, n: units.
class Cell {
  public:
    Cell(Activation activation, KernelCall& call, int64_t batch)
        : mCall(call),
          mRange(rangeOf(activation)),
          mBatch(batch),
          mSize(call.input(kWeights).shape()[1]),
          mUnits(call.input(kWeights).shape()[0]) {}

    Status prepare() {
        HALYARD_ASSIGN_OR_RETURN(mWeights, floatsOf(mCall, kWeights));
        HALYARD_ASSIGN_OR_RETURN(mRecurrentWeights, floatsOf(mCall, kRecurrentWeights));
        HALYARD_ASSIGN_OR_RETURN(mBias, floatsOf(mCall, kBias));
        HALYARD_ASSIGN_OR_RETURN(mHidden, stateOf(mCall, kHidden));
        HALYARD_ASSIGN_OR_RETURN(mNext, mCall.scratch<float>(mHidden.size()));
        if (mCall.inputCount() > kAuxWeights && mCall.input(kAuxWeights).present()) {
            HALYARD_ASSIGN_OR_RETURN(mAuxWeights, floatsOf(mCall, kAuxWeights));
            mAuxSize = mCall.input(kAuxWeights).shape()[1];
        }
        return {};
    }

    Status step(Rows x, Rows aux) {
        const auto computeUnit = [&](int64_t i) -> Status {
            const int64_t row = i / mUnits;
            const int64_t unit = i % mUnits;
            float sum = mBias[unit];
            HALYARD_RETURN_IF_ERROR(
                    addAllProducts(mCall, sum, x[row], mWeights + unit * mSize, mSize));
            if (mAuxWeights != nullptr) {
                HALYARD_RETURN_IF_ERROR(addAllProducts(mCall, sum, aux[row],
                                                       mAuxWeights + unit * mAuxSize, mAuxSize));
            }
            HALYARD_RETURN_IF_ERROR(addAllProducts(mCall, sum, mHidden.data() + row * mUnits,
                                                   mRecurrentWeights + unit * mUnits, mUnits));
            mNext[static_cast<size_t>(i)] = activate(sum, mRange);
            return {};
        };
        HALYARD_RETURN_IF_ERROR(mCall.forEach(mBatch * mUnits, 1, computeUnit));
        std::swap(mHidden, mNext);
        return {};
    }

    std::span<const float> hidden() const { return mHidden; }  // [b, n]
    int64_t units() const { return mUnits; }

  private:
    KernelCall& mCall;
    RealRange mRange;
    int64_t mBatch;
    int64_t mSize;
    int64_t mUnits;
    int64_t mAuxSize = 0;
    const float* mWeights = nullptr;
    const float* mRecurrentWeights = nullptr;
    const float* mBias = nullptr;
    const float* mAuxWeights = nullptr;  // null: none
    std::span<float> mHidden;
    std::span<float> mNext;
};

}  // namespace

Status run(const Rnn& node, KernelCall& call) {
    const Shape& shape = call.input(kX).shape();
    HALYARD_ASSIGN_OR_RETURN(const float* const x, floatsOf(call, kX));
    Cell cell(node.activation, call, shape[0]);
    HALYARD_RETURN_IF_ERROR(cell.prepare());
    HALYARD_RETURN_IF_ERROR(cell.step({.first = x, .stride = shape[1]}, {}));
    HALYARD_RETURN_IF_ERROR(store(call, cell.hidden(), 0));
    return store(call, cell.hidden(), 1);
}

Status run(const RnnSequence& node, KernelCall& call) {
    const SequenceRows sequence(call.input(kX).shape(), node.timeMajor, node.backward);
    HALYARD_ASSIGN_OR_RETURN(const float* const aux, floatsOf(call, kAux));
    const int64_t auxSize = aux == nullptr ? 0 : call.input(kAux).shape()[2];
    const bool auxIsX = takesAuxForX(node.backward, call.input(kAux), call.input(kAuxWeights));
    const size_t xInput = auxIsX ? kAux : kX;
    HALYARD_ASSIGN_OR_RETURN(const float* const x, floatsOf(call, xInput));
    const int64_t size = call.input(xInput).shape()[2];

    Cell cell(node.activation, call, sequence.batch());
    HALYARD_RETURN_IF_ERROR(cell.prepare());
    for (int64_t step = 0; step < sequence.steps(); ++step) {
        HALYARD_RETURN_IF_ERROR(call.checkpoint(1));  // a step may be of no elements
        HALYARD_RETURN_IF_ERROR(
                cell.step(sequence.rows(x, size, step), sequence.rows(aux, auxSize, step)));
        HALYARD_RETURN_IF_ERROR(sequence.store(call, cell.hidden(), cell.units(), step, 0));
    }
    return store(call, cell.hidden(), 1);
}

// A filter's product with the input takes the last place of its memory; each unit adds what `rank`
// filters make of their memories. What a memory passes on has moved forward by one place, with a
// zero behind it.
Status run(const Svdf& node, KernelCall& call) {
    const int64_t batch = call.input(0).shape()[0];
    const int64_t size = call.input(0).shape()[1];
    const int64_t filters = call.input(2).shape()[0];
    const int64_t memory = call.input(2).shape()[1];
    const int64_t units = filters / node.rank;
    const RealRange range = rangeOf(node.activation);
    HALYARD_ASSIGN_OR_RETURN(const float* const x, floatsOf(call, 0));
    HALYARD_ASSIGN_OR_RETURN(const float* const featureWeights, floatsOf(call, 1));
    HALYARD_ASSIGN_OR_RETURN(const float* const timeWeights, floatsOf(call, 2));
    HALYARD_ASSIGN_OR_RETURN(const float* const bias, floatsOf(call, 3));
    HALYARD_ASSIGN_OR_RETURN(const std::span<float> state, stateOf(call, 4));
    if (memory > 0) {
        const auto filter = [&](int64_t i) -> Status {
            float sum = 0.0F;
            HALYARD_RETURN_IF_ERROR(addAllProducts(call, sum, x + i / filters * size,
                                                   featureWeights + i % filters * size, size));
            state[static_cast<size_t>((i + 1) * memory - 1)] = sum;
            return {};
        };
        HALYARD_RETURN_IF_ERROR(call.forEach(batch * filters, 1, filter));
    }
    const RealWriter passedOn(call.output(0));
    HALYARD_RETURN_IF_ERROR(call.forEach(batch * filters * memory, 1, [&](int64_t i) {
        const bool isLast = i % memory == memory - 1;
        passedOn.set(i, isLast ? 0.0F : state[static_cast<size_t>(i + 1)]);
    }));
    const RealWriter output(call.output(1));
    return call.forEach(batch * units, 1, [&](int64_t i) -> Status {
        const int64_t unit = i % units;
        float sum = bias == nullptr ? 0.0F : bias[unit];
        // The unit's filters are neighbours.
        HALYARD_RETURN_IF_ERROR(addAllProducts(call, sum, state.data() + i * node.rank * memory,
                                               timeWeights + unit * node.rank * memory,
                                               node.rank * memory));
        output.set(i, activate(sum, range));
        return {};
    });
}

}  // namespace halyard::engine::ref
