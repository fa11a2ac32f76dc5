// SPDX-License-Identifier: Apache-2.0
//
// CpuAcc's convolutions and fully connected layers against CpuRef's, in every form that this
// processor runs.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/backends/cpu/cpu_acc.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/backends/ref/cpu_ref.h"
#include "engine/plan/program.h"
#include "tests/engine/allocation_count.h"
#include "tests/engine/cpu_acc/guarded_memory.h"
#include "tests/engine/reference/random_values.h"

namespace halyard::engine {
namespace {

using cpu::InstructionSet;
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
};

Graph graphOf(const Layer& layer) {
    Graph graph;
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
    graph.addNode({.descriptor = layer.descriptor,
                   .inputs = {input, weights, bias},
                   .outputs = {result},
                   .label = "layer",
                   .sources = {0}});
    graph.setInputs({input});
    graph.setOutputs({result});
    return graph;
}

struct Outcome {
    Values output;
    size_t allocations = 0;  // of a second run, on this thread
};

Outcome run(const Layer& layer, const std::unique_ptr<const Backend>& backend, size_t threads) {
    Outcome outcome;
    const std::string name(backend->name());
    const BackendList backends = {backend.get()};
    const Result<std::shared_ptr<const Program>> program =
            Program::build(graphOf(layer), backends, std::make_shared<ThreadPool>(threads));
    if (!program.ok()) {
        ADD_FAILURE() << name << ": " << program.status().toString();
        return outcome;
    }
    Execution execution = Execution::create(*program).value();
    const GuardedMemory input(layer.x.bytes);
    const InputBinding in = {.bytes = input.bytes(), .shape = layer.x.type.shape};
    // Once without room, for the shape.
    const OutputBinding none = {};
    ExecutionReport report;
    const Status first = execution.run({&in, 1}, {&none, 1}, {}, &report);
    EXPECT_TRUE(first.ok() || first.code() == StatusCode::OUTPUT_TOO_SMALL) << first.toString();
    outcome.output.type = layer.output;
    outcome.output.type.shape = report.outputs.at(0).shape;
    const GuardedMemory memory(outcome.output.type.byteSize().value());
    const OutputBinding out = {.bytes = memory.bytes()};
    const Status second = execution.run({&in, 1}, {&out, 1}, {}, &report);
    EXPECT_TRUE(second.ok()) << name << ": " << second.toString();
    const size_t before = allocationCount();
    EXPECT_TRUE(execution.run({&in, 1}, {&out, 1}, {}, &report).ok());
    outcome.allocations = allocationCount() - before;
    outcome.output.bytes.assign(memory.bytes().begin(), memory.bytes().end());
    return outcome;
}

// Floats are sums in another order, of up to some thousand products below 1, with values around 0
// among them.
void expectEqual(const Values& actual, const Values& expected) {
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

void expectSameAsReference(const Layer& layer) {
    const Outcome expected = run(layer, makeCpuRef(), 1);
    for (const InstructionSet set : cpu::availableInstructionSets()) {
        for (const size_t threads : {size_t{1}, size_t{3}}) {
            SCOPED_TRACE(std::string(toString(set)) + ", threads: " + std::to_string(threads));
            const Outcome actual = run(layer, makeCpuAcc(set), threads);
            expectEqual(actual.output, expected.output);
            EXPECT_EQ(actual.allocations, 0U);
        }
    }
}

enum class Kind { CONVOLUTION, GROUPED, DEPTHWISE, FULLY_CONNECTED };

// Types of x, weights, bias and output that go together.
struct Types {
    TensorType x, weights, bias, output;
};

Types typesFor(RandomValues& random, DataType x, DataType weights, int32_t channels,
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

Window2d randomWindow(RandomValues& random) {
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

Layer randomLayer(RandomValues& random, Kind kind, DataType x, DataType weights) {
    const auto activation = static_cast<Activation>(random.integer(0, 3));
    const bool wide = random.integer(0, 3) == 0;
    const int32_t groups = kind == Kind::GROUPED ? random.integer(2, 4) : 1;
    // 32 channels have a loop of their own.
    const int32_t depth = kind == Kind::DEPTHWISE && random.integer(0, 3) == 0
                                  ? 32
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

struct Case {
    const char* name;
    DataType x;
    DataType weights;
};

class WeightedSums : public testing::TestWithParam<Case> {
  protected:
    void check(Kind kind, int rounds) {
        RandomValues random;
        SCOPED_TRACE(random.seedText());
        for (int round = 0; round < rounds && !HasFailure(); ++round) {
            const Layer layer = randomLayer(random, kind, GetParam().x, GetParam().weights);
            SCOPED_TRACE("round " + std::to_string(round) + ": x " + layer.x.type.toString() +
                         ", weights " + layer.weights.type.shape.toString());
            expectSameAsReference(layer);
        }
    }
};

TEST_P(WeightedSums, OfConvolutionsAreTheReferences) {
    check(Kind::CONVOLUTION, 12);
}

TEST_P(WeightedSums, OfGroupsAreTheReferences) {
    check(Kind::GROUPED, 8);
}

TEST_P(WeightedSums, OfDepthwiseConvolutionsAreTheReferences) {
    check(Kind::DEPTHWISE, 12);
}

TEST_P(WeightedSums, OfFullyConnectedLayersAreTheReferences) {
    check(Kind::FULLY_CONNECTED, 12);
}

INSTANTIATE_TEST_SUITE_P(
        , WeightedSums,
        testing::Values(Case{"Float32", DataType::FLOAT32, DataType::FLOAT32},
                        Case{"Float16", DataType::FLOAT16, DataType::FLOAT16},
                        Case{"Unsigned", DataType::QUANT8_ASYMM, DataType::QUANT8_ASYMM},
                        Case{"UnsignedPerChannel", DataType::QUANT8_ASYMM,
                             DataType::QUANT8_SYMM_PER_CHANNEL},
                        Case{"Signed", DataType::QUANT8_ASYMM_SIGNED,
                             DataType::QUANT8_ASYMM_SIGNED},
                        Case{"SignedPerChannel", DataType::QUANT8_ASYMM_SIGNED,
                             DataType::QUANT8_SYMM_PER_CHANNEL}),
        [](const testing::TestParamInfo<Case>& instance) { return instance.param.name; });

// The bytes that sums are largest and smallest for, as long as 32 bits hold them.
TEST(WeightedSumsOfBytes, AreExactAtTheEndsOfTheirRange) {
    for (const int32_t x : {0, 255}) {
        for (const int32_t w : {-128, 127}) {
            Layer layer;
            layer.descriptor = FullyConnected{};
            const int32_t depth = 4000;
            layer.x = ref_test::quantized(typeOf(DataType::QUANT8_ASYMM, {2, depth}, 1.0F, 255 - x),
                                          std::vector<int32_t>(size_t{2} * depth, x));
            layer.weights =
                    ref_test::quantized(typeOf(DataType::QUANT8_ASYMM_SIGNED, {3, depth}, 1.0F, 0),
                                        std::vector<int32_t>(size_t{3} * depth, w));
            layer.bias = ref_test::ints({3}, {0, 1, -1});
            layer.output = typeOf(DataType::QUANT8_ASYMM, {}, 1.0e6F, 128);
            expectSameAsReference(layer);
        }
    }
}

// Lines that are half as long as a tile of some instruction set: two of them are one.
TEST(WeightedSumsOfFloats, OfShortLinesAreTheReferences) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const int32_t width : {3, 4, 7}) {
        for (const int32_t height : {1, 2, 5}) {
            SCOPED_TRACE(std::to_string(height) + "x" + std::to_string(width));
            Layer layer;
            layer.descriptor = Conv2d{.window = {.padding = PaddingScheme::SAME}};
            layer.x = random.values(typeOf(DataType::FLOAT32, {2, height, width, 5}));
            layer.weights = random.values(typeOf(DataType::FLOAT32, {50, 3, 3, 5}));
            layer.bias = random.values(typeOf(DataType::FLOAT32, {50}));
            layer.output = typeOf(DataType::FLOAT32, {});
            expectSameAsReference(layer);
        }
    }
}

// Pictures of which much is edge; the tallest is cut, and so are 150 channels.
TEST(WeightedSumsOfFloats, OfSmallPicturesAreTheReferences) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const int32_t side : {3, 5}) {
        for (const int32_t stride : {1, 2}) {
            for (const auto& [height, width, channels] :
                 {std::array{7, 7, 150}, std::array{5, 12, 16}, std::array{60, 14, 37}}) {
                SCOPED_TRACE("side " + std::to_string(side) + ", stride " + std::to_string(stride) +
                             ", height " + std::to_string(height));
                Window2d window = randomWindow(random);
                window.strideH = stride;
                window.strideW = 3 - stride;
                window.dilationH = window.dilationW = 1;
                Layer layer;
                layer.descriptor =
                        DepthwiseConv2d{.window = window, .activation = Activation::RELU6};
                layer.x = random.values(typeOf(DataType::FLOAT32, {2, height, width, channels}));
                layer.weights = random.values(typeOf(DataType::FLOAT32, {1, side, side, channels}));
                layer.bias = random.values(typeOf(DataType::FLOAT32, {channels}));
                layer.output = typeOf(DataType::FLOAT32, {});
                expectSameAsReference(layer);
            }
        }
    }
}

// More weights than there is to multiply with them: threads share the columns.
TEST(WeightedSumsOfManyWeights, AreTheReferencesForFewRows) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const auto& [x, weights] :
         {std::pair(DataType::FLOAT32, DataType::FLOAT32),
          std::pair(DataType::QUANT8_ASYMM_SIGNED, DataType::QUANT8_SYMM_PER_CHANNEL)}) {
        for (const int32_t side : {1, 3}) {
            for (const int32_t rows : {1, 5, 9}) {
                SCOPED_TRACE(std::to_string(side) + ", rows " + std::to_string(rows));
                constexpr int32_t kDepth = 130;
                constexpr int32_t kChannels = 1001;
                Types types = typesFor(random, x, weights, kChannels, 0);
                types.x.shape = {1, rows, 7, kDepth};
                types.weights.shape = {kChannels, side, side, kDepth};
                types.bias.shape = {kChannels};
                Layer layer;
                layer.descriptor = Conv2d{.window = {.padding = PaddingScheme::SAME}};
                layer.x = random.values(types.x);
                layer.weights = random.values(types.weights);
                layer.bias = isFloat(x)
                                     ? random.values(types.bias)
                                     : ref_test::pack(types.bias, std::vector<int32_t>(kChannels));
                layer.output = types.output;
                expectSameAsReference(layer);
            }
        }
    }
}

// What does not lie on the input is no zero either: it would make a NaN of an infinite weight.
TEST(WeightedSumsOfFloats, LeaveOutInfiniteWeightsBesideTheInput) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const int32_t side : {3, 5}) {
        Layer layer;
        layer.descriptor = DepthwiseConv2d{.window = {.padding = PaddingScheme::SAME}};
        std::vector<float> weights(static_cast<size_t>(side * side * 20), 0.5F);
        weights[3] = INFINITY;
        layer.x = random.values(typeOf(DataType::FLOAT32, {1, 7, 7, 20}));
        layer.weights = ref_test::floats({1, side, side, 20}, weights);
        layer.bias = random.values(typeOf(DataType::FLOAT32, {20}));
        layer.output = typeOf(DataType::FLOAT32, {});
        expectSameAsReference(layer);
        for (const DataType type : {DataType::FLOAT32, DataType::FLOAT16}) {
            std::vector<float> filters(static_cast<size_t>(12 * side * side * 4), 0.5F);
            filters[0] = INFINITY;
            filters.back() = std::nanf("");
            for (const auto& window :
                 {Window2d{.padding = PaddingScheme::SAME},
                  Window2d{.padding = PaddingScheme::EXPLICIT, .left = 1, .strideW = 2}}) {
                layer.descriptor = Conv2d{.window = window};
                layer.x = random.values(typeOf(type, {1, 7, 7, 4}));
                layer.weights = type == DataType::FLOAT32
                                        ? ref_test::floats({12, side, side, 4}, filters)
                                        : ref_test::halves({12, side, side, 4}, filters);
                layer.bias = random.values(typeOf(type, {12}));
                layer.output = typeOf(type, {});
                expectSameAsReference(layer);
            }
        }
    }
}

// With weights as they are, what does not lie on the input takes no part, and what does goes
// through as IEEE 754 has it.
TEST(WeightedSumsOfFloats, PassOnWhatIsNoNumber) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const float special : {std::nanf(""), INFINITY, -INFINITY}) {
        for (const auto activation : {Activation::NONE, Activation::RELU, Activation::RELU6}) {
            Layer layer;
            layer.descriptor =
                    Conv2d{.window = {.padding = PaddingScheme::SAME}, .activation = activation};
            std::vector<float> x(size_t{9} * 9 * 4, 1.0F);
            x[size_t{4} * 40] = special;
            layer.x = ref_test::floats({1, 9, 9, 4}, x);
            layer.weights = random.values(typeOf(DataType::FLOAT32, {20, 3, 3, 4}));
            layer.bias = random.values(typeOf(DataType::FLOAT32, {20}));
            layer.output = typeOf(DataType::FLOAT32, {});
            expectSameAsReference(layer);
            layer.descriptor = DepthwiseConv2d{.window = {.padding = PaddingScheme::SAME},
                                               .activation = activation};
            layer.weights = random.values(typeOf(DataType::FLOAT32, {1, 3, 3, 4}));
            layer.bias = random.values(typeOf(DataType::FLOAT32, {4}));
            expectSameAsReference(layer);
        }
    }
}

TEST(WeightedSumsWithoutElements, AreComputed) {
    RandomValues random;
    for (const DataType type : {DataType::FLOAT32, DataType::QUANT8_ASYMM}) {
        Layer layer;
        layer.descriptor = Conv2d{.window = {.padding = PaddingScheme::SAME}};
        Types types = typesFor(random, type, type, 5, 0);
        types.x.shape = {0, 6, 6, 3};
        types.weights.shape = {5, 3, 3, 3};
        types.bias.shape = {5};
        layer.x = random.values(types.x);
        layer.weights = random.values(types.weights);
        layer.bias = isFloat(type) ? random.values(types.bias)
                                   : ref_test::pack(types.bias, std::vector<int32_t>(5));
        layer.output = types.output;
        expectSameAsReference(layer);
    }
}

}  // namespace
}  // namespace halyard::engine
