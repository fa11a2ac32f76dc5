// SPDX-License-Identifier: Apache-2.0

#include "engine/passes/fold_scales.h"

#include <gtest/gtest.h>

#include "tests/engine/passes/pass_testing.h"

namespace halyard::engine::pass_test {
namespace {

using Function = Binary::Function;
constexpr double kRounding = 1e-5;

TensorId convolveActive(TestGraph& test, TensorId x, Activation activation = Activation::NONE) {
    return test.node(Conv2d{.activation = activation},
                     {x, test.constant(floatType({3, 3, 3, 2})), test.constant(floatType({3}))});
}

void expectFolded(TestGraph& test, const Graph& before, const Kinds& kinds) {
    const Graph graph = after(foldScales, before);
    EXPECT_EQ(kindsOf(graph), kinds);
    EXPECT_TRUE(computeTheSame(before, graph, test.random(), kRounding));
}

TEST(FoldScales, FoldsScalesAndOffsetsOfChannelsIntoTheWeights) {
    for (const Function function : {Function::MUL, Function::ADD, Function::SUB}) {
        for (const bool constantFirst : {false, true}) {
            for (const Shape& shape : {Shape({3}), Shape({1, 1, 1, 3}), Shape({1}), Shape({})}) {
                TestGraph test;
                const TensorId y = convolveActive(test, test.input(floatType({1, 6, 6, 2})));
                const TensorId c = test.constant(floatType(shape));
                const Graph before = test.build({test.node(
                        Binary{.function = function, .activation = Activation::RELU},
                        constantFirst ? std::vector{c, y} : std::vector{y, c}, floatType({}))});
                expectFolded(test, before, {"Conv2d"});
            }
        }
    }
}

TEST(FoldScales, FoldsIntoDepthwiseConvolutionsAndFullyConnected) {
    TestGraph test;
    const TensorId x = test.input(floatType({1, 6, 6, 2}));
    TensorId y =
            test.node(DepthwiseConv2d{.multiplier = 2},
                      {x, test.constant(floatType({1, 3, 3, 4})), test.constant(floatType({4}))});
    y = test.node(Binary{.function = Function::MUL}, {y, test.constant(floatType({4}))});
    TensorId z = test.node(FullyConnected(),
                           {y, test.constant(floatType({5, 64})), test.constant(floatType({5}))});
    z = test.node(Binary{.function = Function::MUL}, {z, test.constant(floatType({1, 5}))});
    const Graph before = test.build({z});
    expectFolded(test, before, {"DepthwiseConv2d", "FullyConnected"});
    EXPECT_EQ(after(foldScales, before).node(0).sources, (std::vector<uint32_t>{0, 1}));
}

TEST(FoldScales, KeepsWhatIsNotPerChannel) {
    for (const Shape& shape : {Shape({4, 1}), Shape({1, 4, 4, 3}), Shape({1, 1, 1, 1, 3})}) {
        TestGraph test;
        const TensorId y = convolveActive(test, test.input(floatType({1, 6, 6, 2})));
        expectFolded(test,
                     test.build({test.node(Binary{.function = Function::MUL},
                                           {y, test.constant(floatType(shape))})}),
                     {"Conv2d", "Binary"});
    }
    TestGraph one;  // a constant that broadcasts the convolution's only channel
    const TensorId y = one.node(
            Conv2d(), {one.input(floatType({1, 4, 4, 1})), one.constant(floatType({1, 1, 1, 1})),
                       one.constant(floatType({1}))});
    expectFolded(one, one.build({one.node(Binary(), {y, one.constant(floatType({3}))})}),
                 {"Conv2d", "Binary"});
}

TEST(FoldScales, KeepsOtherFunctionsAndWhatComesBehindAnActivation) {
    TestGraph test;
    const TensorId x = test.input(floatType({1, 6, 6, 2}));
    const TensorId c = test.constant(floatType({3}));
    const TensorId most =
            test.node(Binary{.function = Function::MAXIMUM}, {convolveActive(test, x), c});
    const TensorId scaled = test.node(Binary{.function = Function::MUL},
                                      {convolveActive(test, x, Activation::RELU), c});
    expectFolded(test, test.build({most, scaled}), {"Conv2d", "Binary", "Conv2d", "Binary"});
}

TEST(FoldScales, KeepsWeightsThatAreSharedOrComputed) {
    TestGraph test;
    const TensorId x = test.input(floatType({1, 6, 6, 2}));
    const TensorId filter = test.constant(floatType({3, 3, 3, 2}));
    const TensorId computed = test.input(floatType({3, 3, 3, 2}));
    const TensorId c = test.constant(floatType({3}));
    const auto scaled = [&](TensorId weights) {
        return test.node(Binary{.function = Function::MUL},
                         {test.node(Conv2d(), {x, weights, test.constant(floatType({3}))}), c});
    };
    expectFolded(test, test.build({scaled(filter), scaled(filter), scaled(computed)}),
                 {"Conv2d", "Binary", "Conv2d", "Binary", "Conv2d", "Binary"});
}

TEST(FoldScales, KeepsWhatSomebodyElseReads) {
    TestGraph test;
    const TensorId y = convolveActive(test, test.input(floatType({1, 6, 6, 2})));
    const TensorId z =
            test.node(Binary{.function = Function::MUL}, {y, test.constant(floatType({3}))});
    expectFolded(test, test.build({y, z}), {"Conv2d", "Binary"});
}

TEST(FoldScales, KeepsScalesThatWouldNotBeFinite) {
    TestGraph test;
    const TensorId x = test.input(floatType({1, 1}));
    const TensorId y = test.node(
            FullyConnected(),
            {x, test.constant(ref_test::floats({1, 1}, {1e30F})), test.constant(floatType({1}))});
    const Graph before =
            test.build({test.node(Binary{.function = Function::MUL},
                                  {y, test.constant(ref_test::floats({1}, {1e30F}))})});
    EXPECT_EQ(after(foldScales, before).nodes().size(), 2U);
}

TEST(FoldScales, LeavesQuantizedTypesAlone) {
    TestGraph test;
    const TensorType type = typeOf(DataType::QUANT8_ASYMM, {2, 4}, 0.5F, 10);
    const TensorId bias = test.constant(ref_test::ints({3}, {1, 2, 3}));
    test.graph().mutableTensor(bias).type.quantization.scale = 0.125F;
    const TensorId y =
            test.node(FullyConnected(),
                      {test.input(type),
                       test.constant(typeOf(DataType::QUANT8_ASYMM, {3, 4}, 0.25F, 3)), bias},
                      typeOf(DataType::QUANT8_ASYMM, {}, 4.0F, 9));
    const TensorId c = test.constant(typeOf(DataType::QUANT8_ASYMM, {3}, 0.5F, 3));
    const Graph before = test.build({test.node(Binary{.function = Function::MUL}, {y, c})});
    EXPECT_EQ(after(foldScales, before).nodes().size(), 2U);
}

}  // namespace
}  // namespace halyard::engine::pass_test
