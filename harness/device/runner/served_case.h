// SPDX-License-Identifier: Apache-2.0
//
// A case that is prepared once, for one client or several, and then executed whenever a line of
// commands says so, so that a benchmark can take turns between programs.

#pragma once

#include <cstdio>

#include "engine/base/status.h"
#include "harness/device/cases/message_file.h"
#include "harness/device/runner/case_worker.h"

namespace halyard::runner {

// Prepares the bundle's first case in this process for each of the options' clients and executes
// its first example once for each: the first result, with memory and, one example per client,
// outputs. Then answers each line of `commands` with a result, until there are no more lines or a
// step fails, which is the last result:
//   run COUNT WARMUP       the times of COUNT executions of the first client
//   profile COUNT WARMUP   those of each of its nodes
//   load FROM UNTIL COUNT  the first COUNT clients execute at the same time, each on a thread of
//                          its own, again and again from now to UNTIL; one example per client holds
//                          the times of those that end after FROM. Both are nanoseconds of
//                          CLOCK_MONOTONIC. Afterwards outputs have to be, bit for
//                          bit, those of the first execution.
// Fails for an unreadable bundle, for a line that makes no sense, for several clients of a service,
// and where a result can't be written.
Status serveCase(const RunSetup& setup, BundleReader& bundle, FILE* commands,
                 ResultWriter& results);

}  // namespace halyard::runner
