// SPDX-License-Identifier: Apache-2.0

#include "engine/passes/fuse_activations.h"

#include <gtest/gtest.h>

#include "tests/engine/passes/pass_testing.h"

namespace halyard::engine::pass_test {
namespace {

Activate function(Activate::Function which) {
    return {.function = which};
}

// x -> ADD with itself -> RELU6 of another type, perhaps
Graph sumAndClamp(TestGraph& test, const TensorType& sum, const TensorType& clamped) {
    const TensorId x = test.input(sum);
    const TensorId y = test.node(Binary(), {x, x}, sum);
    return test.build({test.node(function(Activate::Function::RELU6), {y}, clamped)});
}

TEST(FuseActivations, PutsTheActivationIntoTheNodeBefore) {
    for (const auto which :
         {Activate::Function::RELU, Activate::Function::RELU1, Activate::Function::RELU6}) {
        TestGraph test;
        const TensorId x = test.input(floatType({1, 4, 4, 2}));
        const TensorId y = test.node(Conv2d(), {x, test.constant(floatType({3, 2, 2, 2})),
                                                test.constant(floatType({3}))});
        const Graph before = test.build({test.node(function(which), {y})});
        const Graph graph = after(fuseActivations, before);
        EXPECT_EQ(kindsOf(graph), Kinds{"Conv2d"});
        EXPECT_EQ(graph.node(0).sources, (std::vector<uint32_t>{0, 1}));
        EXPECT_TRUE(computeTheSame(before, graph, test.random()));
    }
}

TEST(FuseActivations, ReachesEveryKindThatTakesOne) {
    TestGraph test;
    const TensorId x = test.input(floatType({1, 4, 4, 2}));
    const auto relu = [&](TensorId id) {
        return test.node(function(Activate::Function::RELU), {id});
    };
    TensorId y = relu(test.node(DepthwiseConv2d(), {x, test.constant(floatType({1, 2, 2, 2})),
                                                    test.constant(floatType({2}))}));
    y = relu(test.node(Pool2d{.filterH = 2, .filterW = 2}, {y}));
    y = relu(test.node(Binary{.function = Binary::Function::MUL}, {y, y}));
    y = relu(test.node(FullyConnected(),
                       {y, test.constant(floatType({3, 8})), test.constant(floatType({3}))}));
    const Graph before = test.build({y});
    const Graph graph = after(fuseActivations, before);
    EXPECT_EQ(kindsOf(graph), (Kinds{"DepthwiseConv2d", "Pool2d", "Binary", "FullyConnected"}));
    EXPECT_TRUE(computeTheSame(before, graph, test.random()));
}

TEST(FuseActivations, IsExactForQuantizedTypesOfOneScale) {
    for (const DataType type : {DataType::QUANT8_ASYMM, DataType::QUANT8_ASYMM_SIGNED}) {
        for (int round = 0; round < 50; ++round) {
            TestGraph test;
            TensorType quantized = test.random().quantization(type, 0.05F);
            quantized.shape = {64};
            const Graph before = sumAndClamp(test, quantized, quantized);
            const Graph graph = after(fuseActivations, before);
            EXPECT_EQ(kindsOf(graph), Kinds{"Binary"});
            EXPECT_TRUE(computeTheSame(before, graph, test.random()));
        }
    }
}

TEST(FuseActivations, LeavesQuantizedTypesOfTwoScalesAlone) {
    TestGraph test;
    const TensorType sum = typeOf(DataType::QUANT8_ASYMM, {64}, 0.1F, 100);
    EXPECT_EQ(after(fuseActivations,
                    sumAndClamp(test, sum, typeOf(DataType::QUANT8_ASYMM, {}, 0.05F, 100)))
                      .nodes()
                      .size(),
              2U);
    TestGraph other;
    EXPECT_EQ(after(fuseActivations,
                    sumAndClamp(other, sum, typeOf(DataType::QUANT8_ASYMM, {}, 0.1F, 99)))
                      .nodes()
                      .size(),
              2U);
}

TEST(FuseActivations, KeepsWhatSomebodyElseReads) {
    TestGraph test;
    const TensorId x = test.input(floatType({4}));
    const TensorId y = test.node(Binary(), {x, x});
    const TensorId z = test.node(function(Activate::Function::RELU), {y});
    EXPECT_EQ(after(fuseActivations, test.build({z, y})).nodes().size(), 2U);
    EXPECT_EQ(after(fuseActivations, test.build({z, test.node(Unary(), {y})})).nodes().size(), 3U);
}

TEST(FuseActivations, KeepsASecondActivationAndOtherFunctions) {
    TestGraph test;
    const TensorId x = test.input(floatType({4}));
    const TensorId y = test.node(Binary{.activation = Activation::RELU}, {x, x});
    EXPECT_EQ(after(fuseActivations,
                    test.build({test.node(function(Activate::Function::RELU6), {y})}))
                      .nodes()
                      .size(),
              2U);
    TestGraph other;
    const TensorId a = other.input(floatType({4}));
    const TensorId b = other.node(Binary(), {a, a});
    EXPECT_EQ(after(fuseActivations,
                    other.build({other.node(function(Activate::Function::TANH), {b})}))
                      .nodes()
                      .size(),
              2U);
}

}  // namespace
}  // namespace halyard::engine::pass_test
