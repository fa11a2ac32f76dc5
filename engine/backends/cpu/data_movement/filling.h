// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/base/status.h"
#include "engine/numerics/elements.h"
#include "engine/plan/kernel_call.h"

namespace halyard::engine::cpu {

// Gives all elements of output 0 the same bits.
template <typename T>
Status fillOutput(KernelCall& call, T element) {
    constexpr int64_t kLength = 1 << 14;
    T* to = call.output(0).as<T>();
    const int64_t count = countOf(call.output(0).shape());
    return call.inParallel((count + kLength - 1) / kLength, kLength / 8,
                           [&](int64_t begin, int64_t end, size_t /*worker*/) {
                               std::fill(to + begin * kLength, to + std::min(end * kLength, count),
                                         element);
                           });
}

// The real 0, as a type whose elements T moves has it.
template <typename T>
T zeroElement(const TensorType& type) {
    return static_cast<T>(isQuantized(type.type) ? type.quantization.zeroPoint : 0);
}

}  // namespace halyard::engine::cpu
