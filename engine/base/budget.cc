// SPDX-License-Identifier: Apache-2.0

#include "engine/base/budget.h"

#include <string>

namespace halyard {

bool Budget::tryTake(size_t bytes) {
    size_t reserved = mReserved.load(std::memory_order_relaxed);
    do {
        // Never more than the limit is reserved, so this does not wrap.
        if (bytes > mLimit - reserved) {
            return false;
        }
    } while (!mReserved.compare_exchange_weak(reserved, reserved + bytes,
                                              std::memory_order_relaxed));
    return true;
}

Status Budget::admits(size_t bytes) const {
    if (bytes > mLimit) {
        return {StatusCode::RESOURCE_EXHAUSTED, std::to_string(bytes) +
                                                        " bytes are more than the limit of " +
                                                        std::to_string(mLimit)};
    }
    return {};
}

Status Budget::take(size_t bytes) {
    if (tryTake(bytes)) {
        return {};
    }
    HALYARD_RETURN_IF_ERROR(admits(bytes));
    if (mReclaim) {
        mReclaim();
        if (tryTake(bytes)) {
            return {};
        }
    }
    return {StatusCode::RESOURCE_EXHAUSTED,
            std::to_string(bytes) + " bytes, with " + std::to_string(reserved()) +
                    " in use, are more than the limit of " + std::to_string(mLimit)};
}

Result<Reservation> Reservation::create(std::shared_ptr<Budget> budget, size_t bytes) {
    Reservation reservation;
    if (budget != nullptr) {
        HALYARD_RETURN_IF_ERROR(budget->take(bytes));
        reservation.mBudget = std::move(budget);
        reservation.mBytes = bytes;
    }
    return reservation;
}

Reservation& Reservation::operator=(Reservation&& other) noexcept {
    std::swap(mBudget, other.mBudget);
    std::swap(mBytes, other.mBytes);
    return *this;
}

Reservation::~Reservation() {
    if (mBudget != nullptr) {
        mBudget->giveBack(mBytes);
    }
}

}  // namespace halyard
