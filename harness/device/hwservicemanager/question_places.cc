// SPDX-License-Identifier: Apache-2.0

#include "harness/device/hwservicemanager/question_places.h"

#include <algorithm>
#include <string>
#include <utility>

namespace halyard::device {

QuestionPlaces::Place::Place(Place&& other) noexcept
    : mPlaces(std::exchange(other.mPlaces, nullptr)), mCaller(other.mCaller) {}

QuestionPlaces::Place::~Place() {
    if (mPlaces != nullptr) {
        std::lock_guard lock(mPlaces->mMutex);
        mPlaces->mAsking.erase(mCaller);
    }
}

Result<QuestionPlaces::Place> QuestionPlaces::take(const Owner& caller) {
    std::lock_guard lock(mMutex);
    if (mAsking.contains(caller)) {
        return Status(
                StatusCode::RESOURCE_EXHAUSTED,
                "process " + std::to_string(caller.pid) + " has not answered the last question");
    }
    const auto ofUser = static_cast<size_t>(
            std::count_if(mAsking.begin(), mAsking.end(),
                          [&](const Owner& one) { return one.uid == caller.uid; }));
    if (mAsking.size() >= mMost || ofUser >= (mMost + 1) / 2) {
        return Status(StatusCode::RESOURCE_EXHAUSTED,
                      std::to_string(mAsking.size()) + " questions to services are open already, " +
                              std::to_string(ofUser) + " of them of this user");
    }
    mAsking.insert(caller);
    return Place(*this, caller);
}

}  // namespace halyard::device
