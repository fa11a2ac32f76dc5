// SPDX-License-Identifier: Apache-2.0

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backends/cpu/recurrent/lstm_cell.cc"
#include "engine/backends/cpu/vectors/targets.h"
// Read for each instruction set.
#include "engine/backends/cpu/vectors/exponential-inl.h"
#include "engine/backends/cpu/vectors/lanes-inl.h"

#include <algorithm>
#include <cmath>

#include "engine/backends/cpu/recurrent/lstm_cell.h"
#include "engine/graph/recurrence.h"

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

using Function = LstmAttributes::Function;

HWY_INLINE FloatVector apply(Function function, FloatVector x) {
    const auto set = [](float value) HWY_ATTR { return hn::Set(kFloats, value); };
    switch (function) {
        case Function::RELU:
            return hn::IfThenElse(hn::Lt(x, set(0.0F)), set(0.0F), x);
        case Function::RELU1:
            return clampLanes(x, set(-1.0F), set(1.0F));
        case Function::RELU6:
            return clampLanes(x, set(0.0F), set(6.0F));
        case Function::TANH:
            return hyperbolicTangent(x);
        case Function::LOGISTIC:
            return logistic(x);
        case Function::NONE:
            break;
    }
    return x;
}

class Cell {
  public:
    explicit Cell(const LstmCellRow& row)
        : mRow(row),
          mLanes(static_cast<int64_t>(hn::Lanes(kFloats))),
          mGates(row.coupled ? 3 : 4),
          mForget(mGates - 3) {}

    HWY_INLINE void run() {
        if (mRow.layerNorm == nullptr) {
            for (int64_t i = mRow.begin; i < mRow.end; ++i) {
                updateCell(i);
                letThrough(i);
            }
            return;
        }
        for (int gate = 0; gate < mGates - 1; ++gate) {
            normalize(gate);
        }
        for (int64_t i = mRow.begin; i < mRow.end; ++i) {
            updateCell(i);
        }
        // Its peephole sees the new cell state.
        normalize(mGates - 1);
        for (int64_t i = mRow.begin; i < mRow.end; ++i) {
            letThrough(i);
        }
    }

  private:
    HWY_INLINE int64_t at(int64_t i, int gate) const { return (i * mGates + gate) * mLanes; }
    HWY_INLINE FloatVector cellState(int64_t i) const {
        return hn::LoadU(kFloats, mRow.cellState + i * mLanes);
    }

    // A gate before its function, not normalised.
    HWY_INLINE FloatVector wholeSum(int64_t i, int gate) const {
        const int64_t place = at(i, gate);
        const FloatVector sum = hn::Add(hn::LoadU(kFloats, mRow.sums + place),
                                        hn::LoadU(kFloats, mRow.recurrent + place));
        return mRow.peepholes == nullptr
                       ? sum
                       : hn::MulAdd(hn::LoadU(kFloats, mRow.peepholes + place), cellState(i), sum);
    }
    HWY_INLINE FloatVector beforeFunction(int64_t i, int gate) const {
        return mRow.layerNorm == nullptr ? wholeSum(i, gate)
                                         : hn::LoadU(kFloats, mRow.sums + at(i, gate));
    }

    HWY_INLINE void updateCell(int64_t i) {
        const FloatVector one = hn::Set(kFloats, 1.0F);
        const FloatVector forget = logistic(beforeFunction(i, mForget));
        const FloatVector in = mRow.coupled ? hn::Sub(one, forget) : logistic(beforeFunction(i, 0));
        const FloatVector modulation =
                apply(mRow.attributes.activation, beforeFunction(i, mForget + 1));
        FloatVector next = hn::Add(hn::Mul(forget, cellState(i)), hn::Mul(in, modulation));
        const float limit = mRow.attributes.cellClip;
        if (limit > 0.0F) {
            next = clampLanes(next, hn::Set(kFloats, -limit), hn::Set(kFloats, limit));
        }
        hn::StoreU(next, kFloats, mRow.cellState + i * mLanes);
    }

    HWY_INLINE void letThrough(int64_t i) {
        const FloatVector out = logistic(beforeFunction(i, mGates - 1));
        const FloatVector activated = apply(mRow.attributes.activation, cellState(i));
        hn::StoreU(hn::Mul(out, activated), kFloats, mRow.hidden + i * mLanes);
    }

    HWY_INLINE float sumOfLanes(FloatVector value) const {
        return hn::GetLane(hn::SumOfLanes(kFloats, value));
    }

    // Sums up a gate and normalises it, in place.
    HWY_INLINE void normalize(int gate) {
        const auto count = static_cast<float>(mRow.units);
        FloatVector total = hn::Zero(kFloats);
        for (int64_t i = mRow.begin; i < mRow.end; ++i) {
            // Behind the last unit weights are zero, and so is their sum.
            const FloatVector sum = wholeSum(i, gate);
            hn::StoreU(sum, kFloats, mRow.sums + at(i, gate));
            total = hn::Add(total, hn::IfThenElseZero(isUnit(i), sum));
        }
        const FloatVector mean = hn::Set(kFloats, sumOfLanes(total) / count);
        FloatVector squares = hn::Zero(kFloats);
        for (int64_t i = mRow.begin; i < mRow.end; ++i) {
            const FloatVector difference =
                    hn::Sub(hn::LoadU(kFloats, mRow.sums + at(i, gate)), mean);
            squares = hn::Add(squares,
                              hn::IfThenElseZero(isUnit(i), hn::Mul(difference, difference)));
        }
        const float variance = sumOfLanes(squares) / count;
        const FloatVector inverse =
                hn::Set(kFloats, 1.0F / std::sqrt(variance + lstm::kLayerNormEpsilon));
        for (int64_t i = mRow.begin; i < mRow.end; ++i) {
            const int64_t place = at(i, gate);
            const FloatVector difference = hn::Sub(hn::LoadU(kFloats, mRow.sums + place), mean);
            const FloatVector scaled = hn::Mul(hn::Mul(difference, inverse),
                                               hn::LoadU(kFloats, mRow.layerNorm + place));
            hn::StoreU(hn::Add(scaled, hn::LoadU(kFloats, mRow.biases + place)), kFloats,
                       mRow.sums + place);
        }
    }

    HWY_INLINE hn::Mask<Floats> isUnit(int64_t i) const {
        const int64_t left = std::min(mRow.units - i * mLanes, mLanes);
        return hn::FirstN(kFloats, static_cast<size_t>(left));
    }

    const LstmCellRow& mRow;
    const int64_t mLanes;
    const int mGates;
    const int mForget;  // number of that gate
};

void compute(const LstmCellRow& row) {
    Cell(row).run();
}

}  // namespace

const LstmCell* lstmCellForm() {
    static const LstmCell kForm = {.lanes = static_cast<int64_t>(hn::Lanes(kFloats)),
                                   .compute = compute};
    return &kForm;
}

}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halyard::engine::cpu {

const LstmCell& lstmCell(InstructionSet set) {
    return *HALYARD_CPU_CHOOSE(set, lstmCellForm)();
}

}  // namespace halyard::engine::cpu
#endif
