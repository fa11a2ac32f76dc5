// SPDX-License-Identifier: Apache-2.0

#include "engine/passes/fold_pads.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "engine/backends/cpu/cpu_acc.h"
#include "engine/graph/text.h"
#include "tests/engine/passes/pass_testing.h"

namespace halyard::engine::pass_test {
namespace {

const std::vector<int32_t> kAround = {0, 0, 1, 2, 3, 1, 0, 0};

TensorId convolvePadded(TestGraph& test, TensorId x, const Window2d& window) {
    return test.node(Conv2d{.window = window},
                     {x, test.constant(floatType({3, 3, 3, 2})), test.constant(floatType({3}))});
}

TEST(FoldPads, BecomesTheConvolutionsPadding) {
    const Window2d valid;
    const Window2d same = {.padding = PaddingScheme::SAME, .strideH = 2, .strideW = 2};
    const Window2d explicitly = {.padding = PaddingScheme::EXPLICIT, .top = 1, .right = 2};
    const Window2d dilated = {.dilationH = 2, .dilationW = 2};
    for (const Window2d& window : {valid, same, explicitly, dilated}) {
        TestGraph test;
        const TensorId x = test.input(floatType({2, 7, 8, 2}));
        const TensorId padded = test.node(Pad(), {x, test.paddings(kAround), kNoTensor});
        const Graph before = test.build({convolvePadded(test, padded, window)});
        const Graph graph = after(foldPads, before);
        EXPECT_EQ(kindsOf(graph), Kinds{"Conv2d"});
        EXPECT_EQ(graph.node(0).sources, (std::vector<uint32_t>{0, 1}));
        EXPECT_TRUE(computeTheSame(before, graph, test.random()));
    }
}

TEST(FoldPads, IsExactForQuantizedDepthwiseConvolutions) {
    for (const DataType type : {DataType::QUANT8_ASYMM, DataType::QUANT8_ASYMM_SIGNED}) {
        TestGraph test;
        const TensorType x = typeOf(type, {1, 6, 6, 4}, 0.5F, 7);
        const TensorId padded = test.node(Pad(), {test.input(x), test.paddings(kAround),
                                                  test.constant(ref_test::ints({1}, {7}))});
        const TensorId filter = test.constant(typeOf(type, {1, 3, 3, 4}, 0.25F, 9));
        const TensorId bias = test.constant(ref_test::ints({4}, {1, -2, 3, 400}));
        test.graph().mutableTensor(bias).type.quantization.scale = 0.125F;
        const Graph before = test.build(
                {test.node(DepthwiseConv2d(), {padded, filter, bias}, typeOf(type, {}, 3.0F, 20))});
        const Graph graph = after(foldPads, before);
        EXPECT_EQ(kindsOf(graph), Kinds{"DepthwiseConv2d"});
        EXPECT_TRUE(computeTheSame(before, graph, test.random()));
    }
}

TEST(FoldPads, KeepsWhatIsNotZeroOrNotSpatial) {
    TestGraph test;
    const TensorId x = test.input(floatType({1, 4, 4, 2}));
    const TensorId one = test.constant(ref_test::floats({1}, {1.0F}));
    const TensorId ones = test.node(Pad(), {x, test.paddings(kAround), one});
    EXPECT_EQ(after(foldPads, test.build({convolvePadded(test, ones, {})})).nodes().size(), 2U);

    TestGraph deep;
    const TensorId y = deep.input(floatType({1, 4, 4, 1}));
    const TensorId channels =
            deep.node(Pad(), {y, deep.paddings({0, 0, 0, 0, 0, 0, 0, 1}), kNoTensor});
    EXPECT_EQ(after(foldPads, deep.build({convolvePadded(deep, channels, {})})).nodes().size(), 2U);

    TestGraph mirrored;
    const TensorId z = mirrored.input(floatType({1, 6, 6, 2}));
    const TensorId edges = mirrored.node(Pad{.mode = Pad::Mode::REFLECT},
                                         {z, mirrored.paddings(kAround), kNoTensor});
    EXPECT_EQ(after(foldPads, mirrored.build({convolvePadded(mirrored, edges, {})})).nodes().size(),
              2U);
}

// A zero of a tensor makes a NaN of them, and a window leaves out what lies beside the feature map.
TEST(FoldPads, StaysWhereWeightsAreNotFinite) {
    for (const float special :
         {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
        TestGraph test;
        const TensorId x = test.input(floatType({1, 4, 4, 2}));
        const TensorId padded = test.node(Pad(), {x, test.paddings(kAround), kNoTensor});
        std::vector<float> weights(size_t{3} * 9 * 2, 0.5F);
        weights.back() = special;
        const TensorId filter = test.constant(ref_test::floats({3, 3, 3, 2}, weights));
        const TensorId y = test.node(Conv2d(), {padded, filter, test.constant(floatType({3}))});
        EXPECT_EQ(after(foldPads, test.build({y})).nodes().size(), 2U);
    }
}

TEST(FoldPads, KeepsAZeroThatIsNotTheRealOne) {
    TestGraph test;
    const TensorType x = typeOf(DataType::QUANT8_ASYMM, {1, 6, 6, 4}, 0.5F, 7);
    const TensorId zero = test.constant(ref_test::ints({1}, {0}));
    const TensorId padded = test.node(Pad(), {test.input(x), test.paddings(kAround), zero});
    const TensorId filter = test.constant(typeOf(DataType::QUANT8_ASYMM, {1, 3, 3, 4}, 0.25F, 9));
    const TensorId bias = test.constant(ref_test::ints({4}, {1, -2, 3, 400}));
    test.graph().mutableTensor(bias).type.quantization.scale = 0.125F;
    const Graph before = test.build({test.node(DepthwiseConv2d(), {padded, filter, bias},
                                               typeOf(DataType::QUANT8_ASYMM, {}, 3.0F, 20))});
    EXPECT_EQ(after(foldPads, before).nodes().size(), 2U);
}

Graph padAndPool(TestGraph& test, const TensorType& type, TensorId value, Pool2d::Function function,
                 const std::vector<int32_t>& paddings, bool rectified) {
    TensorId x = test.input(type);
    if (rectified) {
        x = test.node(Activate(), {x});
    }
    const TensorId padded = test.node(Pad(), {x, test.paddings(paddings), value});
    return test.build(
            {test.node(Pool2d{.function = function, .filterH = 3, .filterW = 3}, {padded})});
}

TEST(FoldPads, BecomesAMaximumsPaddingWhereItCannotWin) {
    const std::vector<int32_t> one = {0, 0, 1, 1, 1, 1, 0, 0};
    TestGraph quantized;
    const TensorType smallest = typeOf(DataType::QUANT8_ASYMM, {1, 5, 5, 2}, 0.5F, 0);
    const Graph first =
            padAndPool(quantized, smallest, kNoTensor, Pool2d::Function::MAX, one, false);
    EXPECT_EQ(kindsOf(after(foldPads, first)), Kinds{"Pool2d"});
    EXPECT_TRUE(computeTheSame(first, after(foldPads, first), quantized.random()));

    TestGraph rectified;
    const Graph second = padAndPool(rectified, floatType({1, 5, 5, 2}), kNoTensor,
                                    Pool2d::Function::MAX, one, true);
    EXPECT_EQ(kindsOf(after(foldPads, second)), (Kinds{"Activate", "Pool2d"}));
    EXPECT_TRUE(computeTheSame(second, after(foldPads, second), rectified.random()));

    TestGraph lowest;
    const TensorId infinity =
            lowest.constant(ref_test::floats({1}, {-std::numeric_limits<float>::infinity()}));
    const Graph third = padAndPool(lowest, floatType({1, 5, 5, 2}), infinity, Pool2d::Function::MAX,
                                   one, false);
    EXPECT_EQ(kindsOf(after(foldPads, third)), Kinds{"Pool2d"});
    EXPECT_TRUE(computeTheSame(third, after(foldPads, third), lowest.random()));
}

TEST(FoldPads, StaysWhereItCountsForAPooling) {
    const std::vector<int32_t> one = {0, 0, 1, 1, 1, 1, 0, 0};
    const TensorType zeroInside = typeOf(DataType::QUANT8_ASYMM, {1, 5, 5, 2}, 0.5F, 3);
    const TensorType smallest = typeOf(DataType::QUANT8_ASYMM, {1, 5, 5, 2}, 0.5F, 0);
    TestGraph a;
    EXPECT_EQ(
            after(foldPads, padAndPool(a, zeroInside, kNoTensor, Pool2d::Function::MAX, one, false))
                    .nodes()
                    .size(),
            2U);
    TestGraph b;
    EXPECT_EQ(after(foldPads, padAndPool(b, floatType({1, 5, 5, 2}), kNoTensor,
                                         Pool2d::Function::MAX, one, false))
                      .nodes()
                      .size(),
              2U);
    TestGraph c;
    EXPECT_EQ(after(foldPads,
                    padAndPool(c, smallest, kNoTensor, Pool2d::Function::AVERAGE, one, false))
                      .nodes()
                      .size(),
              2U);
    TestGraph d;  // windows without an element
    EXPECT_EQ(after(foldPads, padAndPool(d, smallest, kNoTensor, Pool2d::Function::MAX,
                                         {0, 0, 3, 3, 3, 3, 0, 0}, false))
                      .nodes()
                      .size(),
              2U);
}

// Of a graph whose inputs have these shapes when it runs: the status, and what came out.
struct Outcome {
    StatusCode code = StatusCode::OK;
    std::vector<Shape> shapes;
    std::vector<uint8_t> bytes;
    bool operator==(const Outcome&) const = default;
};

Outcome runWith(const Graph& graph, const Shape& shape, const Backend& backend) {
    Execution execution =
            Execution::create(Program::build(graph, {&backend}, nullptr).value()).value();
    TensorType type = graph.tensor(graph.inputs()[0]).type;
    type.shape = shape;
    const std::vector<uint8_t> x(*type.byteSize(), 1);
    Outcome outcome;
    outcome.bytes.resize(4096);
    const InputBinding input = {.bytes = x, .shape = shape};
    const OutputBinding output = {.bytes = outcome.bytes};
    ExecutionReport report;
    outcome.code = execution.run(std::span(&input, 1), std::span(&output, 1), {}, &report).code();
    if (outcome.code == StatusCode::OK) {
        outcome.shapes = {report.outputs[0].shape};
    } else {
        outcome.bytes.clear();
    }
    return outcome;
}

// A graph's shape of an inner tensor need not hold of a run.
TEST(FoldPads, TakesNoExtentForKnownThatItsInputLeavesOpen) {
    TestGraph test;
    const TensorId x = test.input(floatType({1, 1, kUnknownDimension, 1}));
    const TensorId padded =
            test.node(Pad(), {x, test.paddings({0, 0, 1, 0, 0, 0, 0, 0}), kNoTensor});
    test.graph().mutableTensor(padded).type.shape = {1, 2, 3, 1};
    const TensorId y = test.node(
            Conv2d{.window = {.padding = PaddingScheme::SAME}},
            {padded, test.constant(floatType({1, 1, 1, 1})), test.constant(floatType({1}))});
    // Whose shape does not tell.
    const TensorId sum = test.node(Reduce{.function = Reduce::Function::SUM, .keepDims = true},
                                   {y, test.ints({1, 2})});
    const Graph before = test.build({sum});
    const Graph graph = after(foldPads, before);
    const std::unique_ptr<const Backend> backend = makeCpuRef();
    for (const int32_t extent : {0, 3}) {
        const Outcome expected = runWith(before, {1, 1, extent, 1}, *backend);
        EXPECT_EQ(expected.code, StatusCode::OK) << extent;
        EXPECT_EQ(runWith(graph, {1, 1, extent, 1}, *backend), expected) << extent;
    }
}

// Whether the window is, over what is known of what is padded.
bool isLegal(const Shape& shape, const std::vector<int32_t>& paddings, const Window2d& window,
             int32_t size, bool pools) {
    const auto fits = [&](size_t axis, int32_t around) {
        return shape[axis] == kUnknownDimension || window.padding == PaddingScheme::SAME ||
               shape[axis] + paddings[2 * axis] + paddings[2 * axis + 1] + around >= size;
    };
    return fits(1, window.top) && fits(2, window.right) && (!pools || window.top < size);
}

// An extent that is left open may turn out to be 0: SAME gives nothing of that, and a Pad makes
// something of it.
TEST(FoldPads, LeavesWhatARunFindsOfOpenExtents) {
    const std::vector<int32_t> someWhere[] = {{0, 0, 1, 0, 0, 0, 0, 0},
                                              {0, 0, 0, 0, 1, 0, 0, 0},
                                              {0, 0, 1, 1, 1, 1, 0, 0},
                                              {0, 0, 0, 2, 0, 0, 0, 0},
                                              {0, 0, 0, 0, 0, 0, 0, 0}};
    const Shape open[] = {{1, 1, kUnknownDimension, 1},
                          {1, kUnknownDimension, 1, 1},
                          {1, kUnknownDimension, kUnknownDimension, 1},
                          {kUnknownDimension, 2, 2, 1}};
    const Window2d windows[] = {{.padding = PaddingScheme::SAME},
                                {.padding = PaddingScheme::SAME, .strideH = 2, .strideW = 2},
                                {.padding = PaddingScheme::VALID},
                                {.padding = PaddingScheme::EXPLICIT, .top = 1, .right = 1}};
    const std::unique_ptr<const Backend> backends[] = {makeCpuRef(), makeCpuAcc()};
    for (const auto& paddings : someWhere) {
        for (const Shape& shape : open) {
            for (const Window2d& window : windows) {
                for (const int32_t size : {1, 2}) {
                    for (const bool pools : {false, true}) {
                        if (!isLegal(shape, paddings, window, size, pools)) {
                            continue;
                        }
                        TestGraph test;
                        const TensorId x = test.input(
                                typeOf(pools ? DataType::QUANT8_ASYMM : DataType::FLOAT32, shape,
                                       pools ? 0.5F : 0.0F, 0));
                        const TensorId padded =
                                test.node(Pad(), {x, test.paddings(paddings), kNoTensor});
                        const TensorId y =
                                pools ? test.node(Pool2d{.function = Pool2d::Function::MAX,
                                                         .window = window,
                                                         .filterH = size,
                                                         .filterW = size},
                                                  {padded})
                                      : test.node(Conv2d{.window = window},
                                                  {padded,
                                                   test.constant(floatType({1, size, size, 1})),
                                                   test.constant(floatType({1}))});
                        const Graph before = test.build({y});
                        const Graph graph = after(foldPads, before);
                        for (int32_t extent = 0; extent < 4; ++extent) {
                            Shape run = shape;
                            for (size_t axis = 0; axis < run.rank(); ++axis) {
                                run[axis] = run[axis] == kUnknownDimension ? extent : run[axis];
                            }
                            for (const auto& backend : backends) {
                                const Outcome outcome = runWith(graph, run, *backend);
                                const Outcome expected = runWith(before, run, *backends[0]);
                                EXPECT_EQ(outcome.code, expected.code) << run.toString() << "\n"
                                                                       << toText(before);
                                EXPECT_EQ(outcome.shapes, expected.shapes) << toText(before);
                            }
                        }
                    }
                }
            }
        }
    }
}

}  // namespace
}  // namespace halyard::engine::pass_test
