// SPDX-License-Identifier: Apache-2.0

#include "driver/ops/operation_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "driver/ops/operation_table.h"

namespace halyard::driver {
namespace {

TEST(OperationList, PrintsFormsAndRows) {
    const std::string list = listOperations();
    EXPECT_NE(list.find(R"({"name": "MEAN", "code": 31, "since": "1.1",
     "forms": [{"since": "1.1", "inputs": [{"name": "input", "column": 0}, )"
                        R"({"name": "axes", "type": "TENSOR_INT32"}, )"
                        R"({"name": "keep_dims", "type": "INT32"}], )"
                        R"("outputs": [{"name": "output", "column": 0}]}],
     "rows": [{"since": "1.0", "types": ["TENSOR_FLOAT32", )"),
              std::string::npos)
            << list;
    EXPECT_NE(list.find(R"({"name": "inputs", "column": 0, "at_least": 1})"), std::string::npos)
            << list;
    EXPECT_EQ(list.back(), '\n');
}

TEST(OperationList, NamesEveryOperationThatHalyardRuns) {
    const std::string list = listOperations();
    for (const OperationDefinition& definition : allOperations()) {
        const bool listed = list.find("\"" + describe(definition.type) + "\"") != std::string::npos;
        EXPECT_EQ(listed, definition.lower != nullptr) << describe(definition.type);
    }
}

TEST(OperationList, NamesTheExtensionsThatHalyardKnows) {
    EXPECT_NE(listOperations().find(R"("extensions": [    {"name": "com.halyard.activation",
     "operations": ["SILU", "GELU"],
     "operand_types": [{"number": 0, "is_tensor": false, "byte_size": 4}]}])"),
              std::string::npos)
            << listOperations();
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
    EXPECT_EQ(findOperation(OperationType::OEM_OPERATION), nullptr);
}

}  // namespace
}  // namespace halyard::driver
