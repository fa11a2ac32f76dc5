// SPDX-License-Identifier: Apache-2.0
//
// A client that breaks the rules with models and parcels that are nearly right, for tests that a
// service lives on.

#pragma once

#include <string>

#include "engine/base/status.h"

namespace halyard::hostile {

struct Settings {
    std::string instance;  // of the service
    // truncated-parcel    calls each method of IDevice with its arguments cut off at every place
    // garbage-parcel      calls methods with random items in the place of arguments
    // cut-memory          prepares the first case of `bundle` with its constants in a file, cuts
    // the
    //                     file to nothing, and executes; fails unless that goes well, because the
    //                     constants are packed, or GENERAL_FAILURE is the answer
    // die-during-execute  starts many executions of the first case of `bundle`, and dies at once
    std::string mode;
    std::string bundle;
};

// OK if the service still answers afterwards; UNAVAILABLE if it does not, or was never there.
Status runHostileClient(const Settings& settings);

}  // namespace halyard::hostile
