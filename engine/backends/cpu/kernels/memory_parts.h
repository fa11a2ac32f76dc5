// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "engine/base/checked_math.h"
#include "engine/base/status.h"
#include "engine/plan/backend.h"

namespace halyard::engine::cpu {

// The parts of a kernel's memory, that of all of its threads or that of each: where they begin, at
// multiples of a cache line.
class MemoryParts {
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
    size_t bytes() const { return mBytes; }

  private:
    size_t mBytes = 0;
};

}  // namespace halyard::engine::cpu
