// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <limits>

#include "engine/base/checkpoint.h"

namespace halyard {

// Counts how often a checkpoint is asked, which tells how much work was done in between, on any
// machine; and says at a chosen time that it must stop.
class CountingCondition final : public StopCondition {
  public:
    static constexpr size_t kNever = std::numeric_limits<size_t>::max();

    // Holds from the time that it was asked `patience` times.
    explicit CountingCondition(size_t patience = kNever) : mPatience(patience) {}
    bool holds() const override { return mAsked++ >= mPatience; }

    size_t asked() const { return mAsked; }

  private:
    const size_t mPatience;
    mutable size_t mAsked = 0;
};

}  // namespace halyard
