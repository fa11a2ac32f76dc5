// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "tests/importers/tflite/one_operator.h"

namespace halyard::tflite {
namespace {

const std::map<size_t, OptionValue> kThenAndElse = {{IfOptions::kThenSubgraphIndex, integer(1)},
                                                    {IfOptions::kElseSubgraphIndex, integer(2)}};

// Of x and a condition: x with its axis reversed, or x padded with a zero.
struct Choice {
    ModelBuilder builder;
    int32_t condition = 0;
    int32_t x = 0;
    int32_t output = 0;

    Choice() {
        condition = builder.input(ElementType::BOOL, {});
        x = builder.input(ElementType::FLOAT32, {2});
        output = builder.tensor(ElementType::FLOAT32, {});
        builder.output(output);
        builder.add(OperatorCode::IF, {condition, x}, {output}, kThenAndElse);
        addBranch(OperatorCode::REVERSE_V2, {1}, {0});
        addBranch(OperatorCode::PAD, {1, 2}, {0, 1});
    }
    void addBranch(OperatorCode code, const Extents& shape, const Ints& numbers) {
        builder.begin();
        // The shape of another input: that of the value counts.
        const int32_t value = builder.input(ElementType::FLOAT32, {1});
        const int32_t list = builder.ints(shape, numbers);
        const int32_t result = builder.tensor(ElementType::FLOAT32, {});
        builder.add(code, {value, list}, {result});
        builder.output(result);
    }
};

TEST(ControlFlowTest, IfRunsOneOfItsSubgraphs) {
    for (const bool condition : {false, true}) {
        Choice choice;
        const Outcome found = run(choice.builder.model(),
                                  {{choice.condition, Bytes{condition ? uint8_t{1} : uint8_t{0}}},
                                   {choice.x, bytesOf(Floats{4, 5})}});
        ASSERT_TRUE(found.status.ok()) << found.status.toString();
        EXPECT_EQ(found.floats(choice.output), condition ? (Floats{5, 4}) : (Floats{4, 5, 0}));
    }
}

TEST(ControlFlowTest, ADelegateLeavesItToTheRuntime) {
    Choice choice;
    EXPECT_TRUE(has(reasonOf(choice.builder.model(), {.controlFlow = false}),
                    "the runtime runs the subgraphs"));
}

TEST(ControlFlowTest, WhileRunsUntilItsConditionFails) {
    ModelBuilder builder;
    const int32_t counter = builder.input(ElementType::INT32, {1});
    const int32_t x = builder.input(ElementType::FLOAT32, {2});
    const int32_t last = builder.tensor(ElementType::INT32, {});
    const int32_t output = builder.tensor(ElementType::FLOAT32, {});
    builder.output(last);
    builder.output(output);
    builder.add(OperatorCode::WHILE, {counter, x}, {last, output},
                {{WhileOptions::kCondSubgraphIndex, integer(1)},
                 {WhileOptions::kBodySubgraphIndex, integer(2)}});
    builder.begin();
    const int32_t i = builder.input(ElementType::INT32, {1});
    builder.input(ElementType::FLOAT32, {2});
    const int32_t limit = builder.ints({1}, {3});
    const int32_t goesOn = builder.tensor(ElementType::BOOL, {1});
    builder.add(OperatorCode::LESS, {i, limit}, {goesOn});
    builder.output(goesOn);
    builder.begin();
    const int32_t at = builder.input(ElementType::INT32, {1});
    const int32_t value = builder.input(ElementType::FLOAT32, {2});
    const int32_t one = builder.ints({1}, {1});
    const int32_t next = builder.tensor(ElementType::INT32, {1});
    const int32_t doubled = builder.tensor(ElementType::FLOAT32, {2});
    builder.add(OperatorCode::ADD, {at, one}, {next});
    builder.add(OperatorCode::ADD, {value, value}, {doubled});
    builder.output(next);
    builder.output(doubled);
    const Outcome found = run(builder.model(), {{x, bytesOf(Floats{1, 3})}});
    ASSERT_TRUE(found.status.ok()) << found.status.toString();
    EXPECT_EQ(found.ints(last), (Ints{3}));
    EXPECT_EQ(found.floats(output), (Floats{8, 24}));
}

// Of as many subgraphs as `names` has entries, each an IF of the two that its entry names.
ModelBuilder nested(const std::vector<std::pair<int32_t, int32_t>>& names) {
    ModelBuilder builder;
    for (size_t i = 0; i < names.size(); ++i) {
        if (i > 0) {
            builder.begin();
        }
        const int32_t condition = builder.input(ElementType::BOOL, {});
        const int32_t output = builder.tensor(ElementType::BOOL, {});
        builder.output(output);
        builder.add(OperatorCode::IF, {condition, condition}, {output},
                    {{IfOptions::kThenSubgraphIndex, integer(names[i].first)},
                     {IfOptions::kElseSubgraphIndex, integer(names[i].second)}});
    }
    return builder;
}

TEST(ControlFlowTest, RefusesSubgraphsThatAreNotOrAreTheirOwn) {
    EXPECT_TRUE(
            has(reasonOf(nested({{7, 7}}).model()), "it names subgraph 7, of which there are 1"));
    EXPECT_TRUE(has(reasonOf(nested({{0, 0}}).model()), "its subgraph 0 has it inside"));
    EXPECT_TRUE(has(reasonOf(nested({{1, 1}, {0, 0}}).model()), "subgraph 0 has it inside"));
}

// The last one names no other.
TEST(ControlFlowTest, NestingIsTakenUntilItMultiplies) {
    for (const int32_t depth : {3, 12}) {
        std::vector<std::pair<int32_t, int32_t>> names;
        for (int32_t i = 1; i <= depth; ++i) {
            names.emplace_back(i, i);
        }
        ModelBuilder builder = nested(names);
        builder.begin();
        const int32_t x = builder.input(ElementType::BOOL, {});
        const int32_t output = builder.tensor(ElementType::BOOL, {});
        builder.add(OperatorCode::LOGICAL_NOT, {x}, {output});
        builder.output(output);
        const std::string reason = reasonOf(builder.model());
        EXPECT_TRUE(depth == 3 ? reason.empty() : has(reason, "more than 256 times")) << reason;
    }
}

TEST(ControlFlowTest, RefusesOtherCountsAndWhatASubgraphRefuses) {
    Choice outputs;
    outputs.builder.graph().outputs.clear();
    EXPECT_TRUE(has(reasonOf(outputs.builder.model()), "1 inputs and 0 outputs, not 1 and 1"));
    Choice inside;
    inside.builder.graph().operators[0].code = static_cast<int32_t>(OperatorCode::UNIQUE);
    EXPECT_TRUE(has(reasonOf(inside.builder.model()),
                    "its subgraph 2: operator 0 (UNIQUE): the engine has no such operator"));
}

TEST(ControlFlowTest, RefusesASubgraphThatKeepsAState) {
    ModelBuilder builder;
    const int32_t condition = builder.input(ElementType::BOOL, {});
    const int32_t x = builder.input(ElementType::FLOAT32, {1, 1});
    const int32_t output = builder.tensor(ElementType::FLOAT32, {});
    builder.add(OperatorCode::IF, {condition, x}, {output},
                {{IfOptions::kThenSubgraphIndex, integer(1)},
                 {IfOptions::kElseSubgraphIndex, integer(1)}});
    builder.begin();
    const int32_t value = builder.input(ElementType::FLOAT32, {1, 1});
    const int32_t weights = builder.floats({1, 1}, {1});
    const int32_t bias = builder.floats({1}, {1});
    const int32_t state = builder.variable(ElementType::FLOAT32, {1, 1});
    const int32_t result = builder.tensor(ElementType::FLOAT32, {});
    builder.add(OperatorCode::RNN, {value, weights, weights, bias, state}, {result});
    builder.output(result);
    EXPECT_TRUE(has(reasonOf(builder.model()), "keeps a state"));
}

}  // namespace
}  // namespace halyard::tflite
