// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "engine/base/checked_math.h"
#include "engine/base/status.h"
#include "engine/plan/backend.h"
#include "engine/plan/kernel_call.h"

namespace halyard::engine::cpu {

// What each thread that runs a kernel has of the kernel's workspace: parts that begin at multiples
// of a cache line.
class ThreadMemory {
  public:
    // Returns where the part begins.
    Result<size_t> add(size_t count, size_t elementBytes) {
        const std::optional<size_t> bytes = checkedMultiply(count, elementBytes);
        const std::optional<size_t> end =
                bytes.has_value() ? checkedAdd(mBytes, *bytes) : std::nullopt;
        const std::optional<size_t> next =
                end.has_value() ? checkedAlignUp(*end, kTensorAlignment) : std::nullopt;
        if (!next.has_value()) {
            return outOfReach("its memory is out of reach");
        }
        return std::exchange(mBytes, *next);
    }
    Result<size_t> bytesOf(size_t threads) const {
        const std::optional<size_t> bytes = checkedMultiply(mBytes, threads);
        if (!bytes.has_value()) {
            return outOfReach("its memory is out of reach");
        }
        return *bytes;
    }
    std::byte* of(const KernelCall& call, size_t worker) const {
        return call.workspace().data() + worker * mBytes;
    }

  private:
    size_t mBytes = 0;
};

}  // namespace halyard::engine::cpu
