// SPDX-License-Identifier: Apache-2.0

#include "engine/passes/optimize.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <string>
#include <vector>

#include "engine/base/budget.h"
#include "tests/engine/passes/pass_testing.h"

namespace halyard::engine::pass_test {
namespace {

Graph optimized(Graph graph, const OptimizeOptions& options = {}) {
    const Result<bool> done = optimize(graph, options);
    EXPECT_TRUE(done.ok()) << done.status().toString();
    return graph;
}

// Nodes that may follow one another, of [1, H, W, C] tensors of one type.
class RandomGraph {
  public:
    explicit RandomGraph(DataType type) : mType(type) {}

    Graph build() {
        const auto side = [&] { return random().integer(3, 6); };
        mLive.push_back(mTest.input(typed({1, side(), side(), random().integer(1, 4)})));
        const int count = random().integer(3, 14);
        for (int i = 0; i < count; ++i) {
            add(pick());
        }
        std::vector<TensorId> outputs = {mLive.back()};
        if (random().coin()) {
            outputs.push_back(pick());
        }
        return mTest.build(outputs);
    }
    RandomValues& random() { return mTest.random(); }

  private:
    TensorType typed(Shape shape) {
        TensorType type = typeOf(mType, shape);
        if (isQuantized(mType)) {
            // Few scales, so that they agree at times.
            type.quantization.scale = random().coin() ? 0.05F : 0.1F;
            type.quantization.zeroPoint = random().coin() ? minValue(mType) : 10;
        }
        return type;
    }
    TensorId pick() {
        const auto last = static_cast<int32_t>(mLive.size()) - 1;
        return mLive[static_cast<size_t>(random().coin() ? last : random().integer(0, last))];
    }
    const Shape& shape(TensorId id) { return mTest.type(id).shape; }
    void live(TensorId id) {
        if (shape(id).rank() == 4 && *shape(id).elementCount() <= 4096) {
            mLive.push_back(id);
        }
    }
    TensorId node(NodeDescriptor descriptor, std::vector<TensorId> inputs) {
        return mTest.node(std::move(descriptor), std::move(inputs));
    }

    std::vector<int32_t> order() {
        static const std::vector<std::vector<int32_t>> kOrders = {
                {0, 3, 1, 2}, {0, 2, 3, 1}, {0, 1, 2, 3}, {3, 2, 1, 0}, {0, 2, 1, 3}};
        return kOrders[static_cast<size_t>(random().integer(0, 4))];
    }

    TensorId bias(TensorId x, float filterScale, int32_t channels) {
        if (!isQuantized(mType)) {
            return mTest.constant(floatType({channels}));
        }
        std::vector<int32_t> elements;
        for (int32_t i = 0; i < channels; ++i) {
            elements.push_back(random().integer(-100, 100));
        }
        const TensorId id = mTest.constant(ref_test::ints({channels}, elements));
        mTest.graph().mutableTensor(id).type.quantization.scale =
                mTest.type(x).quantization.scale * filterScale;
        return id;
    }

    void addConvolution(TensorId x, bool depthwise) {
        const int32_t channels = shape(x)[3];
        const int32_t filters = depthwise ? channels : random().integer(1, 4);
        TensorType filter =
                typed(depthwise ? Shape({1, 2, 2, channels}) : Shape({filters, 2, 2, channels}));
        const Window2d window = {.padding = random().coin() ? PaddingScheme::SAME
                                                            : PaddingScheme::VALID};
        if (window.padding == PaddingScheme::VALID && (shape(x)[1] < 2 || shape(x)[2] < 2)) {
            return;
        }
        const std::vector<TensorId> inputs = {x, mTest.constant(filter),
                                              bias(x, filter.quantization.scale, filters)};
        live(depthwise ? mTest.node(DepthwiseConv2d{.window = window}, inputs, typed({}))
                       : mTest.node(Conv2d{.window = window}, inputs, typed({})));
    }

    void add(TensorId x) {
        const int32_t channels = shape(x)[3];
        switch (random().integer(0, 13)) {
            case 0:
            case 1:
                addConvolution(x, random().coin());
                break;
            case 2:
                live(mTest.node(Activate{.function = static_cast<Activate::Function>(
                                                 random().integer(0, 3))},
                                {x}, random().coin() ? mTest.type(x) : typed({})));
                break;
            case 3: {
                const auto function = static_cast<Binary::Function>(random().integer(0, 2));
                const TensorId c =
                        mTest.constant(typed(random().coin() ? Shape({channels}) : Shape({1})));
                live(mTest.node(Binary{.function = function},
                                random().coin() ? std::vector{x, c} : std::vector{c, x},
                                typed({})));
                break;
            }
            case 4:
                live(mTest.node(Binary(), {x, x}, typed({})));
                break;
            case 5:
            case 6:
                live(node(Transpose(), {x, mTest.ints(order())}));
                break;
            case 7: {
                const auto count = static_cast<int32_t>(*shape(x).elementCount());
                const TensorId flat = node(Reshape(), {x, mTest.ints({count})});
                live(node(Reshape(), {flat, mTest.ints({1, 1, -1, channels})}));
                break;
            }
            case 8: {
                const TensorId paddings =
                        mTest.paddings({0, 0, 1, 0, random().integer(0, 1), 1, 0, 0});
                live(node(Pad(), {x, paddings, kNoTensor}));
                break;
            }
            case 9:
                live(node(Concat{.axis = random().integer(0, 3)}, {x, x}));
                break;
            case 10:
                if (shape(x)[1] >= 2 && shape(x)[2] >= 2) {
                    live(node(Pool2d{.function = random().coin() ? Pool2d::Function::MAX
                                                                 : Pool2d::Function::AVERAGE,
                                     .filterH = 2,
                                     .filterW = 2},
                              {x}));
                }
                break;
            case 11:
                if (isQuantized(mType)) {
                    const TensorId real = mTest.node(Dequantize(), {x}, floatType({}));
                    const TensorId moved = node(Transpose(), {real, mTest.ints(order())});
                    live(mTest.node(Quantize(), {moved},
                                    random().coin() ? mTest.type(x) : typed({})));
                } else {
                    live(node(Softmax{.axis = random().integer(-4, 3)}, {x}));
                }
                break;
            case 12:
                live(node(Reduce{.function = Reduce::Function::MEAN, .keepDims = true},
                          {x, mTest.ints({random().integer(0, 3), 2})}));
                break;
            default:
                mTest.node(Binary(), {x, mTest.constant(typed({1}))}, typed({}));  // dead
                break;
        }
    }

    const DataType mType;
    TestGraph mTest;
    std::vector<TensorId> mLive;
};

// Every operation that the one graph's nodes stem from has a node in the other, or a fate.
void expectAllAccountedFor(const Graph& before, const Graph& graph) {
    std::set<uint32_t> known;
    for (const Node& node : graph.nodes()) {
        EXPECT_FALSE(node.sources.empty()) << node.label;
        known.insert(node.sources.begin(), node.sources.end());
    }
    for (const VanishedOperation& vanished : graph.vanished()) {
        EXPECT_TRUE(known.insert(vanished.operation).second) << vanished.operation;
    }
    for (const Node& node : before.nodes()) {
        for (const uint32_t operation : node.sources) {
            EXPECT_TRUE(known.contains(operation)) << operation;
        }
    }
}

TEST(Optimize, ComputesWhatTheGraphDoes) {
    for (const DataType type :
         {DataType::FLOAT32, DataType::QUANT8_ASYMM, DataType::QUANT8_ASYMM_SIGNED}) {
        for (int i = 0; i < 300; ++i) {
            RandomGraph random(type);
            const Graph before = random.build();
            const Graph graph = optimized(before);
            ASSERT_TRUE(computeTheSame(before, graph, random.random(), 1e-4));
            expectAllAccountedFor(before, graph);
            ASSERT_FALSE(HasFailure()) << random.random().seedText();
        }
    }
}

TEST(Optimize, ComputesFloatsBitForBitWhereRoundingIsKept) {
    for (int i = 0; i < 300; ++i) {
        RandomGraph random(DataType::FLOAT32);
        const Graph before = random.build();
        ASSERT_TRUE(
                computeTheSame(before, optimized(before, {.keepRounding = true}), random.random()));
    }
}

TEST(Optimize, RunsPassesUntilNothingIsLeftToDo) {
    TestGraph test;
    const TensorId x = test.input(floatType({1, 5, 5, 2}));
    const TensorId padded =
            test.node(Pad(), {x, test.paddings({0, 0, 1, 1, 1, 1, 0, 0}), kNoTensor});
    const TensorId filter = test.node(
            Dequantize(), {test.constant(typeOf(DataType::QUANT8_ASYMM, {3, 3, 3, 2}, 0.1F, 128))},
            floatType({}));
    TensorId y = test.node(Conv2d(), {padded, filter, test.constant(floatType({3}))});
    y = test.node(Binary{.function = Binary::Function::MUL}, {y, test.constant(floatType({3}))});
    y = test.node(Binary(), {y, test.constant(floatType({3}))});
    y = test.node(Activate{.function = Activate::Function::RELU6}, {y});
    const Graph before = test.build({y});
    const Graph graph = optimized(before);
    EXPECT_EQ(kindsOf(graph), Kinds{"Conv2d"});
    EXPECT_EQ(graph.node(0).sources, (std::vector<uint32_t>{0, 2, 3, 4, 5}));
    EXPECT_EQ(fateOf(graph, 1), "folded into a constant");
    EXPECT_TRUE(computeTheSame(before, graph, test.random(), 1e-5));
}

TEST(Optimize, SaysWhetherAnythingChanged) {
    TestGraph test;
    const TensorId x = test.input(floatType({4}));
    Graph graph = test.build({test.node(Unary(), {x})});
    const Graph before = graph;
    EXPECT_FALSE(*optimize(graph));
    EXPECT_EQ(graph, before);
    Graph other = test.build({test.node(Activate(), {test.node(Binary(), {x, x})})});
    EXPECT_TRUE(*optimize(other));
}

TEST(Optimize, ReachesGraphsInside) {
    TestGraph inner;
    const TensorId a = inner.input(floatType({4}));
    const auto branch = std::make_shared<const Graph>(
            inner.build({inner.node(Activate(), {inner.node(Binary(), {a, a})})}));
    TestGraph test;
    const TensorId condition = test.input(typeOf(DataType::BOOL8, {1}));
    const TensorId x = test.input(floatType({4}));
    const Graph graph = optimized(test.build({test.node(If{.then = {branch}, .otherwise = {branch}},
                                                        {condition, x}, floatType({}))}));
    for (const NestedGraph* nested : nestedGraphs(graph.node(0))) {
        EXPECT_EQ(kindsOf(*nested->graph), Kinds{"Binary"});
    }
    EXPECT_EQ(kindsOf(*branch), (Kinds{"Binary", "Activate"}));
}

TEST(Optimize, TellsItsObserverWhatEachPassChanged) {
    TestGraph test;
    const TensorId x = test.input(floatType({4}));
    std::vector<std::string> passes;
    optimized(test.build({test.node(Activate(), {test.node(Binary(), {x, x})})}),
              {.observer = [&](std::string_view pass, const Graph& before, const Graph& after) {
                  passes.emplace_back(pass);
                  EXPECT_FALSE(before == after);
              }});
    EXPECT_EQ(passes, std::vector<std::string>{"fuse-activations"});
}

TEST(Optimize, EndsWhereTheCheckpointSays) {
    TestGraph test;
    const TensorId x = test.input(floatType({4}));
    Graph graph = test.build({test.node(Unary(), {x})});
    const std::atomic<bool> cancelled = true;
    EXPECT_EQ(optimize(graph, {}, nullptr, Checkpoint({}, &cancelled)).status().code(),
              StatusCode::UNAVAILABLE);
}

Result<bool> breakTheGraph(Graph& graph, const PassContext& /*context*/) {
    return graph.nodes().empty() ? Result<bool>(false) : internalError("a rule is broken");
}

TEST(Optimize, NamesThePassThatIsToBlame) {
    TestGraph test;
    Graph graph = test.build({test.node(Unary(), {test.input(floatType({4}))})});
    const OptimizeOptions options;
    const PassContext context = {.options = options, .memory = nullptr, .checkpoint = {}};
    const Status status =
            runPass({.name = "break-things", .run = breakTheGraph}, graph, context).status();
    EXPECT_EQ(status.code(), StatusCode::INTERNAL);
    EXPECT_NE(status.message().find("break-things"), std::string_view::npos);
}

// As many nodes as a model may have; a pass whose work grew with their square would take hours.
TEST(Optimize, TakesAChainOfThirtyThousandNodes) {
    constexpr int kCount = 30'000;
    Graph graph;
    const TensorType type = floatType({2, 3});
    TensorId x = graph.addTensor(type);
    graph.setInputs({x});
    const std::vector<int32_t> order = {1, 0};
    const TensorId constant =
            graph.addConstant(typeOf(DataType::INT32, {2}),
                              {.owner = nullptr,
                               .bytes = {reinterpret_cast<const uint8_t*>(order.data()), 8}})
                    .value();
    std::vector<TensorId> outputs;
    for (uint32_t i = 0; i < kCount; ++i) {
        const TensorId y = graph.addTensor(floatType(Shape::unknownRank()));
        Node node = {.descriptor = Transpose(),
                     .inputs = {x, constant},
                     .outputs = {y},
                     .label = "operation " + std::to_string(i),
                     .sources = {i}};
        if (i % 3 == 2) {
            node.descriptor = Squeeze();
            node.inputs[1] = kNoTensor;
        }
        graph.addNode(std::move(node));
        x = y;
    }
    const TensorId first = graph.node(0).outputs[0];
    for (uint32_t i = 0; i < kCount; ++i) {  // many readers of one tensor
        const TensorId y = graph.addTensor(floatType(Shape::unknownRank()));
        graph.addNode({.descriptor = Activate(),
                       .inputs = {first},
                       .outputs = {y},
                       .label = "reader",
                       .sources = {kCount + i}});
        outputs.push_back(y);
    }
    outputs.push_back(x);
    graph.setOutputs(outputs);
    ASSERT_TRUE(verifyAndInfer(graph).ok());
    EXPECT_LE(optimized(graph).nodes().size(), 2U * kCount + 2);
}

}  // namespace
}  // namespace halyard::engine::pass_test
