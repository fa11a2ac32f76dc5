// SPDX-License-Identifier: Apache-2.0
//
// Bytes whose scales are as far apart as float32 lets them be: results are those of real numbers,
// which float32 does not hold on the way, and CpuAcc's are CpuRef's.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/backends/cpu/cpu_acc.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/backends/ref/cpu_ref.h"
#include "engine/plan/program.h"
#include "tests/engine/graph_building.h"
#include "tests/engine/plan/running.h"
#include "tests/engine/reference/evaluation.h"

namespace halyard::engine {
namespace {

using ref_test::pack;
using ref_test::reals;
using ref_test::typeOf;
using ref_test::Values;

constexpr float kScales[] = {1e-44F, 1e-38F, 1e-20F, 0.02F, 1.0F, 300.0F, 1e5F, 1e20F, 3e38F};
constexpr double kMostFloat = std::numeric_limits<float>::max();

TensorType bytes(float scale, int32_t zeroPoint) {
    return typeOf(DataType::QUANT8_ASYMM, {}, scale, zeroPoint);
}

// Each with each of the other input; more than a vector of them.
Values elements(TensorType type, bool isSecond) {
    const int32_t zero = type.quantization.zeroPoint;
    const std::vector<int32_t> some = {zero, 0, 255, std::min(zero + 1, 255),
                                       std::max(zero - 1, 0)};
    std::vector<uint8_t> all;
    for (const int32_t one : some) {
        for (const int32_t other : some) {
            all.push_back(static_cast<uint8_t>(isSecond ? other : one));
        }
    }
    type.shape = {static_cast<int32_t>(all.size())};
    return pack(type, all);
}

Values run(const NodeDescriptor& descriptor, const std::vector<Values>& inputs,
           const std::vector<TensorId>& more, Graph graph, TensorType output,
           const BackendList& backends) {
    Node node = {
            .descriptor = descriptor, .inputs = {}, .outputs = {}, .label = "node", .sources = {}};
    std::vector<InputBinding> bindings;
    for (const Values& input : inputs) {
        node.inputs.push_back(graph.addTensor(input.type));
        bindings.push_back({.bytes = input.bytes, .shape = input.type.shape});
    }
    graph.setInputs(node.inputs);
    node.inputs.insert(node.inputs.end(), more.begin(), more.end());
    output.shape = Shape::unknownRank();
    node.outputs = {graph.addTensor(output)};
    graph.setOutputs(node.outputs);
    graph.addNode(std::move(node));
    Execution execution = Execution::create(buildOrDie(std::move(graph), backends)).value();
    Values result{.type = output, .bytes = std::vector<uint8_t>(4096)};
    const OutputBinding binding = {.bytes = result.bytes};
    ExecutionReport report;
    const Status status = execution.run(bindings, {&binding, 1}, {}, &report);
    EXPECT_TRUE(status.ok()) << status.toString();
    result.type.shape = report.outputs[0].shape;
    result.bytes.resize(result.type.byteSize().value());
    return result;
}

// CpuRef's result is what `expected` says, and CpuAcc's is the same.
void expectReal(const NodeDescriptor& descriptor, const std::vector<Values>& inputs,
                const TensorType& output, const std::vector<double>& expected,
                const std::vector<TensorId>& more = {}, const Graph& graph = {}) {
    const auto reference = makeCpuRef();
    const Values result = run(descriptor, inputs, more, graph, output, {reference.get()});
    const std::string scales = toString(descriptor) + " of " + inputs[0].type.toString() + ", " +
                               inputs.back().type.toString() + " to " + output.toString();
    // The rules that round in integers are off by a little more than half a step.
    ASSERT_TRUE(ref_test::approximates(result, expected, 0.6)) << scales;
    for (const cpu::InstructionSet set : cpu::availableInstructionSets()) {
        const auto tuned = makeCpuAcc(set);
        const Values same =
                run(descriptor, inputs, more, graph, output, {tuned.get(), reference.get()});
        ASSERT_EQ(same.bytes, result.bytes) << scales << " with " << cpu::toString(set);
    }
}

template <typename Body>
void forEachScale(Body body) {
    for (const float a : kScales) {
        for (const float output : kScales) {
            body(a, output);
        }
    }
}

double real(double a, double b, Binary::Function function) {
    switch (function) {
        case Binary::Function::ADD:
            return a + b;
        case Binary::Function::SUB:
            return a - b;
        case Binary::Function::MUL:
            return a * b;
        case Binary::Function::MAXIMUM:
            return std::max(a, b);
        case Binary::Function::MINIMUM:
            return std::min(a, b);
        default:  // PRELU
            return a >= 0 ? a : a * b;
    }
}

class BinaryAtExtremeScales : public testing::TestWithParam<Binary::Function> {};

TEST_P(BinaryAtExtremeScales, GivesWhatRealNumbersDo) {
    const Binary::Function function = GetParam();
    forEachScale([&](float scaleA, float outputScale) {
        for (const float scaleB : kScales) {
            const Values a = elements(bytes(scaleA, 100), false);
            const Values b = elements(bytes(scaleB, 3), true);
            std::vector<double> expected;
            bool fits = true;
            for (size_t i = 0; i < a.bytes.size(); ++i) {
                const double x = reals(a)[i];
                const double y = reals(b)[i];
                expected.push_back(real(x, y, function));
                fits = fits && std::max({std::abs(x), std::abs(y), std::abs(expected.back())}) <=
                                       kMostFloat;
            }
            // These go through real numbers in float32.
            const bool needsFloats = function != Binary::Function::ADD &&
                                     function != Binary::Function::SUB &&
                                     function != Binary::Function::MUL;
            if (fits || !needsFloats) {
                expectReal(Binary{.function = function}, {a, b}, bytes(outputScale, 50), expected);
            }
            if (testing::Test::HasFatalFailure()) {
                return;
            }
        }
    });
}

INSTANTIATE_TEST_SUITE_P(Functions, BinaryAtExtremeScales,
                         testing::Values(Binary::Function::ADD, Binary::Function::SUB,
                                         Binary::Function::MUL, Binary::Function::MAXIMUM,
                                         Binary::Function::MINIMUM, Binary::Function::PRELU));

TEST(ConcatAtExtremeScales, GivesWhatRealNumbersDo) {
    forEachScale([&](float scale, float outputScale) {
        const Values a = elements(bytes(scale, 100), false);
        const Values b = elements(bytes(0.5F, 3), false);
        std::vector<double> expected = reals(a);
        const std::vector<double> second = reals(b);
        expected.insert(expected.end(), second.begin(), second.end());
        expectReal(Concat{.axis = 0}, {a, b}, bytes(outputScale, 50), expected);
    });
}

TEST(MeanAtExtremeScales, GivesWhatRealNumbersDo) {
    forEachScale([&](float scale, float outputScale) {
        Values x = elements(bytes(scale, 100), false);
        x.type.shape = {1, 1, static_cast<int32_t>(x.bytes.size() / 5), 5};
        const std::vector<double> all = reals(x);
        // Of rows, of columns as a pooling has it, and of one element each.
        std::vector<double> rows;
        std::vector<double> columns(5, 0.0);
        for (size_t i = 0; i < all.size(); ++i) {
            if (i % 5 == 0) {
                rows.push_back(0.0);
            }
            rows.back() += all[i] / 5;
            columns[i % 5] += all[i] / static_cast<double>(all.size() / 5);
        }
        for (const auto& [axis, expected] :
             {std::pair(3, rows), std::pair(2, columns), std::pair(0, all)}) {
            Graph graph;
            const TensorId axes = addConstant<int32_t>(graph, int32({1}), {axis});
            expectReal(Reduce{.function = Reduce::Function::MEAN}, {x}, bytes(outputScale, 50),
                       expected, {axes}, graph);
        }
        const Pool2d pool = {
                .function = Pool2d::Function::AVERAGE, .filterH = 1, .filterW = x.type.shape[2]};
        expectReal(pool, {x}, bytes(outputScale, 50), columns);
    });
}

TEST(BatchMatmulAtExtremeScales, GivesWhatRealNumbersDo) {
    forEachScale([&](float scaleA, float outputScale) {
        for (const float scaleB : kScales) {
            Values a = elements(bytes(scaleA, 100), false);
            Values b = elements(bytes(scaleB, 3), true);
            a.type.shape = {1, 25, 1};
            b.type.shape = {1, 1, 25};
            std::vector<double> expected;
            for (const double x : reals(a)) {
                for (const double y : reals(b)) {
                    expected.push_back(x * y);
                }
            }
            // Rounded twice.
            if (!testing::Test::HasFatalFailure()) {
                expectReal(BatchMatmul(), {a, b}, bytes(outputScale, 50), expected);
            }
        }
    });
}

}  // namespace
}  // namespace halyard::engine
