// SPDX-License-Identifier: Apache-2.0
//
// TimeLimit: until when work may run that begins now, and who says so.

#pragma once

#include <chrono>

#include "engine/base/checkpoint.h"
#include "engine/base/status.h"

namespace halyard::driver {

// A value.
class TimeLimit {
  public:
    // The client's deadline, and the longest that the device lets anything take; 0: for ever.
    TimeLimit(const Deadline& given, std::chrono::seconds longest);

    // The earlier of the two.
    const Deadline& deadline() const { return mDeadline; }
    // The status of the work once it has ended. Where it was the device that let it take no longer,
    // that is said.
    Status explain(const Status& status) const;

  private:
    Deadline mGiven;
    Deadline mDeadline;
    std::chrono::seconds mLongest;
};

}  // namespace halyard::driver
