// SPDX-License-Identifier: Apache-2.0
//
// No memory is an error: wherever an allocation fails that a client can make large, building or
// running says RESOURCE_EXHAUSTED, keeps nothing, and works the next time.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/backends/cpu/cpu_acc.h"
#include "engine/backends/ref/cpu_ref.h"
#include "engine/base/budget.h"
#include "engine/graph/recurrence.h"
#include "engine/plan/program.h"
#include "tests/engine/allocation_count.h"
#include "tests/engine/graph_building.h"
#include "tests/engine/plan/fake_backend.h"
#include "tests/engine/plan/running.h"

namespace halyard::engine {
namespace {

// Every input and output is a tensor of four bytes an element that lies one byte off, so that it is
// copied.
struct Case {
    std::string name;
    std::function<Graph()> graph;
    std::vector<Shape> inputs;
    // How many allocations may fail in building and running, at least.
    size_t fewest = 1;
    bool packs = false;  // on a backend that packs, in place of CpuRef
};

void PrintTo(const Case& each, std::ostream* stream) {
    *stream << each.name;
}

const TensorType kHalves = {.type = DataType::FLOAT16, .shape = {}, .quantization = {}};

TensorType halves(Shape shape) {
    TensorType type = kHalves;
    type.shape = shape;
    return type;
}

// Gives an INT32 or FLOAT32 tensor on, so that it is computed.
TensorId copied(Graph& graph, TensorId x) {
    const TensorId output = graph.addTensor(
            {.type = graph.tensor(x).type.type, .shape = Shape::unknownRank(), .quantization = {}});
    graph.addNode({.descriptor = Cast(),
                   .inputs = {x},
                   .outputs = {output},
                   .label = "copy",
                   .sources = {0}});
    return output;
}

TensorId addNodeOf(Graph& graph, NodeDescriptor descriptor, std::vector<TensorId> inputs,
                   const std::vector<TensorType>& types) {
    std::vector<TensorId> outputs;
    for (const TensorType& type : types) {
        outputs.push_back(graph.addTensor(type));
    }
    graph.addNode({.descriptor = std::move(descriptor),
                   .inputs = std::move(inputs),
                   .outputs = outputs,
                   .label = "node",
                   .sources = {0}});
    return outputs[0];
}

// x -> node(x, constants) -> output.
Graph chain(Shape shape, const std::function<TensorId(Graph&, TensorId)>& node) {
    Graph graph;
    const TensorId x = graph.addTensor(float32(shape));
    graph.setInputs({x});
    graph.setOutputs({node(graph, x)});
    return graph;
}

// A constant in memory of a client's.
TensorId addShared(Graph& graph, TensorType type, size_t bytes) {
    const auto pool = std::make_shared<std::vector<uint8_t>>(bytes);
    return graph.addConstant(std::move(type), {.owner = pool, .bytes = *pool, .shared = true})
            .value();
}

TensorType unknown(DataType type) {
    return {.type = type, .shape = Shape::unknownRank(), .quantization = {}};
}

NestedGraph nest(const std::function<TensorId(Graph&, TensorId)>& node) {
    return {std::make_shared<const Graph>(chain({kUnknownDimension}, node))};
}

std::vector<Case> cases() {
    const TensorType floatsOfUnknown = unknown(DataType::FLOAT32);
    const auto relu = [](Graph& graph, TensorId x) { return addActivate(graph, x); };
    return {
            {"Chain",
             [=] {
                 return chain({4}, [](Graph& graph, TensorId x) {
                     return addSum(graph, addActivate(graph, addActivate(graph, x)), x);
                 });
             },
             {{4}},
             3},
            {"OpenShapes",
             [=] {
                 return chain({kUnknownDimension}, [](Graph& graph, TensorId x) {
                     return addSum(graph, addActivate(graph, addActivate(graph, x)), x);
                 });
             },
             {{4}},
             3},
            {"PackedConstants", [=] { return chain({4}, relu); }, {{4}}, 3, true},
            {"Weights",
             [=] {
                 return chain({1, 8, 8, 1}, [=](Graph& graph, TensorId x) {
                     const TensorId filter =
                             addConstant<float>(graph, float32({1, 3, 3, 1}), Floats(9, 0.5F));
                     const TensorId bias = addConstant<float>(graph, float32({1}), {0});
                     const Window2d same = {.padding = PaddingScheme::SAME};
                     const TensorId y = addNodeOf(graph, Conv2d{.window = same}, {x, filter, bias},
                                                  {floatsOfUnknown});
                     const TensorId z = addNodeOf(graph, DepthwiseConv2d{.window = same},
                                                  {y, filter, bias}, {floatsOfUnknown});
                     return addNodeOf(graph, Softmax{.axis = 1}, {z}, {floatsOfUnknown});
                 });
             },
             {{1, 8, 8, 1}},
             3},
            {"WidenedHalves",
             [] {
                 return chain({1, 8, 8, 1}, [](Graph& graph, TensorId x) {
                     const TensorId narrow =
                             addNodeOf(graph, Cast(), {x}, {unknown(DataType::FLOAT16)});
                     const TensorId filter =
                             addConstant<uint16_t>(graph, halves({1, 1, 1, 1}), {0});
                     const TensorId bias = addConstant<uint16_t>(graph, halves({1}), {0});
                     const TensorId y = addNodeOf(graph, Conv2d(), {narrow, filter, bias},
                                                  {unknown(DataType::FLOAT16)});
                     return addNodeOf(graph, Cast(), {y}, {unknown(DataType::FLOAT32)});
                 });
             },
             {{1, 8, 8, 1}},
             6},
            {"Lstm",
             [] {
                 return chain({1, 2}, [](Graph& graph, TensorId x) {
                     std::vector<TensorId> inputs(lstm::kAux, kNoTensor);
                     inputs[lstm::kX] = x;
                     const auto zeros = [&](Shape shape, size_t count) {
                         return addConstant<float>(graph, float32(shape), Floats(count));
                     };
                     for (const size_t weights :
                          {lstm::kInputToForgetWeights, lstm::kInputToCellWeights,
                           lstm::kInputToOutputWeights, lstm::kRecurrentToForgetWeights,
                           lstm::kRecurrentToCellWeights, lstm::kRecurrentToOutputWeights}) {
                         inputs[weights] = zeros({2, 2}, 4);
                     }
                     for (const size_t bias :
                          {lstm::kForgetGateBias, lstm::kCellGateBias, lstm::kOutputGateBias}) {
                         inputs[bias] = zeros({2}, 2);
                     }
                     inputs[lstm::kOutputState] = zeros({1, 2}, 2);
                     inputs[lstm::kCellState] = zeros({1, 2}, 2);
                     addNodeOf(graph, Lstm(), inputs,
                               std::vector<TensorType>(4, unknown(DataType::FLOAT32)));
                     return static_cast<TensorId>(graph.tensors().size() - 1);
                 });
             },
             {{1, 2}},
             8},
            {"TopK",
             [=] {
                 return chain({4}, [=](Graph& graph, TensorId x) {
                     return addNodeOf(graph, TopK{.k = 2}, {x},
                                      {floatsOfUnknown, unknown(DataType::INT32)});
                 });
             },
             {{4}},
             3},
            {"GatherByAConstantOfAClient",
             [=] {
                 return chain({4}, [](Graph& graph, TensorId x) {
                     return addNode(graph, Gather(), {x, addShared(graph, int32({2}), 8)});
                 });
             },
             {{4}},
             3},
            {"FoundShapes",
             [=] {
                 return chain({2, 2}, [=](Graph& graph, TensorId scores) {
                     const TensorId boxes =
                             addConstant<float>(graph, float32({2, 8}), Floats(16, 1));
                     const TensorId batches = addConstant<int32_t>(graph, int32({2}), {0, 0});
                     const TensorId found = addNodeOf(
                             graph, BoxWithNmsLimit{.scoreThreshold = -1}, {scores, boxes, batches},
                             {floatsOfUnknown, floatsOfUnknown, unknown(DataType::INT32),
                              unknown(DataType::INT32)});
                     return addActivate(graph, addActivate(graph, found));
                 });
             },
             {{2, 2}},
             6},
            {"ShapesThatTheRunComputes",
             [] {
                 Graph graph;
                 const TensorId x = graph.addTensor(float32({4}));
                 const TensorId shape = graph.addTensor(int32({1}));
                 graph.setInputs({x, shape});
                 const TensorId y = addNode(graph, Reshape(), {x, copied(graph, shape)});
                 graph.setOutputs({addActivate(graph, y)});
                 return graph;
             },
             {{4}, {1}},
             4},
            {"Branch",
             [=] {
                 return chain({4}, [=](Graph& graph, TensorId x) {
                     const TensorId zero = addConstant<float>(graph, float32({1}), {0});
                     const TensorId first =
                             addNode(graph, Slice(),
                                     {x, addConstant<int32_t>(graph, int32({1}), {0}),
                                      addConstant<int32_t>(graph, int32({1}), {1})});
                     const TensorId condition =
                             addNodeOf(graph, Compare{.function = Compare::Function::EQUAL},
                                       {first, zero}, {unknown(DataType::BOOL8)});
                     return addNode(graph, If{.then = nest(relu), .otherwise = nest(relu)},
                                    {condition, x});
                 });
             },
             {{4}},
             3},
            {"Loop",
             [=] {
                 // Counts down from what the input says until the sum is not above 0.
                 const NestedGraph condition = nest([](Graph& graph, TensorId x) {
                     const TensorId zero = addConstant<float>(graph, float32({1}), {0});
                     return addNodeOf(graph, Compare{.function = Compare::Function::LESS},
                                      {zero, x}, {unknown(DataType::BOOL8)});
                 });
                 const NestedGraph body = nest([](Graph& graph, TensorId x) {
                     const TensorId one = addConstant<float>(graph, float32({1}), {1});
                     return addNode(graph, Binary{.function = Binary::Function::SUB}, {x, one});
                 });
                 return chain({1}, [=](Graph& graph, TensorId x) {
                     return addNode(graph, While{.condition = condition, .body = body}, {x});
                 });
             },
             {{1}},
             4},
    };
}

// On CpuRef, or on CpuAcc with CpuRef for what it leaves; a case that packs is the same on both.
class AllocationFault : public testing::TestWithParam<std::tuple<Case, bool>> {
  protected:
    // Memory that lies one byte off.
    struct Buffer {
        std::vector<uint8_t> bytes = std::vector<uint8_t>(4 * 64 + 1);
        std::span<uint8_t> off() { return std::span(bytes).subspan(1); }
    };

    Result<std::shared_ptr<const Program>> build(Graph graph) {
        BackendList backends = {mRef.get()};
        if (param().packs) {
            backends = {&mFake};
        } else if (isTuned()) {
            backends.insert(backends.begin(), mAcc.get());
        }
        return Program::build(std::move(graph), backends, nullptr, mMemory);
    }
    static const Case& param() { return std::get<0>(GetParam()); }
    static bool isTuned() { return std::get<1>(GetParam()); }
    Status run(Execution& execution) {
        std::vector<Buffer> in(param().inputs.size());
        std::vector<InputBinding> inputs;
        for (size_t i = 0; i < in.size(); ++i) {
            const int32_t four = 4;  // what a shape may be; tiny as a float
            std::memcpy(in[i].off().data(), &four, sizeof four);
            inputs.push_back({.bytes = in[i].off(), .shape = param().inputs[i]});
        }
        Buffer out;
        return runOnce(execution, inputs, {{.bytes = out.off()}});
    }
    // The whole way; a failure is what the first step says that fails.
    Status buildAndRun(Graph graph, std::shared_ptr<const Program>* program) {
        HALYARD_ASSIGN_OR_RETURN(*program, build(std::move(graph)));
        HALYARD_ASSIGN_OR_RETURN(Execution execution, Execution::create(*program));
        return run(execution);
    }

    const std::unique_ptr<const Backend> mRef = makeCpuRef();
    const std::unique_ptr<const Backend> mAcc = makeCpuAcc();
    const FakeBackend mFake{"Fake", kAllFakeKinds};
    const std::shared_ptr<Budget> mMemory = std::make_shared<Budget>(size_t{1} << 20);
};

TEST_P(AllocationFault, IsAnErrorWhereverItStrikes) {
    size_t faults = 0;
    for (;; ++faults) {
        SCOPED_TRACE("allocation " + std::to_string(faults + 1));
        std::shared_ptr<const Program> program;
        Graph graph = param().graph();
        failAllocation(faults + 1);
        const Status status = buildAndRun(std::move(graph), &program);
        const bool done = failureIsDue();
        failAllocation(0);
        if (done) {
            EXPECT_TRUE(status.ok()) << status.toString();
            break;
        }
        ASSERT_EQ(status.code(), StatusCode::RESOURCE_EXHAUSTED) << status.toString();
        if (program != nullptr) {
            Execution execution = Execution::create(program).value();
            const Status again = run(execution);
            EXPECT_TRUE(again.ok()) << "the same program: " << again.toString();
        }
        program = nullptr;
        ASSERT_EQ(mMemory->reserved(), 0U);
    }
    // Fewer are scratch memory where a kernel is tuned.
    EXPECT_GE(faults, isTuned() ? 2 : param().fewest);
    EXPECT_EQ(mMemory->reserved(), 0U);
}

TEST_P(AllocationFault, LeavesTheExecutionUsable) {
    const std::shared_ptr<const Program> program = build(param().graph()).value();
    for (size_t fault = 1;; ++fault) {
        SCOPED_TRACE("allocation " + std::to_string(fault));
        Execution execution = Execution::create(program).value();
        failAllocation(fault);
        const Status status = run(execution);
        const bool done = failureIsDue();
        failAllocation(0);
        if (done) {
            EXPECT_TRUE(status.ok()) << status.toString();
            break;
        }
        ASSERT_EQ(status.code(), StatusCode::RESOURCE_EXHAUSTED) << status.toString();
        const Status again = run(execution);
        EXPECT_TRUE(again.ok()) << again.toString();
    }
}

INSTANTIATE_TEST_SUITE_P(Programs, AllocationFault,
                         testing::Combine(testing::ValuesIn(cases()), testing::Bool()),
                         [](const auto& param) {
                             return std::get<0>(param.param).name +
                                    (std::get<1>(param.param) ? "OnCpuAcc" : "");
                         });

TEST(NestedGraphs, AreReservedForBeforeTheyAreCopied) {
    // Many nodes that share one graph of many tensors.
    constexpr size_t kTensors = 1000;
    constexpr size_t kNodes = 100;
    auto inner = std::make_shared<Graph>();
    const TensorId value = inner->addTensor(float32({1}));
    inner->setInputs({value});
    inner->setOutputs({addActivate(*inner, value)});
    for (size_t i = 0; i < kTensors; ++i) {
        addConstant<float>(*inner, float32({1}), {0});
    }
    const NestedGraph nested = {inner};
    Graph graph;
    const TensorId x = graph.addTensor(float32({1}));
    const TensorId condition =
            graph.addTensor({.type = DataType::BOOL8, .shape = {1}, .quantization = {}});
    graph.setInputs({x, condition});
    TensorId last = x;
    for (size_t i = 0; i < kNodes; ++i) {
        last = addNode(graph, If{.then = nested, .otherwise = nested}, {condition, last});
    }
    graph.setOutputs({last});
    const std::unique_ptr<const Backend> ref = makeCpuRef();
    const auto memory = std::make_shared<Budget>(size_t{256} << 20);
    {
        const auto program = Program::build(graph, {ref.get()}, nullptr, memory);
        ASSERT_TRUE(program.ok()) << program.status().toString();
        EXPECT_GE(memory->reserved(), 2 * kNodes * kTensors * sizeof(Tensor));
    }
    EXPECT_EQ(memory->reserved(), 0U);
    const auto little = std::make_shared<Budget>(kNodes * kTensors * sizeof(Tensor));
    const Status status = Program::build(graph, {ref.get()}, nullptr, little).status();
    EXPECT_EQ(status.code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(little->reserved(), 0U);
}

TEST(TensorType, SharesTheScalesOfItsChannels) {
    const TensorType type = {.type = DataType::QUANT8_SYMM_PER_CHANNEL,
                             .shape = {3},
                             .quantization = {.channelScales = {1, 2, 3}, .channelDim = 0}};
    const TensorType copy = type;
    EXPECT_EQ(copy.quantization.channelScales.begin(), type.quantization.channelScales.begin());
    EXPECT_EQ(copy, type);
    TensorType other = type;
    other.quantization.channelScales = {1, 2, 4};
    EXPECT_NE(other, type);
}

}  // namespace
}  // namespace halyard::engine
