// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <bitset>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "engine/graph/control_input.h"
#include "engine/numerics/elements.h"
#include "engine/numerics/index_walk.h"
#include "engine/numerics/quantized_mean.h"
#include "engine/numerics/reals.h"
#include "engine/reference/data_movement.h"
#include "engine/reference/kernels.h"
#include "engine/reference/mean.h"
#include "engine/reference/ranking.h"

namespace halyard::engine::ref {
namespace {

// Calls body(index, elements) for every element of the output; elements(visit) calls visit(index of
// x) for each element of x that is reduced to it.
template <typename Body>
Status forEachResult(KernelCall& call, Body body) {
    const Shape& x = call.input(0).shape();
    HALYARD_ASSIGN_OR_RETURN(const std::bitset<kMaxRank> reduced,
                             readAxes(call.input(1), x.rank()));
    // The input as two nested walks: over the extents that are kept, and over those that are not.
    Shape kept = x;
    Shape folded = x;
    for (size_t axis = 0; axis < x.rank(); ++axis) {
        (reduced[axis] ? kept : folded)[axis] = 1;
    }
    const std::array<Strides, 1> strides = {stridesOf(x)};
    int64_t index = 0;
    return walk(kept, strides, call, [&](const std::array<int64_t, 1>& start) -> Status {
        return body(index++, [&](auto visit) {
            return walk(folded, strides, call,
                        [&](const std::array<int64_t, 1>& at) { visit(start[0] + at[0]); });
        });
    });
}

// All that is not a mean, one real number after the other. ALL and ANY are the minimum and the
// maximum of 0 and 1.
class Fold {
  public:
    explicit Fold(Reduce::Function function) : mFunction(function), mValue(ofNothing(function)) {}

    void add(float value) {
        switch (mFunction) {
            case Reduce::Function::MEAN:
            case Reduce::Function::SUM:
                mValue += value;
                break;
            case Reduce::Function::PROD:
                mValue *= value;
                break;
            case Reduce::Function::MAX:
            case Reduce::Function::ANY:
                mValue = isLarger(value, mValue) ? value : mValue;
                break;
            case Reduce::Function::MIN:
            case Reduce::Function::ALL:
                mValue = isSmaller(value, mValue) ? value : mValue;
                break;
        }
    }
    float value() const { return mValue; }

  private:
    static float ofNothing(Reduce::Function function) {
        constexpr float kInfinity = std::numeric_limits<float>::infinity();
        switch (function) {
            case Reduce::Function::MEAN:
            case Reduce::Function::SUM:
            case Reduce::Function::ANY:
                return 0.0F;
            case Reduce::Function::PROD:
            case Reduce::Function::ALL:
                return 1.0F;
            case Reduce::Function::MAX:
                return -kInfinity;
            case Reduce::Function::MIN:
                return kInfinity;
        }
        return 0.0F;
    }

    Reduce::Function mFunction;
    float mValue;
};

template <typename MakeFold>
Status foldReals(KernelCall& call, MakeFold makeFold) {
    const RealReader x(call.input(0));
    const RealWriter output(call.output(0));
    return forEachResult(call, [&](int64_t index, auto elements) -> Status {
        auto fold = makeFold();
        HALYARD_RETURN_IF_ERROR(elements([&](int64_t i) { fold.add(x[i]); }));
        output.set(index, fold.value());
        return {};
    });
}

// The sum is exact, so the stored integers are what counts.
Status meanOfQuantized(KernelCall& call) {
    const ConstTensorView& x = call.input(0);
    const TensorView& output = call.output(0);
    const QuantizedRange range = rangeOf(output.type->type);
    return withQuantizedElements(x.type->type, [&]<typename T>() -> Status {
        return forEachResult(call, [&](int64_t index, auto elements) -> Status {
            int64_t sum = 0;
            int64_t count = 0;
            HALYARD_RETURN_IF_ERROR(elements([&](int64_t i) {
                sum += x.as<T>()[i];
                ++count;
            }));
            const QuantizedMean mean(x.type->quantization, output.type->quantization, count);
            output.as<T>()[index] = static_cast<T>(mean(sum, range));
            return {};
        });
    });
}

}  // namespace

Status run(const Reduce& node, KernelCall& call) {
    if (node.function != Reduce::Function::MEAN) {
        return foldReals(call, [&] { return Fold(node.function); });
    }
    return isQuantized(call.input(0).type->type) ? meanOfQuantized(call)
                                                 : foldReals(call, [] { return FloatMean(); });
}

// The first NaN, if there is one, is both maximum and minimum.
Status run(const ArgMinMax& node, KernelCall& call) {
    const ConstTensorView& x = call.input(0);
    HALYARD_ASSIGN_OR_RETURN(const size_t axis, resolveAxis(node.axis, x.shape().rank()));
    const int64_t length = x.shape()[axis];
    const int64_t inner = countFrom(x.shape(), axis + 1);
    const bool largest = node.function == ArgMinMax::Function::MAX;
    auto* output = call.output(0).as<int32_t>();
    return withElements(x.type->type, [&]<typename T>() -> Status {
        const int64_t results = countOf(call.output(0).shape());
        for (int64_t result = 0; result < results; ++result) {
            const T* from = x.as<T>() + result / inner * inner * length + result % inner;
            auto best = ordered(from[0]);
            int64_t bestIndex = 0;
            HALYARD_RETURN_IF_ERROR(call.forEach(length, 1, [&](int64_t i) {
                const auto element = ordered(from[i * inner]);
                if (largest ? isLarger(element, best) : isSmaller(element, best)) {
                    best = element;
                    bestIndex = i;
                }
            }));
            output[result] = static_cast<int32_t>(bestIndex);
        }
        return {};
    });
}

}  // namespace halyard::engine::ref
