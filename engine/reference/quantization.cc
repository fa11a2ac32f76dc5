// SPDX-License-Identifier: Apache-2.0
//
// From one element type to another: by the real number, or by the stored one.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "engine/numerics/elements.h"
#include "engine/numerics/reals.h"
#include "engine/reference/data_movement.h"
#include "engine/reference/kernels.h"

namespace halyard::engine::ref {
namespace {

Status copyReals(KernelCall& call) {
    const RealReader x(call.input(0));
    const RealWriter output(call.output(0));
    return call.forEach(countOf(call.output(0).shape()), 1,
                        [&](int64_t i) { output.set(i, x[i]); });
}

// As C converts where C defines it; beyond that to the nearest integer there is, NaN to 0. double
// holds every element of every type.
template <typename To, typename From>
To convert(From element) {
    const auto number = static_cast<double>(ordered(element));
    if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, float>) {
        return fromReal<To>(static_cast<float>(number));
    } else {
        using Limits = std::numeric_limits<To>;
        return std::isnan(number)
                       ? To{0}
                       : static_cast<To>(std::clamp<double>(number, Limits::min(), Limits::max()));
    }
}

}  // namespace

Status run(const Dequantize& /*node*/, KernelCall& call) {
    return copyReals(call);
}

Status run(const Quantize& /*node*/, KernelCall& call) {
    return copyReals(call);
}

Status run(const Cast& /*node*/, KernelCall& call) {
    const DataType from = call.input(0).type->type;
    const DataType to = call.output(0).type->type;
    if (from == to) {
        return copyAll(call);
    }
    return withElements(from, [&]<typename From>() -> Status {
        return withElements(to, [&]<typename To>() -> Status {
            const From* x = call.input(0).as<From>();
            To* output = call.output(0).as<To>();
            return call.forEach(countOf(call.output(0).shape()), 1,
                                [&](int64_t i) { output[i] = convert<To>(x[i]); });
        });
    });
}

}  // namespace halyard::engine::ref
