// SPDX-License-Identifier: Apache-2.0

#include "engine/base/log.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace halyard {
namespace {

std::vector<std::pair<LogLevel, std::string>> received;

class Log : public testing::Test {
  protected:
    void SetUp() override { received.clear(); }
    void TearDown() override {
        setLogSink(nullptr);
        setLogThreshold(LogLevel::INFO);
    }
};

void receive(LogLevel level, std::string_view line) {
    received.emplace_back(level, line);
}

TEST_F(Log, HandsLinesFromTheThresholdUpToTheSink) {
    setLogSink(&receive);
    log(LogLevel::VERBOSE, "details");
    log(LogLevel::INFO, "news");
    log(LogLevel::ERROR, "trouble");
    ASSERT_EQ(received.size(), 2U);
    EXPECT_EQ(received[0], std::make_pair(LogLevel::INFO, std::string("news")));
    EXPECT_EQ(received[1], std::make_pair(LogLevel::ERROR, std::string("trouble")));
}

TEST_F(Log, LetsDetailsThroughWhenTheThresholdIsLowered) {
    setLogSink(&receive);
    setLogThreshold(LogLevel::VERBOSE);
    EXPECT_TRUE(logEnabled(LogLevel::VERBOSE));
    log(LogLevel::VERBOSE, "details");
    EXPECT_EQ(received.size(), 1U);
}

TEST_F(Log, ShowsControlCharactersInsteadOfObeyingThem) {
    setLogSink(&receive);
    log(LogLevel::INFO, "pool \"a\nE/halyard: forged\x1b[2J\x7f\"");
    ASSERT_EQ(received.size(), 1U);
    EXPECT_EQ(received[0].second, "pool \"a\\x0aE/halyard: forged\\x1b[2J\\x7f\"");
}

TEST_F(Log, WritesBriefLinesToStderrWithoutASink) {
    testing::internal::CaptureStderr();
    log(LogLevel::WARNING, "mind the gap");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "W/halyard: mind the gap\n");
}

}  // namespace
}  // namespace halyard
