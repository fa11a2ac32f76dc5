// SPDX-License-Identifier: Apache-2.0

#include "driver/ops/constants.h"

#include <string>
#include <utility>

#include "engine/base/checked_math.h"

namespace halyard::driver {
namespace {

Result<engine::ConstantData> slice(std::shared_ptr<const void> owner,
                                   std::span<const uint8_t> bytes, const DataLocation& location,
                                   bool shared) {
    // Validation has compared with the size that the pool claims; this is the size that it has.
    if (!rangeFits<size_t>(location.offset, location.length, bytes.size())) {
        return internalError("a constant lies outside its pool");
    }
    return engine::ConstantData{.owner = std::move(owner),
                                .bytes = bytes.subspan(location.offset, location.length),
                                .shared = shared};
}

}  // namespace

Constants::Constants(const Model& model, std::shared_ptr<Budget> budget)
    : mValues(model.operandValues), mBudget(std::move(budget)) {
    for (const SharedMemory& memory : model.pools) {
        mPools.push_back({.memory = memory, .bytes = memory->map()});
    }
}

Status Constants::mapped() const {
    for (size_t i = 0; i < mPools.size(); ++i) {
        if (!mPools[i].bytes.ok()) {
            return internalError("pool " + std::to_string(i) + " can't be mapped: " +
                                 std::string(mPools[i].bytes.status().message()));
        }
    }
    return {};
}

Result<engine::ConstantData> Constants::find(const Operand& operand) const {
    const DataLocation& location = operand.location;
    if (operand.lifetime == OperandLifeTime::CONSTANT_COPY) {
        return slice(mValues, *mValues, location, false);
    }
    if (location.poolIndex >= mPools.size()) {
        return internalError("a constant names a pool that does not exist");
    }
    const Pool& pool = mPools[location.poolIndex];
    if (!pool.bytes.ok()) {
        return internalError("pool " + std::to_string(location.poolIndex) +
                             " can't be mapped: " + std::string(pool.bytes.status().message()));
    }
    return slice(pool.memory, *pool.bytes, location, true);
}

}  // namespace halyard::driver
