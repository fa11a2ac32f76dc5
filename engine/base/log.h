// SPDX-License-Identifier: Apache-2.0
//
// Log lines go to a sink that the program installs once at start; without one they go to stderr in
// logcat's brief form ("W/halyard: text"). A library never decides where lines go.

#pragma once

#include <cstdint>
#include <string_view>

namespace halyard {

enum class LogLevel : uint8_t { VERBOSE, INFO, WARNING, ERROR };

// Receives every line at or above the threshold, from any thread, without a trailing newline.
using LogSink = void (*)(LogLevel level, std::string_view line);

// Set once, before other threads start. The default threshold is INFO; -v lowers it to VERBOSE.
void setLogSink(LogSink sink);
void setLogThreshold(LogLevel level);
bool logEnabled(LogLevel level);
// Control characters in the line reach the sink as "\x0a".
void log(LogLevel level, std::string_view line);

}  // namespace halyard
