// SPDX-License-Identifier: Apache-2.0

#include "engine/base/log.h"

#include <unistd.h>

#include <atomic>
#include <string>
#include <utility>

namespace halyard {
namespace {

void writeToStderr(LogLevel level, std::string_view line) {
    constexpr char kLetters[] = {'V', 'I', 'W', 'E'};
    std::string text(1, kLetters[static_cast<size_t>(level)]);
    text.append("/halyard: ").append(line).append("\n");
    // One write call per line, so that lines of several threads and processes stay whole.
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

// Lines quote names that clients chose: a control character must not forge a line or drive a
// terminal.
std::string withoutControls(std::string_view line) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    text.reserve(line.size());
    for (const char c : line) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte != 0x7f) {
            text.push_back(c);
        } else {
            text.append("\\x").append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 0xf]);
        }
    }
    return text;
}

// Where a program's lines go is the one thing that is the same for every caller in the process.
std::atomic<LogSink> logSink = &writeToStderr;
std::atomic<LogLevel> logThreshold = LogLevel::INFO;

thread_local const LogTarget* scopedTarget = nullptr;

}  // namespace

void setLogSink(LogSink sink) {
    logSink = sink == nullptr ? &writeToStderr : sink;
}

void setLogThreshold(LogLevel level) {
    logThreshold = level;
}

bool logEnabled(LogLevel level) {
    return level >= (scopedTarget != nullptr ? scopedTarget->threshold
                                             : logThreshold.load(std::memory_order_relaxed));
}

LogScope::LogScope(const LogTarget* target) : mOuter(std::exchange(scopedTarget, target)) {}

LogScope::~LogScope() {
    scopedTarget = mOuter;
}

const LogTarget* LogScope::current() {
    return scopedTarget;
}

void log(LogLevel level, std::string_view line) {
    if (!logEnabled(level)) {
        return;
    }
    if (scopedTarget == nullptr) {
        logSink.load()(level, withoutControls(line));
    } else if (scopedTarget->write != nullptr) {
        scopedTarget->write(scopedTarget->context, level, withoutControls(line));
    }
}

}  // namespace halyard
