// SPDX-License-Identifier: Apache-2.0

#include "harness/device/hwservicemanager/question_places.h"

#include <string>
#include <utility>

namespace halyard::device {

QuestionPlaces::Place::Place(Place&& other) noexcept
    : mPlaces(std::exchange(other.mPlaces, nullptr)), mPid(other.mPid) {}

QuestionPlaces::Place::~Place() {
    if (mPlaces != nullptr) {
        std::lock_guard lock(mPlaces->mMutex);
        mPlaces->mAsking.erase(mPid);
    }
}

Result<QuestionPlaces::Place> QuestionPlaces::take(pid_t pid) {
    std::lock_guard lock(mMutex);
    if (mAsking.contains(pid)) {
        return Status(StatusCode::RESOURCE_EXHAUSTED,
                      "process " + std::to_string(pid) + " has not answered the last question");
    }
    if (mAsking.size() >= mMost) {
        return Status(StatusCode::RESOURCE_EXHAUSTED,
                      std::to_string(mMost) + " questions to services are open already");
    }
    mAsking.insert(pid);
    return Place(*this, pid);
}

}  // namespace halyard::device
