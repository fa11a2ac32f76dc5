// SPDX-License-Identifier: Apache-2.0

#include "driver/options/backend_hints.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

namespace halyard::driver {
namespace {

void expectRefused(std::string_view text, const std::string& message) {
    const Status status = parseBackendHints(text).status();
    EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT) << text;
    EXPECT_EQ(status.message(), message);
}

TEST(BackendHints, AreLinesOfAnOperationAndABackend) {
    const std::vector<BackendHint> hints = parseBackendHints(
                                                   "CONV_2D CpuAcc\n"
                                                   "\n"
                                                   "# all of it\n"
                                                   "\t12   CpuRef  # one\r\n"
                                                   "ADD GpuAcc")
                                                   .value();
    ASSERT_EQ(hints.size(), 3U);
    EXPECT_EQ(std::get<OperationType>(hints[0].operation), OperationType::CONV_2D);
    EXPECT_EQ(hints[0].backend, "CpuAcc");
    EXPECT_EQ(std::get<uint32_t>(hints[1].operation), 12U);
    EXPECT_EQ(hints[1].backend, "CpuRef");
    EXPECT_EQ(hints[1].line, 4U);
    EXPECT_EQ(hints[2].line, 5U);
    EXPECT_TRUE(parseBackendHints("").value().empty());
}

TEST(BackendHints, AreRefusedWithTheirLine) {
    expectRefused("ADD\n",
                  "line 1: a line is an operation's name or index and a backend, not 1 word");
    expectRefused("\nADD CpuRef CpuAcc",
                  "line 2: a line is an operation's name or index and a backend, not 3 words");
    expectRefused("ADD CpuRef\nADDD CpuRef",
                  "line 2: there is no operation \"ADDD\"; --list-operations prints their names");
    expectRefused("-1 CpuRef",
                  "line 1: there is no operation \"-1\"; --list-operations prints their names");
    expectRefused("99999999999 CpuRef", "line 1: no model has an operation 99999999999");
    expectRefused("ADD CpuRef\n3 CpuRef\nADD CpuAcc", "line 3: operation ADD has a hint already");
    expectRefused("3 CpuRef\n03 CpuAcc", "line 2: operation 03 has a hint already");
    expectRefused(std::string_view("ADD\0 CpuRef", 11),
                  "line 1: there is no operation \"ADD" + std::string(1, '\0') +
                          "\"; --list-operations prints their names");
}

TEST(BackendHints, ComeFromAFileThatCanBeRead) {
    const Status missing = readBackendHints("/nowhere/hints").status();
    EXPECT_EQ(missing.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(missing.message(), "/nowhere/hints: No such file or directory");
    EXPECT_EQ(readBackendHints("/").status().code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_TRUE(readBackendHints("/dev/null").value().empty());
    EXPECT_EQ(readBackendHints("/dev/zero").status().message(),
              "/dev/zero: it is larger than such a file can be");
}

}  // namespace
}  // namespace halyard::driver
