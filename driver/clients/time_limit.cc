// SPDX-License-Identifier: Apache-2.0

#include "driver/clients/time_limit.h"

#include <algorithm>
#include <string>

#include "driver/model/request.h"

namespace halyard::driver {

TimeLimit::TimeLimit(const Deadline& given, std::chrono::seconds longest)
    : mGiven(given), mDeadline(given), mLongest(longest) {
    if (longest > std::chrono::seconds::zero()) {
        const auto last = std::chrono::steady_clock::now() + longest;
        mDeadline = given.has_value() ? std::min(*given, last) : last;
    }
}

Status TimeLimit::explain(const Status& status) const {
    // A loop may have a time of its own, which is neither.
    if (status.code() != StatusCode::DEADLINE_EXCEEDED || hasPassed(mGiven) ||
        !hasPassed(mDeadline)) {
        return status;
    }
    // It would take as long again.
    return status
            .withContext("the device lets nothing take longer than " +
                         std::to_string(mLongest.count()) + " s")
            .asPersistent();
}

}  // namespace halyard::driver
