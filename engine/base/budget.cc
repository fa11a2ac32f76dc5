// SPDX-License-Identifier: Apache-2.0

#include "engine/base/budget.h"

#include <string>

namespace halyard {

bool Budget::tryTake(size_t count) {
    size_t reserved = mReserved.load(std::memory_order_relaxed);
    do {
        // Never more than the limit is reserved, so this does not wrap.
        if (count > mLimit - reserved) {
            return false;
        }
    } while (!mReserved.compare_exchange_weak(reserved, reserved + count,
                                              std::memory_order_relaxed));
    return true;
}

Status Budget::admits(size_t count) const {
    if (count > mLimit) {
        return {StatusCode::RESOURCE_EXHAUSTED, std::to_string(count) + " " + std::string(mUnit) +
                                                        " are more than the limit of " +
                                                        std::to_string(mLimit)};
    }
    return mWhole == nullptr ? Status() : mWhole->admits(count);
}

Status Budget::takeOwn(size_t count) {
    if (tryTake(count)) {
        return {};
    }
    HALYARD_RETURN_IF_ERROR(admits(count));
    if (mReclaim) {
        mReclaim();
        if (tryTake(count)) {
            return {};
        }
    }
    return {StatusCode::RESOURCE_EXHAUSTED, std::to_string(count) + " " + std::string(mUnit) +
                                                    ", with " + std::to_string(reserved()) +
                                                    " in use, are more than the limit of " +
                                                    std::to_string(mLimit)};
}

Status Budget::take(size_t count) {
    HALYARD_RETURN_IF_ERROR(takeOwn(count));
    if (mWhole == nullptr) {
        return {};
    }
    const Status taken = mWhole->take(count);
    if (!taken.ok()) {
        mReserved.fetch_sub(count, std::memory_order_relaxed);
    }
    return taken;
}

void Budget::giveBack(size_t count) {
    for (Budget* budget = this; budget != nullptr; budget = budget->mWhole.get()) {
        budget->mReserved.fetch_sub(count, std::memory_order_relaxed);
    }
}

Result<Reservation> Reservation::create(std::shared_ptr<Budget> budget, size_t count) {
    Reservation reservation;
    if (budget != nullptr) {
        HALYARD_RETURN_IF_ERROR(budget->take(count));
        reservation.mBudget = std::move(budget);
        reservation.mCount = count;
    }
    return reservation;
}

Reservation& Reservation::operator=(Reservation&& other) noexcept {
    std::swap(mBudget, other.mBudget);
    std::swap(mCount, other.mCount);
    return *this;
}

Reservation::~Reservation() {
    if (mBudget != nullptr) {
        mBudget->giveBack(mCount);
    }
}

}  // namespace halyard
