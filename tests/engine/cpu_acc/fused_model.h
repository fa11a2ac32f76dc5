// SPDX-License-Identifier: Apache-2.0
//
// Models whose nodes CpuAcc may compute together, and what they give beside CpuRef.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "engine/backends/cpu/cpu_acc.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/backends/ref/cpu_ref.h"
#include "engine/plan/program.h"
#include "tests/engine/allocation_count.h"
#include "tests/engine/cpu_acc/guarded_memory.h"
#include "tests/engine/reference/random_values.h"

namespace halyard::engine::fused_test {

using ref_test::RandomValues;
using ref_test::typeOf;
using ref_test::Values;

// A graph and what its inputs are.
struct Model {
    Graph graph;
    std::vector<Values> inputs;

    TensorId addInput(const Values& values, bool unknownShape = false) {
        TensorType type = values.type;
        if (unknownShape) {
            type.shape[0] = kUnknownDimension;
        }
        inputs.push_back(values);
        return graph.addTensor(type);
    }
    TensorId addNode(NodeDescriptor descriptor, std::vector<TensorId> from, TensorType type) {
        type.shape = Shape::unknownRank();
        const TensorId result = graph.addTensor(type);
        graph.addNode({.descriptor = std::move(descriptor),
                       .inputs = std::move(from),
                       .outputs = {result},
                       .label = "node " + std::to_string(graph.nodes().size()),
                       .sources = {static_cast<uint32_t>(graph.nodes().size())}});
        return result;
    }
    TensorId addConstant(const Values& values) {
        return graph.addConstant(values.type, {.owner = nullptr, .bytes = values.bytes}).value();
    }
    void finish(std::vector<TensorId> in, std::vector<TensorId> out) {
        graph.setInputs(std::move(in));
        graph.setOutputs(std::move(out));
    }
};

inline std::shared_ptr<const Program> build(const Model& model, const Backend& backend,
                                            size_t threads) {
    const BackendList backends = {&backend};
    return Program::build(model.graph, backends, std::make_shared<ThreadPool>(threads)).value();
}

struct Outcome {
    std::vector<std::vector<uint8_t>> outputs;
    size_t allocations = 0;  // of a second run, on this thread
};

inline Outcome run(const Model& model, const std::shared_ptr<const Program>& program) {
    Execution execution = Execution::create(program).value();
    std::list<GuardedMemory> memory;
    std::vector<InputBinding> in;
    for (const Values& values : model.inputs) {
        in.push_back(
                {.bytes = memory.emplace_back(values.bytes).bytes(), .shape = values.type.shape});
    }
    const std::vector<OutputBinding> none(model.graph.outputs().size());
    ExecutionReport report;
    const Status first = execution.run(in, none, {}, &report);
    EXPECT_TRUE(first.ok() || first.code() == StatusCode::OUTPUT_TOO_SMALL) << first.toString();
    std::vector<OutputBinding> out;
    for (size_t i = 0; i < none.size(); ++i) {
        TensorType type = model.graph.tensor(model.graph.outputs()[i]).type;
        type.shape = report.outputs.at(i).shape;
        out.push_back({.bytes = memory.emplace_back(type.byteSize().value()).bytes()});
    }
    EXPECT_TRUE(execution.run(in, out, {}, &report).ok());
    Outcome outcome;
    const size_t before = allocationCount();
    EXPECT_TRUE(execution.run(in, out, {}, &report).ok());
    outcome.allocations = allocationCount() - before;
    for (const OutputBinding& binding : out) {
        outcome.outputs.emplace_back(binding.bytes.begin(), binding.bytes.end());
    }
    return outcome;
}

// Float32 results may also differ by `least`.
inline void expectClose(const std::vector<uint8_t>& actual, const std::vector<uint8_t>& expected,
                        DataType type, double least = 0.0) {
    ASSERT_EQ(actual.size(), expected.size());
    if (!isFloat(type)) {
        EXPECT_EQ(actual, expected);
        return;
    }
    const TensorType row =
            typeOf(type, {static_cast<int32_t>(expected.size() / elementSize(type))});
    const std::vector<double> a = ref_test::stored({.type = row, .bytes = actual});
    const std::vector<double> e = ref_test::stored({.type = row, .bytes = expected});
    const double tolerance = type == DataType::FLOAT16 ? 4e-3 : 5e-5;
    // Terms that cancel out leave errors of the size of other sums.
    double largest = 0.0;
    for (const double value : e) {
        largest = std::isfinite(value) ? std::max(largest, std::abs(value)) : largest;
    }
    if (type == DataType::FLOAT32) {
        least = std::max(least, 5e-6 * largest);
    }
    for (size_t i = 0; i < e.size(); ++i) {
        if (a[i] == e[i] || (std::isnan(a[i]) && std::isnan(e[i]))) {
            continue;
        }
        ASSERT_NEAR(a[i], e[i], std::max(least, tolerance * std::max(1.0, std::abs(e[i]))))
                << "element " << i;
    }
}

// The rounding error allowed in the outputs of a block: a few units in the last place of its sums,
// which are as large as without activations also where these cut them to a few units.
inline std::vector<double> roundingOf(Model model, const Backend& reference) {
    for (NodeId i = 0; i < model.graph.nodes().size(); ++i) {
        std::visit(
                [](auto& descriptor) {
                    if constexpr (requires { descriptor.activation; }) {
                        descriptor.activation = Activation::NONE;
                    }
                },
                static_cast<AnyDescriptor&>(model.graph.mutableNode(i).descriptor));
    }
    std::vector<double> roundings;
    for (const std::vector<uint8_t>& bytes : run(model, build(model, reference, 2)).outputs) {
        const TensorType row =
                typeOf(DataType::FLOAT32, {static_cast<int32_t>(bytes.size() / sizeof(float))});
        double largest = 0.0;
        for (const double value : ref_test::stored({.type = row, .bytes = bytes})) {
            largest = std::isfinite(value) ? std::max(largest, std::abs(value)) : largest;
        }
        roundings.push_back(5e-7 * largest);
    }
    return roundings;
}

// On every instruction set and with 1 to 4 threads, results are CpuRef's but for rounding, nothing
// is allocated, and nodesOn(threads) nodes are part of a step whose kernel's name has `kernel` in
// it.
template <typename NodesOn>
requires std::invocable<NodesOn, size_t>
void expectTogether(const Model& model, std::string_view kernel, NodesOn nodesOn) {
    const auto reference = makeCpuRef();
    const Outcome expected = run(model, build(model, *reference, 2));
    const std::vector<double> roundings = roundingOf(model, *reference);
    for (const cpu::InstructionSet set : cpu::availableInstructionSets()) {
        const auto tuned = makeCpuAcc(set);
        for (size_t threads = 1; threads <= 4; ++threads) {
            SCOPED_TRACE(std::string(toString(set)) + ", threads: " + std::to_string(threads));
            const auto program = build(model, *tuned, threads);
            EXPECT_EQ(std::ranges::count_if(program->placement(),
                                            [&](const NodePlacement& node) {
                                                return node.kernel.find(kernel) !=
                                                       std::string::npos;
                                            }),
                      nodesOn(threads));
            const Outcome actual = run(model, program);
            EXPECT_EQ(actual.allocations, 0U);
            for (size_t i = 0; i < expected.outputs.size(); ++i) {
                expectClose(actual.outputs[i], expected.outputs[i], DataType::FLOAT32,
                            roundings[i]);
            }
        }
    }
}

// The same nodes with any number of threads.
inline void expectTogether(const Model& model, std::string_view kernel, size_t nodes) {
    expectTogether(model, kernel, [&](size_t /*threads*/) { return nodes; });
}

}  // namespace halyard::engine::fused_test
