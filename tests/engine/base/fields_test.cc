// SPDX-License-Identifier: Apache-2.0

#include "engine/base/fields.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "engine/graph/nodes.h"

namespace halyard {
namespace {

using halyard::operator==;  // where a tuple of these looks for it

enum class Colour : unsigned char { RED, GREEN };

struct Inner {
    float weight = 0.5F;
    HALYARD_FIELDS(weight)
};

struct Outer {
    int count = 3;
    Colour colour = Colour::RED;
    Inner inner = {};
    HALYARD_FIELDS(count, colour, inner)
};

struct Nothing {
    HALYARD_FIELDS()
};

TEST(Fields, AreVisitedInOrderWithTheirNames) {
    std::vector<std::string> names;
    Outer outer;
    forEachField(outer, [&](std::string_view name, auto& /*field*/) { names.emplace_back(name); });
    EXPECT_EQ(names, (std::vector<std::string>{"count", "colour", "inner"}));
    Nothing nothing;
    forEachField(nothing, [](std::string_view name, auto& /*field*/) { FAIL() << name; });
}

TEST(Fields, CanBeChangedWhereTheyAre) {
    Outer outer;
    forEachField(outer, []<typename T>(std::string_view /*name*/, T& field) {
        if constexpr (std::is_same_v<T, int>) {
            field = 7;
        }
    });
    EXPECT_EQ(outer.count, 7);
}

TEST(Fields, AllTakePartInEquality) {
    EXPECT_TRUE(Outer() == Outer());
    EXPECT_FALSE(Outer() == Outer{.count = 4});
    EXPECT_FALSE(Outer() == Outer{.colour = Colour::GREEN});
    EXPECT_FALSE(Outer() == Outer{.inner = {.weight = 1.0F}});
    EXPECT_TRUE(Nothing() == Nothing());
}

TEST(Enumerators, KnowTheirNames) {
    EXPECT_EQ(nameOfEnumerator(Colour::GREEN), "GREEN");
    EXPECT_EQ(nameOfEnumerator(static_cast<Colour>(2)), "");
    EXPECT_EQ(nameOfEnumerator(static_cast<Colour>(200)), "");
    EXPECT_EQ(enumeratorNamed<Colour>("RED"), Colour::RED);
    EXPECT_EQ(enumeratorNamed<Colour>("BLUE"), std::nullopt);
    EXPECT_EQ(enumeratorNamed<Colour>(""), std::nullopt);
}

}  // namespace

namespace engine {
namespace {

TEST(NodeDescriptor, SaysItsKindAndFields) {
    EXPECT_EQ(toString(NodeDescriptor(Select())), "Select{}");
    EXPECT_EQ(toString(NodeDescriptor(Softmax{.beta = 0.1F})), "Softmax{beta: 0.1, axis: -1}");
    EXPECT_EQ(toString(NodeDescriptor(Reduce{.function = Reduce::Function::ANY, .keepDims = true})),
              "Reduce{function: ANY, keepDims: true}");
    EXPECT_EQ(toString(NodeDescriptor(Lstm{.attributes = {.cellClip = 2.0F}})),
              "Lstm{attributes: {activation: TANH, cellClip: 2, projectionClip: 0}}");
    EXPECT_EQ(toString(NodeDescriptor(If())), "If{then: nothing, otherwise: nothing}");
    EXPECT_EQ(toString(NodeDescriptor()), "no kind");
}

TEST(NodeDescriptor, IsEqualByKindAndFields) {
    EXPECT_TRUE(NodeDescriptor(TopK{.k = 2}) == NodeDescriptor(TopK{.k = 2}));
    EXPECT_FALSE(NodeDescriptor(TopK{.k = 2}) == NodeDescriptor(TopK{.k = 3}));
    EXPECT_FALSE(NodeDescriptor(Conv2d()) ==
                 NodeDescriptor(Conv2d{.window = {.padding = PaddingScheme::SAME}}));
    EXPECT_FALSE(NodeDescriptor(Squeeze()) == NodeDescriptor(Transpose()));
}

TEST(NodeSignature, NamesWhatRepeatsBeyondTheEnd) {
    const NodeSignature concat = signatureOf(Concat());
    EXPECT_EQ(concat.input(7)->name, "parts");
    EXPECT_EQ(concat.output(1), nullptr);
    const NodeSignature branch = signatureOf(If());
    EXPECT_TRUE(branch.isControlInput(0));
    EXPECT_FALSE(branch.isControlInput(1));
    EXPECT_EQ(branch.input(5)->name, "values");
    EXPECT_EQ(signatureOf(Reshape()).input(2), nullptr);
    EXPECT_TRUE(signatureOf(Reshape()).isControlInput(1));
    EXPECT_FALSE(signatureOf(Reshape()).isControlInput(2));
    EXPECT_EQ(signatureOf(Softmax()).output(0)->name, "output");
}

}  // namespace
}  // namespace engine
}  // namespace halyard
