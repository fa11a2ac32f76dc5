// SPDX-License-Identifier: Apache-2.0

#include "driver/ops/constants.h"

#include <string>
#include <utility>

#include "engine/base/checked_math.h"

namespace halyard::driver {

Constants::Constants(const Model& model, PoolUses pools, std::shared_ptr<Budget> budget)
    : mValues(model.operandValues), mPools(std::move(pools)), mBudget(std::move(budget)) {}

Result<engine::ConstantData> Constants::find(const Operand& operand) const {
    const DataLocation& location = operand.location;
    if (operand.lifetime == OperandLifeTime::CONSTANT_COPY) {
        if (!rangeFits<size_t>(location.offset, location.length, mValues->size())) {
            return internalError("a constant lies outside the operand values");
        }
        return engine::ConstantData{
                .owner = mValues,
                .bytes = std::span(*mValues).subspan(location.offset, location.length),
                .shared = false};
    }
    if (location.poolIndex >= mPools.size()) {
        return internalError("a constant names a pool that does not exist");
    }
    const MemoryUse& pool = mPools[location.poolIndex];
    const Result<std::span<uint8_t>> bytes = pool.bytes(location.offset, location.length);
    if (!bytes.ok()) {
        return internalError("pool " + std::to_string(location.poolIndex) + ": " +
                             std::string(bytes.status().message()));
    }
    return engine::ConstantData{.owner = pool.mapping(), .bytes = *bytes, .shared = true};
}

}  // namespace halyard::driver
