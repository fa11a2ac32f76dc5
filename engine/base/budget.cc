// SPDX-License-Identifier: Apache-2.0

#include "engine/base/budget.h"

#include <algorithm>
#include <string>

namespace halyard {

namespace {

// As much as the whole could ever give to a part.
size_t mostOf(size_t limit, size_t shared, size_t reserve, size_t minimum) {
    return std::min(limit, shared + std::min(minimum, reserve));
}

}  // namespace

Budget::Budget(size_t limit, std::shared_ptr<Budget> whole, std::function<void()> reclaim,
               std::string_view unit, size_t reserve, size_t minimum)
    : mWhole(std::move(whole)),
      mRoot(mWhole == nullptr ? *this : mWhole->mRoot),
      mDepth(mWhole == nullptr ? 0 : mWhole->mDepth + 1),
      mReserve(std::min(reserve, limit)),
      mMinimum(minimum),
      mLimit(mWhole == nullptr ? limit
                               : mostOf(limit, mWhole->shared(), mWhole->mReserve, minimum)),
      mReclaim(std::move(reclaim)),
      mUnit(unit) {}

Status Budget::refusal(size_t count, size_t inUse, std::string_view limited, size_t limit) const {
    return {StatusCode::RESOURCE_EXHAUSTED,
            std::to_string(count) + " " + std::string(mUnit) + ", with " + std::to_string(inUse) +
                    " in use, are more than " + std::string(limited) + std::to_string(limit)};
}

Status Budget::admits(size_t count) const {
    if (count > mLimit) {
        return outOfReach(std::to_string(count) + " " + std::string(mUnit) +
                          " are more than the limit of " + std::to_string(mLimit));
    }
    return mWhole == nullptr ? Status() : mWhole->admits(count);
}

// How much of what this part wants its whole's reserve has for it.
size_t Budget::outOfReserve(size_t count) const {
    return std::min({count, mMinimum - mFromReserve, mWhole->mReserve - mWhole->mReserveInUse});
}

Budget::Shortage Budget::shortageOf(size_t count) {
    for (Budget* part = this; part != nullptr; part = part->mWhole.get()) {
        // Never more than the limit is reserved, so nothing here wraps.
        if (count > part->mLimit - part->reserved()) {
            return {part, part->refusal(count, part->reserved(), "the limit of ", part->mLimit)};
        }
        Budget* const whole = part->mWhole.get();
        if (whole == nullptr) {
            return {};
        }
        // Bytes that were taken of the whole itself may lie in its reserve.
        const size_t fromShared = count - part->outOfReserve(count);
        const size_t inUse = std::min(whole->sharedInUse(), whole->shared());
        if (whole->mReserve > 0 && fromShared > whole->shared() - inUse) {
            return {whole, whole->refusal(fromShared, inUse, "the shared ", whole->shared())};
        }
    }
    return {};
}

Status Budget::take(size_t count) {
    HALYARD_RETURN_IF_ERROR(admits(count));
    // Each level is asked once to make room, from here up.
    for (size_t notAsked = mDepth + 1;;) {
        Shortage shortage;
        {
            const std::lock_guard lock(mRoot.mMutex);
            shortage = shortageOf(count);
            if (shortage.budget == nullptr) {
                for (Budget* part = this; part != nullptr; part = part->mWhole.get()) {
                    part->mReserved.fetch_add(count, std::memory_order_relaxed);
                    if (part->mWhole != nullptr) {
                        const size_t reserve = part->outOfReserve(count);
                        part->mFromReserve += reserve;
                        part->mWhole->mReserveInUse += reserve;
                    }
                }
                return {};
            }
        }
        if (shortage.budget->mReclaim == nullptr || shortage.budget->mDepth >= notAsked) {
            return shortage.status;
        }
        notAsked = shortage.budget->mDepth;
        shortage.budget->mReclaim();
    }
}

void Budget::giveBack(size_t count) {
    const std::lock_guard lock(mRoot.mMutex);
    for (Budget* part = this; part != nullptr; part = part->mWhole.get()) {
        const size_t left = part->mReserved.fetch_sub(count, std::memory_order_relaxed) - count;
        if (part->mFromReserve > left) {
            // Bytes of the shared part are given back first.
            part->mWhole->mReserveInUse -= part->mFromReserve - left;
            part->mFromReserve = left;
        }
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
