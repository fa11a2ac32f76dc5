// SPDX-License-Identifier: Apache-2.0
//
// Runs the cases of a bundle, several at a time, each in a process that others can't harm.

#pragma once

#include "engine/base/status.h"
#include "harness/device/cases/message_file.h"
#include "harness/device/runner/case_worker.h"

namespace halyard::runner {

enum class BundleEnd : uint8_t {
    COMPLETE,  // every case has a result
    EARLY,     // as --until-crash asks
};

// Writes the result of each case when the case ends. What a case does to its process, and a process
// that ends badly when it closes the target, fails the case that it ran last and no other. Fails if
// the bundle is cut short (after the cases before), or if a result can't be written.
Result<BundleEnd> runBundle(const RunSetup& setup, BundleReader& bundle, ResultWriter& results);

}  // namespace halyard::runner
