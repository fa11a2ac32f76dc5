// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <vector>

#include "driver/model/model.h"
#include "engine/base/budget.h"
#include "engine/base/status.h"
#include "engine/graph/graph.h"

namespace halyard::driver {

// A valid model's constants where they lie: in operandValues or in a mapped pool.
class Constants {
  public:
    // Maps every pool. `budget`: what copies of constants are reserved from; null: not limited.
    explicit Constants(const Model& model, std::shared_ptr<Budget> budget = nullptr);

    // OK if every pool could be mapped; otherwise INTERNAL, naming the first that could not.
    Status mapped() const;

    // The bytes of a CONSTANT_COPY or CONSTANT_REFERENCE operand, kept alive by their owner. A
    // client may change those in a pool at any time. INTERNAL if their pool could not be mapped.
    Result<engine::ConstantData> find(const Operand& operand) const;

    const std::shared_ptr<Budget>& budget() const { return mBudget; }

  private:
    struct Pool {
        SharedMemory memory;
        Result<std::span<uint8_t>> bytes;
    };
    std::shared_ptr<const std::vector<uint8_t>> mValues;
    std::vector<Pool> mPools;
    std::shared_ptr<Budget> mBudget;
};

}  // namespace halyard::driver
