// SPDX-License-Identifier: Apache-2.0

#include "engine/passes/fuse_layer_norms.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/engine/passes/pass_testing.h"

namespace halyard::engine::pass_test {
namespace {

// A normalisation of x in several nodes; each part can be spelled in another way.
struct Spelling {
    DataType type = DataType::FLOAT32;
    Shape shape = {3, 4, 20};
    std::vector<int32_t> axes = {-1};
    std::vector<int32_t> varianceAxes = {};  // none: the same
    bool keepDims = true;
    Shape weights = {20};
    bool hasGamma = true;
    bool hasBeta = true;
    bool isSquaredByPower = false;
    bool isDivided = false;      // by the root, instead of multiplied by its inverse
    bool gammaIsFirst = false;   // gamma times the inverse root
    bool gammaIsSpread = false;  // and that by x and by the mean
    bool centresTwice = false;
    bool constantsAreFirst = false;
    bool epsilonIsInput = false;
    Activation activation = Activation::NONE;  // of the last node
};

class LayerNormGraph {
  public:
    explicit LayerNormGraph(const Spelling& spelling) : mSpelling(spelling) {
        const TensorType type = typeOf(spelling.type, spelling.shape);
        mX = mTest.input(type);
        mMean = mean(mX, spelling.axes);
        mCentred = binary(Binary::Function::SUB, mX, mMean);
        mSquares = spelling.isSquaredByPower ? binary(Binary::Function::POW, mCentred, number(2))
                                             : binary(Binary::Function::MUL, mCentred, mCentred);
        const TensorId variance = mean(
                mSquares, spelling.varianceAxes.empty() ? spelling.axes : spelling.varianceAxes);
        const TensorId epsilon =
                spelling.epsilonIsInput ? mTest.input(typeOf(spelling.type, {1})) : number(0.01F);
        const TensorId shifted = with(Binary::Function::ADD, variance, epsilon);
        const auto root = spelling.isDivided ? Unary::Function::SQRT : Unary::Function::RSQRT;
        mRoot = mTest.node(Unary{.function = root}, {shifted});
        finish();
    }

    Graph build(std::vector<TensorId> more = {}) {
        more.insert(more.begin(), mOutput);
        return mTest.build(more);
    }
    TensorId mean() const { return mMean; }
    TensorId centred() const { return mCentred; }
    TensorId squares() const { return mSquares; }
    TensorId root() const { return mRoot; }
    TestGraph& test() { return mTest; }

  private:
    TensorId number(float value) {
        return mTest.constant(mSpelling.type == DataType::FLOAT16 ? ref_test::halves({1}, {value})
                                                                  : ref_test::floats({1}, {value}));
    }
    TensorId weights() { return mTest.constant(typeOf(mSpelling.type, mSpelling.weights)); }
    TensorId mean(TensorId x, const std::vector<int32_t>& axes) {
        return mTest.node(
                Reduce{.function = Reduce::Function::MEAN, .keepDims = mSpelling.keepDims},
                {x, mTest.ints(axes)});
    }
    TensorId binary(Binary::Function function, TensorId a, TensorId b,
                    Activation activation = Activation::NONE) {
        return mTest.node(Binary{.function = function, .activation = activation}, {a, b},
                          mTest.type(a));
    }
    // In either order.
    TensorId with(Binary::Function function, TensorId x, TensorId constant) {
        return mSpelling.constantsAreFirst ? binary(function, constant, x)
                                           : binary(function, x, constant);
    }
    void finish() {
        if (mSpelling.gammaIsFirst || mSpelling.gammaIsSpread) {
            const TensorId factor = with(Binary::Function::MUL, mRoot, weights());
            if (mSpelling.gammaIsSpread) {
                const TensorId offset = binary(Binary::Function::SUB, weights(),
                                               binary(Binary::Function::MUL, mMean, factor));
                mOutput = binary(Binary::Function::ADD, binary(Binary::Function::MUL, mX, factor),
                                 offset);
                return;
            }
            mOutput = binary(Binary::Function::MUL, mCentred, factor);
        } else {
            const TensorId centred =
                    mSpelling.centresTwice ? binary(Binary::Function::SUB, mX, mMean) : mCentred;
            mOutput = binary(mSpelling.isDivided ? Binary::Function::DIV : Binary::Function::MUL,
                             centred, mRoot);
            if (mSpelling.hasGamma) {
                mOutput = with(Binary::Function::MUL, mOutput, weights());
            }
        }
        if (mSpelling.hasBeta) {
            mOutput = mSpelling.constantsAreFirst ? binary(Binary::Function::ADD, weights(),
                                                           mOutput, mSpelling.activation)
                                                  : binary(Binary::Function::ADD, mOutput,
                                                           weights(), mSpelling.activation);
        }
    }

    const Spelling mSpelling;
    TestGraph mTest;
    TensorId mX = kNoTensor;
    TensorId mMean = kNoTensor;
    TensorId mCentred = kNoTensor;
    TensorId mSquares = kNoTensor;
    TensorId mRoot = kNoTensor;
    TensorId mOutput = kNoTensor;
};

testing::AssertionResult becomesOne(const Spelling& spelling, Shape normalised = {20}) {
    LayerNormGraph norm(spelling);
    const Graph before = norm.build();
    const Graph graph = after(fuseLayerNorms, before);
    if (kindsOf(graph) != Kinds{"LayerNormalize"}) {
        return testing::AssertionFailure() << testing::PrintToString(kindsOf(graph));
    }
    const auto* node = std::get_if<LayerNormalize>(&graph.node(0).descriptor);
    if (static_cast<size_t>(node->axis) != spelling.shape.rank() - normalised.rank() ||
        graph.node(0).sources.size() != before.nodes().size()) {
        return testing::AssertionFailure() << toString(graph.node(0).descriptor);
    }
    const double tolerance = spelling.type == DataType::FLOAT16 ? 5e-3 : 1e-5;
    return computeTheSame(before, graph, norm.test().random(), tolerance);
}

size_t nodesAfter(LayerNormGraph& norm, std::vector<TensorId> more = {}) {
    return after(fuseLayerNorms, norm.build(std::move(more))).nodes().size();
}

testing::AssertionResult stays(const Spelling& spelling) {
    LayerNormGraph norm(spelling);
    const size_t before = norm.build().nodes().size();
    const size_t nodes = nodesAfter(norm);
    return nodes == before ? testing::AssertionSuccess()
                           : testing::AssertionFailure() << nodes << " of " << before << " nodes";
}

TEST(FuseLayerNorms, MakesOneNodeOfTheOrdersThatConvertersWrite) {
    for (const DataType type : {DataType::FLOAT32, DataType::FLOAT16}) {
        EXPECT_TRUE(becomesOne({.type = type}));
        EXPECT_TRUE(becomesOne({.type = type, .isSquaredByPower = true, .isDivided = true}));
        EXPECT_TRUE(becomesOne({.type = type, .gammaIsFirst = true}));
        EXPECT_TRUE(becomesOne({.type = type, .gammaIsSpread = true}));
        EXPECT_TRUE(becomesOne({.type = type, .centresTwice = true}));
        EXPECT_TRUE(becomesOne({.type = type, .constantsAreFirst = true}));
        EXPECT_TRUE(becomesOne({.type = type, .gammaIsFirst = true, .constantsAreFirst = true}));
    }
}

// docs/numerics.md: the one node counts, which keeps in float32 what several would store.
TEST(FuseLayerNorms, NormalisesWhatHasSquaresBeyondFloat16) {
    for (const bool isDivided : {false, true}) {
        LayerNormGraph norm({.type = DataType::FLOAT16,
                             .shape = {1, 20},
                             .hasGamma = false,
                             .hasBeta = false,
                             .isDivided = isDivided});
        const Graph before = norm.build();
        const Graph graph = after(fuseLayerNorms, before);
        ASSERT_EQ(kindsOf(graph), Kinds{"LayerNormalize"});
        std::vector<float> x(20, 1000.0F);
        for (size_t i = 1; i < x.size(); i += 2) {
            x[i] = -1000.0F;
        }
        const Values input = ref_test::halves({1, 20}, x);
        // The mean of infinities is infinite, and all is nothing beside that.
        for (const double value : ref_test::stored(runGraph(before, {input})[0])) {
            EXPECT_EQ(value, 0);
        }
        const std::vector<double> fused = ref_test::stored(runGraph(graph, {input})[0]);
        for (size_t i = 0; i < fused.size(); ++i) {
            EXPECT_EQ(fused[i], i % 2 == 0 ? 1 : -1);
        }
    }
}

TEST(FuseLayerNorms, NeedsNoWeights) {
    EXPECT_TRUE(becomesOne({.hasGamma = false}));
    EXPECT_TRUE(becomesOne({.hasBeta = false}));
    EXPECT_TRUE(becomesOne({.hasGamma = false, .hasBeta = false}));
}

TEST(FuseLayerNorms, TakesSeveralAxesAndWeightsOfFewerOrMoreDimensions) {
    EXPECT_TRUE(becomesOne({.axes = {1, 2}, .weights = {4, 20}}, {4, 20}));
    EXPECT_TRUE(becomesOne({.axes = {2, -2}, .weights = {1, 4, 20}}, {4, 20}));
    EXPECT_TRUE(becomesOne({.weights = {1, 1, 20}}));
    EXPECT_TRUE(becomesOne({.shape = {4, 20}, .axes = {1}}));
}

TEST(FuseLayerNorms, DoesNotNeedToKnowHowManyRowsThereAre) {
    LayerNormGraph norm({.shape = {kUnknownDimension, 20}});
    EXPECT_EQ(kindsOf(after(fuseLayerNorms, norm.build())), Kinds{"LayerNormalize"});
    LayerNormGraph unknown({.shape = {3, kUnknownDimension}, .hasGamma = false, .hasBeta = false});
    EXPECT_GT(nodesAfter(unknown), 1U);
}

TEST(FuseLayerNorms, LeavesWhatIsReadElsewhere) {
    const std::function<TensorId(const LayerNormGraph&)> between[] = {
            [](const auto& norm) { return norm.mean(); },
            [](const auto& norm) { return norm.centred(); },
            [](const auto& norm) { return norm.squares(); },
            [](const auto& norm) { return norm.root(); }};
    for (const auto& tensor : between) {
        LayerNormGraph output{Spelling()};
        EXPECT_EQ(nodesAfter(output, {tensor(output)}), 9U);
        LayerNormGraph read{Spelling()};
        const TensorId reader = read.test().node(Activate(), {tensor(read)});
        EXPECT_EQ(nodesAfter(read, {reader}), 10U);
    }
}

TEST(FuseLayerNorms, LeavesOtherAxes) {
    EXPECT_TRUE(stays({.axes = {1}}));
    EXPECT_TRUE(stays({.axes = {0, 1}}));
    EXPECT_TRUE(stays({.axes = {0, 2}}));
    EXPECT_TRUE(stays({.varianceAxes = {1, 2}}));
    EXPECT_TRUE(stays({.shape = {20, 20}, .axes = {1}, .keepDims = false}));
}

TEST(FuseLayerNorms, LeavesAnEpsilonThatIsNoConstant) {
    EXPECT_TRUE(stays({.epsilonIsInput = true}));
}

TEST(FuseLayerNorms, LeavesWeightsOfAnotherShapeBehindIt) {
    EXPECT_EQ(kindsOf(after(fuseLayerNorms, LayerNormGraph({.weights = {1}}).build())),
              (Kinds{"LayerNormalize", "Binary", "Binary"}));
    EXPECT_EQ(kindsOf(after(fuseLayerNorms, LayerNormGraph({.weights = {4, 20}}).build())),
              (Kinds{"LayerNormalize", "Binary", "Binary"}));
    EXPECT_TRUE(stays({.weights = {4, 20}, .gammaIsFirst = true}));
}

TEST(FuseLayerNorms, LeavesAnActivationBehindIt) {
    LayerNormGraph norm({.activation = Activation::RELU});
    const Graph before = norm.build();
    const Graph graph = after(fuseLayerNorms, before);
    EXPECT_EQ(kindsOf(graph), (Kinds{"LayerNormalize", "Binary"}));
    EXPECT_TRUE(computeTheSame(before, graph, norm.test().random(), 1e-5));
}

TEST(FuseLayerNorms, LeavesQuantizedTypes) {
    TestGraph test;
    TensorType type = typeOf(DataType::QUANT8_ASYMM, {4, 20}, 0.05F, 128);
    const TensorId x = test.input(type);
    const auto mean = [&](TensorId of) {
        return test.node(Reduce{.function = Reduce::Function::MEAN, .keepDims = true},
                         {of, test.ints({1})});
    };
    const auto binary = [&](Binary::Function function, TensorId a, TensorId b) {
        return test.node(Binary{.function = function}, {a, b});
    };
    const TensorId centred = binary(Binary::Function::SUB, x, mean(x));
    const TensorId variance = mean(binary(Binary::Function::MUL, centred, centred));
    type.shape = {1};
    const TensorId shifted = binary(Binary::Function::ADD, variance, test.constant(type));
    const TensorId root = test.node(Unary{.function = Unary::Function::RSQRT}, {shifted});
    const Graph before = test.build({binary(Binary::Function::MUL, centred, root)});
    EXPECT_TRUE(after(fuseLayerNorms, before) == before);
}

}  // namespace
}  // namespace halyard::engine::pass_test
