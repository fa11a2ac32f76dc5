// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/base/status.h"
#include "engine/numerics/elements.h"
#include "engine/plan/kernel_call.h"

namespace halyard::engine::cpu {

// Calls body(first, count) for chunks of the output's elements, on the threads of the call. A chunk
// takes `operations` operations, and has kChunk elements but for the last.
inline constexpr int64_t kChunk = 1 << 11;

template <typename Body>
Status forEachChunk(KernelCall& call, int64_t operations, Body body) {
    const int64_t count = countOf(call.output(0).shape());
    return call.inParallel((count + kChunk - 1) / kChunk, operations,
                           [&](int64_t begin, int64_t end, size_t /*worker*/) {
                               for (int64_t i = begin; i < end; ++i) {
                                   body(i * kChunk, std::min(kChunk, count - i * kChunk));
                               }
                           });
}

}  // namespace halyard::engine::cpu
