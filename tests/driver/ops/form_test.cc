// SPDX-License-Identifier: Apache-2.0

#include "driver/ops/form.h"

#include <gtest/gtest.h>

namespace halyard::driver {
namespace {

const OperandForms kPlain = {int32("first"), int32("second")};
const OperandForms kMiddle = {int32("first"), boolean("middle").repeated(), int32("last")};
const OperandForms kEnd = {int32("first"), anything("rest").repeated(0)};

TEST(Forms, TakeAsManyOperandsAsTheyName) {
    EXPECT_FALSE(takesCount(kPlain, 1));
    EXPECT_TRUE(takesCount(kPlain, 2));
    EXPECT_FALSE(takesCount(kPlain, 3));
}

TEST(Forms, TakeMoreWhereOneRepeats) {
    EXPECT_FALSE(takesCount(kMiddle, 2));
    EXPECT_TRUE(takesCount(kMiddle, 3));
    EXPECT_TRUE(takesCount(kMiddle, 30));
    EXPECT_FALSE(takesCount(kEnd, 0));
    EXPECT_TRUE(takesCount(kEnd, 1));
    EXPECT_TRUE(takesCount(kEnd, 2));
}

TEST(Forms, SayWhichOperandStandsWhere) {
    const auto names = [](const OperandForms& forms, size_t count) {
        std::vector<std::string_view> found;
        for (size_t i = 0; i < count; ++i) {
            found.push_back(formAt(forms, i, count).name);
        }
        return found;
    };
    using Names = std::vector<std::string_view>;
    EXPECT_EQ(names(kPlain, 2), (Names{"first", "second"}));
    EXPECT_EQ(names(kMiddle, 3), (Names{"first", "middle", "last"}));
    EXPECT_EQ(names(kMiddle, 5), (Names{"first", "middle", "middle", "middle", "last"}));
    EXPECT_EQ(names(kEnd, 1), Names{"first"});
    EXPECT_EQ(names(kEnd, 3), (Names{"first", "rest", "rest"}));
}

TEST(Forms, FindOperandsByName) {
    const auto range = [](const OperandForms& forms, std::string_view name, size_t count) {
        const std::optional<OperandRange> found = findRange(forms, name, count);
        return found.has_value() ? std::pair(found->first, found->count) : std::pair(99UL, 99UL);
    };
    using Range = std::pair<size_t, size_t>;
    EXPECT_EQ(range(kPlain, "second", 2), (Range{1, 1}));
    EXPECT_EQ(range(kPlain, "third", 2), (Range{99, 99}));
    EXPECT_EQ(range(kMiddle, "first", 6), (Range{0, 1}));
    EXPECT_EQ(range(kMiddle, "middle", 6), (Range{1, 4}));
    EXPECT_EQ(range(kMiddle, "last", 6), (Range{5, 1}));
    EXPECT_EQ(range(kEnd, "rest", 1), (Range{1, 0}));
}

TEST(Forms, TakeTheTypeTheColumnOfTheRowSays) {
    using enum OperandType;
    const TypeRow row = {HalVersion::V1_0, {TENSOR_FLOAT32, TENSOR_INT32}};
    EXPECT_TRUE(takesType(tensor("a", Column{1}), row, TENSOR_INT32));
    EXPECT_FALSE(takesType(tensor("a", Column{1}), row, TENSOR_FLOAT32));
    EXPECT_TRUE(takesType(tensor("a", TENSOR_BOOL8), row, TENSOR_BOOL8));
    EXPECT_FALSE(takesType(tensor("a", TENSOR_BOOL8), row, TENSOR_INT32));
    EXPECT_TRUE(takesType(anything("a"), row, SUBGRAPH));
}

}  // namespace
}  // namespace halyard::driver
