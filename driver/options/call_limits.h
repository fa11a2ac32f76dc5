// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>

namespace halyard::driver {

// How many calls may hold the thread they come on at once; the call gate of a device
// (driver/clients/call_gate.h) keeps them.
struct CallLimits {
    size_t perClient = 0;
    size_t perGroup = 0;
    // All together: so many beyond the first of each group, and so many in any case.
    size_t shared = 0;
    size_t most = 0;
};

}  // namespace halyard::driver
