// SPDX-License-Identifier: Apache-2.0
//
// Log lines go to a sink that the program installs once at start; without one they go to stderr in
// logcat's brief form ("W/halyard: text"). A library never decides where lines go.
//
// A program that has the engine inside it several times over gives each its own target: lines of a
// thread inside a LogScope go there, and so do those of threads that compute for it.

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

// Where the lines of a scope go. Called from any thread, several at once.
struct LogTarget {
    void (*write)(void* context, LogLevel level, std::string_view line) = nullptr;
    void* context = nullptr;
    LogLevel threshold = LogLevel::INFO;
};

// Has the lines of this thread go to the target, in place of the program's sink, until its end.
// Scopes lie inside one another; null: the program's sink. The target outlives the scope.
class LogScope {
  public:
    explicit LogScope(const LogTarget* target);
    ~LogScope();
    LogScope(const LogScope&) = delete;
    LogScope& operator=(const LogScope&) = delete;

    // Of the innermost scope of this thread; null: the program's sink. For threads that work for
    // it.
    static const LogTarget* current();

  private:
    const LogTarget* const mOuter;
};

// Control characters in the line reach the sink as "\x0a".
void log(LogLevel level, std::string_view line);

}  // namespace halyard
