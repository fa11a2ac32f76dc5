// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string_view>

#include "engine/base/log.h"

namespace halyard::hal {

// Sends log lines to stderr and, where there is one, to Android's logd under the tag "halyard".
// Of warnings and errors no more than LogLimit admits are written; a line tells how many were not.
// Thread-safe.
void logToStderrAndLogd(LogLevel level, std::string_view line);

// Connects to logd now instead of with the first line. That is done once: of a logd that comes
// later, or another time, nothing is known.
void openLog();

}  // namespace halyard::hal
