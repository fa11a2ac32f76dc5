// SPDX-License-Identifier: Apache-2.0

#include "engine/base/status.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace halyard {
namespace {

Result<int> half(int number) {
    if (number % 2 != 0) {
        return invalidArgument(std::to_string(number) + " is odd");
    }
    return number / 2;
}

Result<int> quarter(int number) {
    HALYARD_ASSIGN_OR_RETURN(const int once, half(number));
    HALYARD_ASSIGN_OR_RETURN(const int twice, half(once));
    return twice;
}

Status mustBeEven(int number) {
    HALYARD_RETURN_IF_ERROR(half(number).status());
    return {};
}

TEST(Status, IsOkByDefaultAndSaysNothing) {
    const Status status;
    EXPECT_TRUE(status.ok());
    EXPECT_EQ(status.code(), StatusCode::OK);
    EXPECT_EQ(status.message(), "");
    EXPECT_EQ(status.toString(), "OK");
}

TEST(Status, NamesCodeMessageAndPlaceInTheTree) {
    const Status status = unsupported("no such thing");
    const std::string text = status.toString();
    EXPECT_EQ(text.rfind("UNSUPPORTED: no such thing (tests/engine/base/status_test.cc:", 0), 0U)
            << text;
}

TEST(Status, KeepsCodeAndPlaceWhenContextIsAdded) {
    const Status inner = invalidArgument("scale must be positive");
    const Status outer = inner.withContext("operand 3").withContext("operation 1");
    EXPECT_EQ(outer.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(outer.message(), "operation 1: operand 3: scale must be positive");
    const std::string place = inner.toString().substr(inner.toString().find(" ("));
    EXPECT_NE(outer.toString().find(place), std::string::npos);
}

TEST(Status, StaysOkWhenContextIsAdded) {
    EXPECT_TRUE(Status().withContext("anything").ok());
}

TEST(Status, StaysPersistentWhenContextIsAdded) {
    const Status passes(StatusCode::RESOURCE_EXHAUSTED, "full");
    EXPECT_FALSE(passes.persistent());
    const Status stays = passes.asPersistent().withContext("operation 1");
    EXPECT_TRUE(stays.persistent());
    EXPECT_EQ(stays.code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(stays.message(), "operation 1: full");
    EXPECT_FALSE(passes.withContext("operation 1").persistent());
    EXPECT_TRUE(outOfReach("too much").persistent());
    EXPECT_TRUE(Status().asPersistent().ok());
}

TEST(Status, KeepsTheOuterOperationAndTheInnerRule) {
    constexpr int32_t kInner = 3;
    const Status inner = invalidArgument("odd").breaking(kInner).atOperation(7);
    EXPECT_EQ(inner.operation(), 7U);
    const Status outer = inner.withContext("it").breaking(4).atOperation(1);
    EXPECT_EQ(outer.operation(), 1U);
    EXPECT_EQ(outer.rule(), kInner);
    EXPECT_EQ(outer.message(), "it: odd");
    EXPECT_EQ(inner.operation(), 7U);
    EXPECT_FALSE(invalidArgument("odd").operation().has_value());
    EXPECT_EQ(invalidArgument("odd").rule(), 0);
    EXPECT_TRUE(Status().breaking(kInner).atOperation(1).ok());
}

TEST(Status, KeepsAllElseUnderAnotherCode) {
    const Status changed = invalidArgument("odd").atOperation(7).withCode(StatusCode::UNSUPPORTED);
    EXPECT_EQ(changed.code(), StatusCode::UNSUPPORTED);
    EXPECT_EQ(changed.message(), "odd");
    EXPECT_EQ(changed.operation(), 7U);
    EXPECT_TRUE(Status().withCode(StatusCode::UNSUPPORTED).ok());
}

TEST(Status, LeavesOutTheRestOfAMessageThatQuotesTooMuch) {
    constexpr size_t kLongestMessage = 8192;
    const std::string longest(kLongestMessage, 'x');
    EXPECT_EQ(invalidArgument(longest).message(), longest);
    const std::string name(1'000'000, 'x');
    const Status status = invalidArgument("the name is '" + name + "'");
    EXPECT_LE(status.message().size(), kLongestMessage);
    EXPECT_TRUE(status.message().starts_with("the name is 'xxx"));
    EXPECT_TRUE(status.message().ends_with(" ... (of 1000014 bytes)"))
            << status.message().substr(status.message().size() - 40);
    EXPECT_LE(invalidArgument("short").withContext(name).message().size(), kLongestMessage);
    // Letters stay whole.
    std::string letters;
    while (letters.size() < 2 * kLongestMessage) {
        letters += "\u00e4";
    }
    for (const std::string begin : {"", "a"}) {
        const Status cut = unsupported(begin + letters);
        const size_t end = cut.message().find(" ... ");
        ASSERT_NE(end, std::string_view::npos);
        EXPECT_EQ((end - begin.size()) % 2, 0U);
    }
}

TEST(Status, MadeWithOkCodeIsOk) {
    EXPECT_TRUE(Status(StatusCode::OK, "ignored").ok());
}

TEST(Status, EveryCodeHasAName) {
    for (const StatusCode code :
         {StatusCode::OK, StatusCode::INVALID_ARGUMENT, StatusCode::UNSUPPORTED,
          StatusCode::OUTPUT_TOO_SMALL, StatusCode::DEADLINE_EXCEEDED,
          StatusCode::RESOURCE_EXHAUSTED, StatusCode::UNAVAILABLE, StatusCode::INTERNAL}) {
        EXPECT_NE(toString(code), "unknown status");
    }
}

TEST(Result, CarriesAValueOrAFailureThroughTheMacros) {
    EXPECT_EQ(*quarter(12), 3);
    EXPECT_EQ(quarter(6).status().message(), "3 is odd");
    EXPECT_EQ(quarter(5).status().message(), "5 is odd");
    EXPECT_TRUE(mustBeEven(2).ok());
    EXPECT_EQ(mustBeEven(1).code(), StatusCode::INVALID_ARGUMENT);
}

TEST(Result, HoldsWhatCanOnlyBeMoved) {
    Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
    const std::unique_ptr<int> value = std::move(result).value();
    EXPECT_EQ(*value, 7);
}

TEST(Result, MadeFromAnOkStatusIsAFailure) {
    const Result<int> result = Status();
    EXPECT_FALSE(result.ok());
    EXPECT_EQ(result.status().code(), StatusCode::INTERNAL);
}

TEST(ResultDeathTest, EndsTheProcessWhenAFailureIsAskedForItsValue) {
    EXPECT_DEATH(static_cast<void>(half(1).value()), "");
}

}  // namespace
}  // namespace halyard
