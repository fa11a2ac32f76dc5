// SPDX-License-Identifier: Apache-2.0

#include "hal/log_limit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace halyard::hal {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Time = LogLimit::Clock::time_point;

constexpr LogLimit::Rate kRate{.burst = 5, .perSecond = 2};

// How many of that many lines, all at one time, are admitted.
int admitted(LogLimit& limit, LogLevel level, Time now, int lines) {
    int count = 0;
    for (int i = 0; i < lines; ++i) {
        count += limit.admits(level, now) ? 1 : 0;
    }
    return count;
}

TEST(LogLimit, AdmitsABurstAndThenItsRate) {
    LogLimit limit(kRate);
    const Time start(seconds(1000));
    EXPECT_EQ(admitted(limit, LogLevel::WARNING, start, 100), 5);
    EXPECT_EQ(admitted(limit, LogLevel::WARNING, start + milliseconds(499), 100), 0);
    EXPECT_EQ(admitted(limit, LogLevel::WARNING, start + milliseconds(500), 100), 1);
    EXPECT_EQ(admitted(limit, LogLevel::WARNING, start + milliseconds(1700), 100), 2);
    // The 200 ms beyond the last token count.
    EXPECT_EQ(admitted(limit, LogLevel::WARNING, start + milliseconds(2000), 100), 1);
}

TEST(LogLimit, AdmitsNoMoreThanABurstAfterAnySilence) {
    LogLimit limit(kRate);
    const Time start(seconds(1000));
    EXPECT_EQ(admitted(limit, LogLevel::ERROR, start, 100), 5);
    EXPECT_EQ(admitted(limit, LogLevel::ERROR, start + std::chrono::hours(100'000), 100), 5);
    EXPECT_EQ(admitted(limit, LogLevel::ERROR, Time::max(), 100), 5);
}

TEST(LogLimit, StaysWithinItsRateForAnyPattern) {
    LogLimit limit(kRate);
    const Time start(seconds(1000));
    int count = 0;
    for (int step = 0; step < 10'000; ++step) {
        count += admitted(limit, LogLevel::WARNING, start + milliseconds(step * 7), step % 3);
    }
    EXPECT_EQ(count, 5 + (9'999 * 7) / 500);
}

TEST(LogLimit, CountsWhatItLeavesOutAndTellsItOnceItOpens) {
    LogLimit limit(kRate);
    const Time start(seconds(1000));
    admitted(limit, LogLevel::WARNING, start, 100);
    EXPECT_EQ(limit.takeLeftOut(LogLevel::WARNING, start), 0U);
    EXPECT_EQ(limit.takeLeftOut(LogLevel::WARNING, start + seconds(1)), 95U);
    EXPECT_EQ(limit.takeLeftOut(LogLevel::WARNING, start + seconds(1)), 0U);
}

TEST(LogLimit, LimitsEachLevelByItself) {
    LogLimit limit(kRate);
    const Time start(seconds(1000));
    EXPECT_EQ(admitted(limit, LogLevel::WARNING, start, 100), 5);
    EXPECT_EQ(admitted(limit, LogLevel::ERROR, start, 100), 5);
    EXPECT_EQ(limit.takeLeftOut(LogLevel::ERROR, start + seconds(1)), 95U);
    EXPECT_EQ(limit.takeLeftOut(LogLevel::WARNING, start + seconds(1)), 95U);
}

TEST(LogLimit, LosesNoLineOfOtherLevels) {
    LogLimit limit(kRate);
    const Time start(seconds(1000));
    admitted(limit, LogLevel::WARNING, start, 100);
    EXPECT_EQ(admitted(limit, LogLevel::INFO, start, 1000), 1000);
    EXPECT_EQ(admitted(limit, LogLevel::VERBOSE, start, 1000), 1000);
}

TEST(LogLimit, TakesTimesOutOfOrder) {
    LogLimit limit(kRate);
    const Time start(seconds(1000));
    EXPECT_EQ(admitted(limit, LogLevel::WARNING, start, 100), 5);
    EXPECT_EQ(admitted(limit, LogLevel::WARNING, start - seconds(100), 100), 0);
    EXPECT_EQ(admitted(limit, LogLevel::WARNING, start + seconds(1), 100), 2);
}

TEST(LogLimit, CountsEveryLineOfManyThreads) {
    LogLimit limit(kRate);
    const Time start(seconds(1000));
    std::atomic<int> count = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] { count += admitted(limit, LogLevel::WARNING, start, 1000); });
    }
    std::ranges::for_each(threads, &std::thread::join);
    EXPECT_EQ(count, 5);
    EXPECT_EQ(limit.takeLeftOut(LogLevel::WARNING, start + seconds(1)), 3995U);
}

}  // namespace

}  // namespace halyard::hal
