// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <vector>

#include "driver/model/model.h"
#include "driver/model/pools.h"
#include "engine/base/budget.h"
#include "engine/base/status.h"
#include "engine/graph/graph.h"

namespace halyard::driver {

// A valid model's constants where they lie: in operandValues or in a mapped pool.
class Constants {
  public:
    // `pools`: the model's, as usePools() gives them. `budget`: what copies of constants are
    // reserved from; null: not limited.
    Constants(const Model& model, PoolUses pools, std::shared_ptr<Budget> budget = nullptr);

    // The bytes of a CONSTANT_COPY or CONSTANT_REFERENCE operand, kept alive by their owner. A
    // client may change those in a pool at any time. INTERNAL if they are not in use.
    Result<engine::ConstantData> find(const Operand& operand) const;

    const std::shared_ptr<Budget>& budget() const { return mBudget; }

  private:
    std::shared_ptr<const std::vector<uint8_t>> mValues;
    PoolUses mPools;
    std::shared_ptr<Budget> mBudget;
};

}  // namespace halyard::driver
