// SPDX-License-Identifier: Apache-2.0

#include "engine/passes/fuse_functions.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/engine/passes/pass_testing.h"

namespace halyard::engine::pass_test {
namespace {

// Elementwise nodes on x.
class FunctionGraph {
  public:
    explicit FunctionGraph(DataType type = DataType::FLOAT32)
        : mType(type), x(test.input(typeOf(type, {7, 30}))) {}

    TensorId number(float value, Shape shape = {1}) {
        const std::vector<float> elements(static_cast<size_t>(*shape.elementCount()), value);
        return test.constant(mType == DataType::FLOAT16 ? ref_test::halves(shape, elements)
                                                        : ref_test::floats(shape, elements));
    }
    TensorId binary(Binary::Function function, TensorId a, TensorId b,
                    Activation activation = Activation::NONE) {
        return test.node(Binary{.function = function, .activation = activation}, {a, b},
                         test.type(x));
    }
    TensorId mul(TensorId a, TensorId b) { return binary(Binary::Function::MUL, a, b); }
    TensorId mul(TensorId a, float b) { return mul(a, number(b)); }
    TensorId add(TensorId a, float b, Activation activation = Activation::NONE) {
        return binary(Binary::Function::ADD, a, number(b), activation);
    }
    TensorId activate(Activate::Function function, TensorId a) {
        return test.node(Activate{.function = function}, {a});
    }
    TensorId unary(Unary::Function function, TensorId a) {
        return test.node(Unary{.function = function}, {a});
    }

    // As TensorFlow has it, and PyTorch.
    TensorId geluByTanh(float cube = 0.044715F) {
        const TensorId third = binary(Binary::Function::POW, x, number(3));
        const TensorId inner = binary(Binary::Function::ADD, x, mul(third, cube));
        const TensorId bend = activate(Activate::Function::TANH, mul(inner, 0.797884561F));
        return mul(mul(x, 0.5F), add(bend, 1));
    }
    // The error function by Abramowitz and Stegun's 7.1.26.
    TensorId erf(TensorId of) {
        const TensorId sign = binary(Binary::Function::MUL, of, number(3e4F), Activation::RELU1);
        const TensorId size = unary(Unary::Function::ABS, of);
        const TensorId t = binary(Binary::Function::DIV, number(1), add(mul(size, 0.3275911F), 1));
        TensorId series = mul(t, 1.061405429F);
        for (const float factor : {-1.453152027F, 1.421413741F, -0.284496736F, 0.254829592F}) {
            series = mul(add(series, factor), t);
        }
        const TensorId bell = unary(Unary::Function::EXP, mul(mul(size, size), -1.0F));
        return mul(add(mul(mul(series, bell), -1.0F), 1), sign);
    }
    TensorId gelu() {
        const TensorId bend = erf(binary(Binary::Function::DIV, x, number(1.41421356F)));
        return mul(mul(add(bend, 1), 0.5F), x);
    }
    TensorId swish(float alpha) {
        return mul(x, activate(Activate::Function::LOGISTIC, mul(x, alpha)));
    }

    testing::AssertionResult becomes(Activate::Function function, TensorId output,
                                     double tolerance = 2e-6) {
        return becomes(Kinds{"Activate"}, output, tolerance, [&](const NodeDescriptor& node) {
            return std::get_if<Activate>(&node)->function == function;
        });
    }
    testing::AssertionResult becomesErf(TensorId output, double tolerance = 2e-6) {
        return becomes(Kinds{"Unary"}, output, tolerance, [](const NodeDescriptor& node) {
            return std::get_if<Unary>(&node)->function == Unary::Function::ERF;
        });
    }
    // One node of that kind, of which isExpected() holds.
    testing::AssertionResult becomes(const Kinds& kind, TensorId output, double tolerance,
                                     const std::function<bool(const NodeDescriptor&)>& isExpected) {
        const Graph before = test.build({output});
        const Graph graph = after(fuseFunctions, before);
        if (kindsOf(graph) != kind || !isExpected(graph.node(0).descriptor)) {
            return testing::AssertionFailure() << toString(graph.node(0).descriptor) << " of "
                                               << graph.nodes().size() << " nodes";
        }
        if (graph.node(0).sources.size() != before.nodes().size()) {
            return testing::AssertionFailure() << "not all operations are told";
        }
        return computeTheSame(before, graph, test.random(), tolerance);
    }
    testing::AssertionResult stays(std::vector<TensorId> outputs) {
        const Graph before = test.build(std::move(outputs));
        return after(fuseFunctions, before) == before ? testing::AssertionSuccess()
                                                      : testing::AssertionFailure();
    }

  private:
    DataType mType;

  public:
    TestGraph test;
    TensorId x;
};

TEST(FuseFunctions, KnowsGeluByTanh) {
    FunctionGraph by;
    EXPECT_TRUE(by.becomes(Activate::Function::GELU_TANH, by.geluByTanh()));
    FunctionGraph products;  // and with the cube by products, and the half last
    const TensorId cube = products.mul(products.mul(products.x, products.x), products.x);
    const TensorId inner =
            products.binary(Binary::Function::ADD, products.x, products.mul(cube, 0.044715F));
    const TensorId bend =
            products.activate(Activate::Function::TANH, products.mul(inner, 0.797884561F));
    EXPECT_TRUE(
            products.becomes(Activate::Function::GELU_TANH,
                             products.mul(products.mul(products.add(bend, 1), 0.5F), products.x)));
}

TEST(FuseFunctions, KnowsGeluByTheErrorFunction) {
    FunctionGraph test;
    EXPECT_TRUE(test.becomes(Activate::Function::GELU, test.gelu()));
}

TEST(FuseFunctions, KnowsTheErrorFunction) {
    FunctionGraph test;
    EXPECT_TRUE(test.becomesErf(test.erf(test.x)));
    // Factors of float16 spell another function, by more than its precision.
    FunctionGraph halves(DataType::FLOAT16);
    EXPECT_TRUE(halves.stays({halves.erf(halves.x)}));
}

TEST(FuseFunctions, KnowsGeluOfAnErrorFunctionThatIsANode) {
    FunctionGraph test;
    const TensorId bend = test.unary(Unary::Function::ERF, test.mul(test.x, 0.707106781F));
    EXPECT_TRUE(test.becomes(Activate::Function::GELU,
                             test.mul(test.mul(test.add(bend, 1), 0.5F), test.x)));
}

TEST(FuseFunctions, KnowsSwishes) {
    FunctionGraph silu;
    EXPECT_TRUE(
            silu.becomes(Activate::Function::SWISH,
                         silu.mul(silu.activate(Activate::Function::LOGISTIC, silu.x), silu.x)));
    for (const float alpha : {1.702F, 0.5F}) {
        FunctionGraph test;
        EXPECT_TRUE(test.becomes(Activate::Function::SWISH, test.swish(alpha)));
    }
    FunctionGraph hard;
    EXPECT_TRUE(hard.becomes(
            Activate::Function::HARD_SWISH,
            hard.mul(hard.x, hard.mul(hard.add(hard.x, 3, Activation::RELU6), 1.0F / 6))));
    FunctionGraph gate;
    EXPECT_TRUE(gate.becomes(Activate::Function::HARD_SIGMOID,
                             gate.mul(gate.add(gate.x, 3, Activation::RELU6), 1.0F / 6)));
}

TEST(FuseFunctions, TellsHalvesApartByTheNearest) {
    FunctionGraph tanh(DataType::FLOAT16);
    EXPECT_TRUE(tanh.becomes(Activate::Function::GELU_TANH, tanh.geluByTanh(), 4e-3));
    FunctionGraph erf(DataType::FLOAT16);
    EXPECT_TRUE(erf.becomes(Activate::Function::GELU, erf.gelu(), 4e-3));
    FunctionGraph swish(DataType::FLOAT16);
    EXPECT_TRUE(swish.becomes(Activate::Function::SWISH, swish.swish(1.702F), 4e-3));
}

TEST(FuseFunctions, LeavesWhatIsReadElsewhere) {
    FunctionGraph test;
    const TensorId share = test.activate(Activate::Function::LOGISTIC, test.x);
    const TensorId output = test.mul(share, test.x);
    EXPECT_TRUE(test.stays({output, share}));
    const TensorId other = test.activate(Activate::Function::TANH, share);
    EXPECT_TRUE(test.stays({output, other}));
}

TEST(FuseFunctions, LeavesOtherNumbers) {
    FunctionGraph cube;
    EXPECT_TRUE(cube.stays({cube.geluByTanh(0.0446F)}));
    FunctionGraph clipped;  // which only elements beyond most show
    EXPECT_TRUE(clipped.stays({clipped.binary(
            Binary::Function::MUL,
            clipped.binary(Binary::Function::MINIMUM,
                           clipped.activate(Activate::Function::LOGISTIC, clipped.x),
                           clipped.number(0.99F)),
            clipped.x)}));
}

TEST(FuseFunctions, LeavesNumbersForEachChannel) {
    FunctionGraph test;
    const TensorId scaled = test.mul(test.x, test.number(1.702F, {30}));
    EXPECT_TRUE(
            test.stays({test.mul(test.x, test.activate(Activate::Function::LOGISTIC, scaled))}));
}

TEST(FuseFunctions, LeavesFunctionsOfTwoTensors) {
    FunctionGraph test;
    const TensorId y = test.test.input(typeOf(DataType::FLOAT32, {7, 30}));
    EXPECT_TRUE(test.stays({test.mul(test.x, test.activate(Activate::Function::LOGISTIC, y))}));
}

TEST(FuseFunctions, LeavesAProductThatBroadcasts) {
    FunctionGraph test;
    EXPECT_TRUE(test.stays({test.mul(test.mul(test.x, test.number(1, {1, 1, 1})),
                                     test.activate(Activate::Function::LOGISTIC, test.x))}));
}

TEST(FuseFunctions, LeavesQuantizedTypes) {
    TestGraph test;
    const TensorType type = typeOf(DataType::QUANT8_ASYMM, {64}, 0.05F, 128);
    const TensorId x = test.input(type);
    const TensorId share = test.node(Activate{.function = Activate::Function::LOGISTIC}, {x},
                                     typeOf(DataType::QUANT8_ASYMM, {}, 1.0F / 256, 0));
    const Graph before =
            test.build({test.node(Binary{.function = Binary::Function::MUL}, {x, share}, type)});
    EXPECT_TRUE(after(fuseFunctions, before) == before);
}

}  // namespace
}  // namespace halyard::engine::pass_test
