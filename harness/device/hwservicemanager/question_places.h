// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <mutex>
#include <set>

#include "engine/base/status.h"
#include "harness/device/managers/registry.h"

namespace halyard::device {

// The synchronous questions that are asked of other processes. A process that is asked may never
// answer, and holds a serving thread for as long: so there are fewer places than threads, one for
// each process that has something asked, and half of them for each user. Thread-safe; outlives its
// places.
class QuestionPlaces {
  public:
    explicit QuestionPlaces(size_t most) : mMost(most) {}

    // Held while the question is open.
    class Place {
      public:
        Place(Place&& other) noexcept;
        Place& operator=(Place&&) = delete;
        ~Place();

      private:
        friend class QuestionPlaces;
        Place(QuestionPlaces& places, const Owner& caller) : mPlaces(&places), mCaller(caller) {}
        QuestionPlaces* mPlaces;
        const Owner mCaller;
    };
    // A place for a question that `caller` has asked. RESOURCE_EXHAUSTED, at once, if its last one
    // is still open, or all places are taken that its user may have.
    Result<Place> take(const Owner& caller);

  private:
    const size_t mMost;
    std::mutex mMutex;
    std::set<Owner> mAsking;
};

}  // namespace halyard::device
