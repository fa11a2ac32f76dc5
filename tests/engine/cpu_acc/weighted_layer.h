// SPDX-License-Identifier: Apache-2.0
//
// Convolutions and fully connected layers, made at random and run by a backend alone.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/plan/program.h"
#include "tests/engine/allocation_count.h"
#include "tests/engine/cpu_acc/guarded_memory.h"
#include "tests/engine/reference/random_values.h"

namespace halyard::engine::cpu_test {

using ref_test::RandomValues;
using ref_test::typeOf;
using ref_test::Values;

// A node of x, and constant weights and bias.
struct Layer {
    NodeDescriptor descriptor;
    Values x;
    Values weights;
    Values bias;
    TensorType output;  // of unknown shape
    bool shapeAtRunTime = false;
    std::optional<Values> addend = std::nullopt;  // of the output's type, with its shape
    bool relaxed = false;                         // floats may be rough
    // Of a TransposeConv2d whose padding is not explicit: the extents of its output.
    std::vector<int32_t> outputShape = {};
};

inline Graph graphOf(const Layer& layer) {
    Graph graph;
    graph.setRelaxedFloat(layer.relaxed);
    TensorType x = layer.x.type;
    if (layer.shapeAtRunTime) {
        x.shape[0] = kUnknownDimension;
        x.shape[1] = kUnknownDimension;
    }
    const TensorId input = graph.addTensor(x);
    const auto constant = [&](const Values& values) {
        return graph.addConstant(values.type, {.owner = nullptr, .bytes = values.bytes}).value();
    };
    const TensorId weights = constant(layer.weights);
    const TensorId bias = constant(layer.bias);
    TensorType output = layer.output;
    output.shape = Shape::unknownRank();
    const TensorId result = graph.addTensor(output);
    std::vector<TensorId> inputs = {input, weights, bias};
    if (std::holds_alternative<TransposeConv2d>(layer.descriptor)) {
        inputs.push_back(layer.outputShape.empty()
                                 ? kNoTensor
                                 : constant(ref_test::ints({4}, layer.outputShape)));
    }
    graph.addNode({.descriptor = layer.descriptor,
                   .inputs = inputs,
                   .outputs = {result},
                   .label = "layer",
                   .sources = {0}});
    if (!layer.addend.has_value()) {
        graph.setInputs({input});
        graph.setOutputs({result});
        return graph;
    }
    const TensorId addend = graph.addTensor(layer.addend->type);
    const TensorId sum = graph.addTensor(output);
    graph.addNode({.descriptor = Binary{.function = Binary::Function::ADD},
                   .inputs = {result, addend},
                   .outputs = {sum},
                   .label = "sum",
                   .sources = {1}});
    graph.setInputs({input, addend});
    graph.setOutputs({sum});
    return graph;
}

struct Outcome {
    Values output;
    std::string kernel;      // of the layer
    size_t allocations = 0;  // of a second run, on this thread
};

inline Outcome run(const Layer& layer, const std::unique_ptr<const Backend>& backend,
                   size_t threads) {
    Outcome outcome;
    const std::string name(backend->name());
    const BackendList backends = {backend.get()};
    const Result<std::shared_ptr<const Program>> program =
            Program::build(graphOf(layer), backends, std::make_shared<ThreadPool>(threads));
    if (!program.ok()) {
        ADD_FAILURE() << name << ": " << program.status().toString();
        return outcome;
    }
    outcome.kernel = (*program)->placement().front().kernel;
    Execution execution = Execution::create(*program).value();
    const GuardedMemory input(layer.x.bytes);
    const GuardedMemory other(layer.addend.has_value() ? layer.addend->bytes
                                                       : std::vector<uint8_t>());
    std::vector<InputBinding> in = {{.bytes = input.bytes(), .shape = layer.x.type.shape}};
    if (layer.addend.has_value()) {
        in.push_back({.bytes = other.bytes(), .shape = layer.addend->type.shape});
    }
    // Once without room, for the shape.
    const OutputBinding none = {};
    ExecutionReport report;
    const Status first = execution.run(in, {&none, 1}, {}, &report);
    EXPECT_TRUE(first.ok() || first.code() == StatusCode::OUTPUT_TOO_SMALL) << first.toString();
    outcome.output.type = layer.output;
    outcome.output.type.shape = report.outputs.at(0).shape;
    const GuardedMemory memory(outcome.output.type.byteSize().value());
    const OutputBinding out = {.bytes = memory.bytes()};
    const Status second = execution.run(in, {&out, 1}, {}, &report);
    EXPECT_TRUE(second.ok()) << name << ": " << second.toString();
    const size_t before = allocationCount();
    EXPECT_TRUE(execution.run(in, {&out, 1}, {}, &report).ok());
    outcome.allocations = allocationCount() - before;
    outcome.output.bytes.assign(memory.bytes().begin(), memory.bytes().end());
    return outcome;
}

// Floats are sums in another order, of up to some thousand products below 1, with values around 0
// among them.
inline void expectEqual(const Values& actual, const Values& expected) {
    ASSERT_EQ(actual.type.shape, expected.type.shape);
    if (!isFloat(expected.type.type)) {
        EXPECT_EQ(actual.bytes, expected.bytes);
        return;
    }
    const std::vector<double> a = ref_test::stored(actual);
    const std::vector<double> b = ref_test::stored(expected);
    const double tolerance = expected.type.type == DataType::FLOAT16 ? 2e-3 : 5e-5;
    for (size_t i = 0; i < b.size(); ++i) {
        if (std::isnan(b[i]) || std::isinf(b[i])) {
            ASSERT_TRUE(std::isnan(b[i]) ? std::isnan(a[i]) : a[i] == b[i])
                    << "element " << i << ": " << a[i] << ", not " << b[i];
        } else {
            ASSERT_NEAR(a[i], b[i], tolerance * std::max(1.0, std::abs(b[i]))) << "element " << i;
        }
    }
}

enum class Kind { CONVOLUTION, GROUPED, DEPTHWISE, FULLY_CONNECTED };

// Types of x, weights, bias and output that go together.
struct Types {
    TensorType x, weights, bias, output;
};

inline Types typesFor(RandomValues& random, DataType x, DataType weights, int32_t channels,
                      uint32_t channelDim) {
    if (isFloat(x)) {
        return {typeOf(x, {}), typeOf(x, {}), typeOf(x, {}), typeOf(x, {})};
    }
    Types types;
    types.x = random.quantization(x, 0.02F);
    types.output = random.quantization(x, 0.5F);
    types.bias = typeOf(DataType::INT32, {});
    if (weights == DataType::QUANT8_SYMM_PER_CHANNEL) {
        std::vector<float> scales(static_cast<size_t>(channels));
        for (float& scale : scales) {
            scale = random.real(0.001F, 0.02F);
        }
        types.weights = typeOf(weights, {});
        types.weights.quantization.channelScales = scales;
        types.weights.quantization.channelDim = channelDim;
        return types;
    }
    types.weights = random.quantization(weights, 0.01F);
    types.bias.quantization.scale = types.x.quantization.scale * types.weights.quantization.scale;
    return types;
}

inline Window2d randomWindow(RandomValues& random) {
    Window2d window;
    window.padding = random.coin() ? PaddingScheme::SAME : PaddingScheme::VALID;
    if (random.integer(0, 3) == 0) {
        window.padding = PaddingScheme::EXPLICIT;
        window.top = random.integer(0, 3);
        window.bottom = random.integer(0, 3);
        window.left = random.integer(0, 3);
        window.right = random.integer(0, 3);
    }
    window.strideH = random.integer(1, 3);
    window.strideW = random.integer(1, 3);
    if (random.integer(0, 2) == 0) {
        window.dilationH = random.integer(1, 3);
        window.dilationW = random.integer(1, 3);
    }
    return window;
}

inline Layer randomLayer(RandomValues& random, Kind kind, DataType x, DataType weights) {
    const auto activation = static_cast<Activation>(random.integer(0, 3));
    const bool wide = random.integer(0, 3) == 0;
    const int32_t groups = kind == Kind::GROUPED ? random.integer(2, 4) : 1;
    // Pixels share vectors where a few channels are left for one: all of a part's, or fewer.
    constexpr int32_t kShared[] = {9, 16, 24, 32, 72, 80, 93, 96, 100, 144};
    const int32_t depth = kind == Kind::DEPTHWISE && random.coin()
                                  ? kShared[random.integer(0, std::ssize(kShared) - 1)]
                                  : random.integer(1, wide ? 80 : 20) * groups;
    const int32_t multiplier = random.coin() ? 1 : random.integer(2, 4);
    const int32_t channels = kind == Kind::DEPTHWISE ? depth * multiplier
                                                     : random.integer(1, wide ? 90 : 20) * groups;
    Types types = typesFor(random, x, weights, channels, kind == Kind::DEPTHWISE ? 3 : 0);
    Layer layer;
    types.bias.shape = {channels};
    if (kind == Kind::FULLY_CONNECTED) {
        types.x.shape = {random.integer(1, 40), depth};
        types.weights.shape = {channels, depth};
        layer.descriptor = FullyConnected{.activation = activation};
    } else {
        int32_t filterH = random.integer(1, 5);
        int32_t filterW = random.integer(1, 5);
        if (random.coin()) {  // those that have loops of their own
            filterH = filterW = 1 + 2 * random.integer(0, 2);
        }
        const Window2d window = filterH == 1 && random.coin() ? Window2d() : randomWindow(random);
        types.x.shape = {random.integer(1, 2), random.integer(13, 20), random.integer(13, 34),
                         depth};
        if (kind == Kind::DEPTHWISE) {
            types.weights.shape = {1, filterH, filterW, channels};
            layer.descriptor = DepthwiseConv2d{
                    .window = window, .multiplier = multiplier, .activation = activation};
        } else {
            types.weights.shape = {channels, filterH, filterW, depth / groups};
            layer.descriptor = Conv2d{.window = window, .groups = groups, .activation = activation};
        }
    }
    layer.x = random.values(types.x);
    layer.weights = random.values(types.weights);
    if (isFloat(x)) {
        layer.bias = random.values(types.bias);
    } else {
        std::vector<int32_t> bias(static_cast<size_t>(channels));
        for (int32_t& element : bias) {
            element = random.integer(-20000, 20000);
        }
        layer.bias = ref_test::pack(types.bias, bias);
    }
    layer.output = types.output;
    layer.shapeAtRunTime = random.integer(0, 3) == 0 && kind != Kind::FULLY_CONNECTED;
    return layer;
}

}  // namespace halyard::engine::cpu_test
