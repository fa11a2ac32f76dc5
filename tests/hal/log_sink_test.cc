// SPDX-License-Identifier: Apache-2.0

#include "hal/log_sink.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>

namespace halyard::hal {

namespace {

using Clock = std::chrono::steady_clock;

TEST(LogSink, WritesOnlySoManyWarningsAndTellsHowManyItLeftOut) {
    constexpr int kLines = 5000;
    ::testing::internal::CaptureStderr();
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < kLines; ++i) {
        logToStderrAndLogd(LogLevel::WARNING, "refused");
    }
    const auto seconds =
            std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - start).count() + 1;
    std::string text = ::testing::internal::GetCapturedStderr();
    EXPECT_LE(std::ranges::count(text, '\n'), 50 + 11 * seconds);

    // Once a further warning would be written, the next line tells of those left out.
    const std::string told = " warnings were left out\nI/halyard: ending\n";
    do {
        ::testing::internal::CaptureStderr();
        logToStderrAndLogd(LogLevel::INFO, "ending");
        text = ::testing::internal::GetCapturedStderr();
    } while (text.find(told) == std::string::npos &&
             Clock::now() < start + std::chrono::minutes(1));
    EXPECT_NE(text.find(told), std::string::npos) << text;
}

TEST(LogSink, CutsLongWarnings) {
    ::testing::internal::CaptureStderr();
    logToStderrAndLogd(LogLevel::ERROR, std::string(1 << 20, 'x'));
    EXPECT_LE(::testing::internal::GetCapturedStderr().size(), 4100U);
    ::testing::internal::CaptureStderr();
    logToStderrAndLogd(LogLevel::INFO, std::string(1 << 20, 'x'));
    EXPECT_GT(::testing::internal::GetCapturedStderr().size(), size_t{1} << 20);
}

}  // namespace

}  // namespace halyard::hal
