// SPDX-License-Identifier: Apache-2.0

#include "driver/operation_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "driver/ops/operation.h"

namespace halyard::driver {
namespace {

TEST(OperationList, NamesEveryOperationWithItsFirstVersionAndForms) {
    const std::string list = listOperations();
    EXPECT_NE(list.find(R"({"name": "MEAN", "code": 31, "since": "1.1", "signatures": [)"),
              std::string::npos)
            << list;
    EXPECT_NE(list.find(R"({"since": "1.0", "inputs": ["TENSOR_FLOAT32", "INT32"], )"
                        R"("first_repeats": true, "outputs": ["TENSOR_FLOAT32"]})"),
              std::string::npos)
            << list;
    for (const OperationDefinition& definition : allOperations()) {
        EXPECT_NE(list.find("\"" + describe(definition.type) + "\""), std::string::npos);
    }
    EXPECT_EQ(list.back(), '\n');
}

TEST(OperationList, ClosesEveryBracket) {
    const std::string list = listOperations();
    EXPECT_EQ(std::ranges::count(list, '{'), std::ranges::count(list, '}'));
    EXPECT_EQ(std::ranges::count(list, '['), std::ranges::count(list, ']'));
    EXPECT_EQ(std::ranges::count(list, '"') % 2, 0);
}

TEST(OperationList, AscendsByCode) {
    EXPECT_TRUE(std::ranges::is_sorted(allOperations(), std::less<>(), &OperationDefinition::type));
    for (const OperationDefinition& definition : allOperations()) {
        EXPECT_EQ(findOperation(definition.type), &definition);
    }
    EXPECT_EQ(findOperation(OperationType::LSTM), nullptr);
}

}  // namespace
}  // namespace halyard::driver
