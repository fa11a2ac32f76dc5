// SPDX-License-Identifier: Apache-2.0
//
// A case that is prepared once and then executed whenever a line of commands says so, so that a
// benchmark can take turns between programs.

#pragma once

#include <cstdio>

#include "engine/base/status.h"
#include "harness/device/runner/case_worker.h"
#include "harness/device/runner/message_file.h"

namespace halyard::runner {

// Prepares the bundle's first case in this process and executes its first example once: the first
// result, with memory and outputs. Then answers each line "run COUNT WARMUP" of `commands` with a
// result that holds the times of COUNT executions, and each line "profile COUNT WARMUP" with one
// that holds those of each node, until there are no more lines or a step fails,
// which is the last result. Fails for an unreadable bundle, for a line that makes no sense, and
// where a result can't be written.
Status serveCase(const RunSetup& setup, BundleReader& bundle, FILE* commands,
                 ResultWriter& results);

}  // namespace halyard::runner
