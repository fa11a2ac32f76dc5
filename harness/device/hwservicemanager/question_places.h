// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <sys/types.h>

#include <cstddef>
#include <mutex>
#include <set>

#include "engine/base/status.h"

namespace halyard::device {

// The synchronous questions that are asked of other processes. Whoever is asked may never answer,
// and holds a serving thread for as long: so there are fewer places than threads, and one for each
// process that has something asked. Thread-safe; outlives its places.
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
        Place(QuestionPlaces& places, pid_t pid) : mPlaces(&places), mPid(pid) {}
        QuestionPlaces* mPlaces;
        const pid_t mPid;
    };
    // A place for a question that `pid` has asked. RESOURCE_EXHAUSTED, at once, if its last one is
    // still open or all places are taken.
    Result<Place> take(pid_t pid);

  private:
    const size_t mMost;
    std::mutex mMutex;
    std::set<pid_t> mAsking;
};

}  // namespace halyard::device
