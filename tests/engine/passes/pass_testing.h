// SPDX-License-Identifier: Apache-2.0
//
// Graphs of random numbers, and whether a pass leaves what they compute as it is.

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/backends/ref/cpu_ref.h"
#include "engine/graph/verifier.h"
#include "engine/passes/pass.h"
#include "engine/passes/remove_dead_nodes.h"
#include "engine/plan/program.h"
#include "tests/engine/reference/random_values.h"

namespace halyard::engine::pass_test {

using ref_test::RandomValues;
using ref_test::typeOf;
using ref_test::Values;

// A graph under construction, with inputs and constants of random elements.
class TestGraph {
  public:
    TensorId input(TensorType type) {
        const TensorId id = mGraph.addTensor(type);
        mInputs.push_back(id);
        return id;
    }
    TensorId constant(const TensorType& type) { return constant(mRandom.values(type)); }
    TensorId constant(const Values& values) {
        return mGraph.addConstant(values.type, {.owner = nullptr, .bytes = values.bytes}).value();
    }
    TensorId ints(const std::vector<int32_t>& elements) {
        return constant(ref_test::ints({static_cast<int32_t>(elements.size())}, elements));
    }
    // Of a Pad: before and after, per axis.
    TensorId paddings(const std::vector<int32_t>& elements) {
        return constant(ref_test::ints({static_cast<int32_t>(elements.size() / 2), 2}, elements));
    }
    // The shape of the output is inferred. Each node is an operation of its own.
    TensorId node(NodeDescriptor descriptor, std::vector<TensorId> inputs, TensorType output) {
        output.shape = Shape::unknownRank();
        const TensorId id = mGraph.addTensor(std::move(output));
        const auto operation = static_cast<uint32_t>(mGraph.nodes().size());
        mGraph.addNode({.descriptor = std::move(descriptor),
                        .inputs = std::move(inputs),
                        .outputs = {id},
                        .label = "operation " + std::to_string(operation),
                        .sources = {operation}});
        Graph copy = build({id});  // so that types() are known
        mGraph.mutableTensor(id).type = copy.tensor(id).type;
        return id;
    }
    // The output has the element type and the quantisation of the first input.
    TensorId node(NodeDescriptor descriptor, std::vector<TensorId> inputs) {
        const TensorType type = mGraph.tensor(inputs[0]).type;
        return node(std::move(descriptor), std::move(inputs), type);
    }
    const TensorType& type(TensorId id) const { return mGraph.tensor(id).type; }
    Graph& graph() { return mGraph; }
    RandomValues& random() { return mRandom; }

    // Verified.
    Graph build(std::vector<TensorId> outputs) const {
        Graph graph = mGraph;
        graph.setInputs(mInputs);
        graph.setOutputs(std::move(outputs));
        const Status verified = verifyAndInfer(graph);
        EXPECT_TRUE(verified.ok()) << verified.toString();
        return graph;
    }

  private:
    Graph mGraph;
    std::vector<TensorId> mInputs;
    RandomValues mRandom;
};

inline TensorType floatType(Shape shape) {
    return typeOf(DataType::FLOAT32, shape);
}

inline std::vector<std::string> kindsOf(const Graph& graph) {
    std::vector<std::string> kinds;
    for (const Node& node : graph.nodes()) {
        kinds.emplace_back(toString(node.kind()));
    }
    return kinds;
}
using Kinds = std::vector<std::string>;

// The graph after the pass and without what is dead then, verified.
inline Graph after(Result<bool> (*pass)(Graph&, const PassContext&), Graph graph) {
    const OptimizeOptions options;
    const PassContext context = {
            .options = options, .memory = nullptr, .checkpoint = {}, .allowance = size_t{1} << 20};
    for (const auto run : {pass, &removeDeadNodes}) {
        const Result<bool> done = run(graph, context);
        EXPECT_TRUE(done.ok()) << done.status().toString();
        const Status verified = verifyAndInfer(graph);
        EXPECT_TRUE(verified.ok()) << verified.toString();
    }
    return graph;
}

inline std::vector<Values> runGraph(const Graph& graph, const std::vector<Values>& inputs) {
    const std::unique_ptr<const Backend> backend = makeCpuRef();
    const Result<std::shared_ptr<const Program>> program =
            Program::build(graph, {backend.get()}, nullptr);
    EXPECT_TRUE(program.ok()) << program.status().toString();
    std::vector<InputBinding> bound;
    for (const Values& input : inputs) {
        bound.push_back({.bytes = input.bytes, .shape = input.type.shape});
    }
    std::vector<Values> outputs;
    for (const TensorId id : graph.outputs()) {
        const TensorType& type = graph.tensor(id).type;
        outputs.push_back({.type = type, .bytes = std::vector<uint8_t>(*type.byteSize())});
    }
    std::vector<OutputBinding> results;
    for (Values& output : outputs) {
        results.push_back({.bytes = output.bytes});
    }
    if (program.ok()) {
        Execution execution = Execution::create(*program).value();
        const Status status = execution.run(bound, results, {}, nullptr);
        EXPECT_TRUE(status.ok()) << status.toString();
    }
    return outputs;
}

// Whether two graphs give the same for random inputs: bit for bit, or float outputs to within a
// part of the largest one.
inline testing::AssertionResult computeTheSame(const Graph& a, const Graph& b, RandomValues& random,
                                               double tolerance = 0) {
    std::vector<Values> inputs;
    for (const TensorId input : a.inputs()) {
        inputs.push_back(random.values(a.tensor(input).type));
    }
    const std::vector<Values> expected = runGraph(a, inputs);
    const std::vector<Values> actual = runGraph(b, inputs);
    for (size_t i = 0; i < expected.size(); ++i) {
        if (!(expected[i].type == actual[i].type)) {
            return testing::AssertionFailure()
                   << "output " << i << " is " << actual[i].type.toString() << ", not "
                   << expected[i].type.toString();
        }
        const std::vector<double> x = ref_test::stored(expected[i]);
        const std::vector<double> y = ref_test::stored(actual[i]);
        double largest = 1;
        for (const double value : x) {
            largest = std::max(largest, std::abs(value));
        }
        const double allowed = isFloat(expected[i].type.type) ? tolerance * largest : 0;
        for (size_t at = 0; at < x.size(); ++at) {
            if (!(std::abs(x[at] - y[at]) <= allowed)) {
                return testing::AssertionFailure()
                       << random.seedText() << ": output " << i << ", element " << at << " is "
                       << y[at] << ", not " << x[at];
            }
        }
    }
    return testing::AssertionSuccess();
}

// The fate of an operation; empty where a node stems from it.
inline std::string fateOf(const Graph& graph, uint32_t operation) {
    for (const VanishedOperation& vanished : graph.vanished()) {
        if (vanished.operation == operation) {
            return vanished.fate;
        }
    }
    return "";
}

}  // namespace halyard::engine::pass_test
