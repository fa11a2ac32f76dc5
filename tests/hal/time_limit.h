// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <unistd.h>

namespace halyard::hal::testing {

// Ends the test program if a test takes longer than any should: it waits for something that will
// not come. One at a time.
class TimeLimit {
  public:
    TimeLimit() { alarm(kSeconds); }
    ~TimeLimit() { alarm(0); }
    TimeLimit(const TimeLimit&) = delete;
    TimeLimit& operator=(const TimeLimit&) = delete;

  private:
    static constexpr unsigned kSeconds = 120;
};

}  // namespace halyard::hal::testing
