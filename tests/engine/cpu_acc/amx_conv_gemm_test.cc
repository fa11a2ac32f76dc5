// SPDX-License-Identifier: Apache-2.0
//
// Layers of bytes by products of tiles against CpuRef. Few processors multiply tiles: on all of
// them the kernel's own source runs here with made-up tile instructions, and where the processor
// has them, with those.

#include "engine/backends/cpu/gemm/amx_conv_gemm.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/backends/cpu/cpu_acc.h"
#include "engine/backends/cpu/gemm/conv_gemm.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/backends/ref/cpu_ref.h"
#include "tests/engine/cpu_acc/emulated_tiles.h"
#include "tests/engine/cpu_acc/gemms_alone.h"
#include "tests/engine/cpu_acc/tile_unit.h"
#include "tests/engine/cpu_acc/weighted_layer.h"

namespace halyard::engine {
namespace {

using cpu::InstructionSet;
using cpu_test::Kind;
using cpu_test::Layer;
using cpu_test::Outcome;
using cpu_test::TileUnit;
using cpu_test::Types;
using ref_test::RandomValues;
using ref_test::Values;

// Computes every layer by tiles, worthwhile or not, that the test makes up.
std::unique_ptr<const Backend> emulated(InstructionSet set) {
    return std::make_unique<cpu_test::ProductsAlone>(
            set, [set](cpu::ConvGemmDefinition definition, const KernelArguments& own) {
                return cpu::compileAmxConvGemm(std::move(definition), own,
                                               cpu::emulatedAmxInt8Gemm(set), "emulated");
            });
}

void expectTilesAgree(const Layer& layer) {
    const Outcome expected = cpu_test::run(layer, makeCpuRef(), 1);
    for (const InstructionSet set : cpu::availableInstructionSets()) {
        for (const size_t threads : {size_t{1}, size_t{3}}) {
            SCOPED_TRACE(std::string(toString(set)) + ", threads: " + std::to_string(threads));
            const Outcome actual = cpu_test::run(layer, emulated(set), threads);
            cpu_test::expectEqual(actual.output, expected.output);
            EXPECT_EQ(actual.allocations, 0U);
        }
    }
}

struct TypesCase {
    const char* name;
    DataType x;
    DataType weights;
};
constexpr TypesCase kTypes[] = {
        {"Unsigned", DataType::QUANT8_ASYMM, DataType::QUANT8_ASYMM},
        {"UnsignedPerChannel", DataType::QUANT8_ASYMM, DataType::QUANT8_SYMM_PER_CHANNEL},
        {"Signed", DataType::QUANT8_ASYMM_SIGNED, DataType::QUANT8_ASYMM_SIGNED},
        {"SignedPerChannel", DataType::QUANT8_ASYMM_SIGNED, DataType::QUANT8_SYMM_PER_CHANNEL},
};

// A convolution of a feature map, with its extents.
struct FeatureMap {
    int32_t batches = 1, height = 1, width = 1, depth = 1;
    int32_t channels = 1;
    int32_t side = 1;  // of the filter
    int32_t stride = 1;
    int32_t groups = 1;
    int32_t dilation = 1;
};

Layer layerOf(RandomValues& random, const TypesCase& types, const FeatureMap& featureMap) {
    Types tensors = cpu_test::typesFor(random, types.x, types.weights, featureMap.channels, 0);
    Layer layer;
    layer.descriptor = Conv2d{.window = {.padding = PaddingScheme::SAME,
                                         .strideH = featureMap.stride,
                                         .strideW = featureMap.stride,
                                         .dilationH = featureMap.dilation,
                                         .dilationW = featureMap.dilation},
                              .groups = featureMap.groups,
                              .activation = static_cast<Activation>(random.integer(0, 3))};
    tensors.x.shape = {featureMap.batches, featureMap.height, featureMap.width, featureMap.depth};
    tensors.weights.shape = {featureMap.channels, featureMap.side, featureMap.side,
                             featureMap.depth / featureMap.groups};
    tensors.bias.shape = {featureMap.channels};
    std::vector<int32_t> bias(static_cast<size_t>(featureMap.channels));
    for (int32_t& element : bias) {
        element = random.integer(-20000, 20000);
    }
    layer.x = random.values(tensors.x);
    layer.weights = random.values(tensors.weights);
    layer.bias = ref_test::pack(tensors.bias, bias);
    layer.output = tensors.output;
    return layer;
}

// Twice the layer, of one input, their sum, and what another layer makes of that.
Graph twoOf(const Layer& layer, const Values& lastWeights) {
    Graph graph;
    const TensorId x = graph.addTensor(layer.x.type);
    TensorType type = layer.output;
    type.shape = Shape::unknownRank();
    const auto constant = [&](const Values& values) {
        return graph.addConstant(values.type, {.owner = nullptr, .bytes = values.bytes}).value();
    };
    const auto add = [&](NodeDescriptor descriptor, std::vector<TensorId> inputs) {
        const TensorId output = graph.addTensor(type);
        graph.addNode({.descriptor = std::move(descriptor),
                       .inputs = std::move(inputs),
                       .outputs = {output},
                       .label = "node",
                       .sources = {}});
        return output;
    };
    const TensorId addend =
            add(layer.descriptor, {x, constant(layer.weights), constant(layer.bias)});
    const TensorId last = add(layer.descriptor, {x, constant(layer.weights), constant(layer.bias)});
    const TensorId sum = add(Binary{.function = Binary::Function::ADD}, {last, addend});
    graph.setInputs({x});
    graph.setOutputs({add(Conv2d{}, {sum, constant(lastWeights), constant(layer.bias)})});
    return graph;
}

std::vector<uint8_t> outputOf(const Graph& graph, const Layer& layer,
                              const std::unique_ptr<const Backend>& backend, size_t threads) {
    const auto reference = makeCpuRef();
    const auto program = Program::build(graph, {backend.get(), reference.get()},
                                        std::make_shared<ThreadPool>(threads));
    EXPECT_TRUE(program.ok()) << program.status().toString();
    Execution execution = Execution::create(*program).value();
    TensorType type = layer.output;
    type.shape = layer.x.type.shape;
    type.shape[3] = layer.bias.type.shape[0];
    std::vector<uint8_t> output(type.byteSize().value());
    const InputBinding in = {.bytes = layer.x.bytes, .shape = layer.x.type.shape};
    const OutputBinding out = {.bytes = output};
    ExecutionReport report;
    const Status status = execution.run({&in, 1}, {&out, 1}, {}, &report);
    EXPECT_TRUE(status.ok()) << status.toString();
    return output;
}

class AmxConvGemms : public testing::TestWithParam<TypesCase> {
  protected:
    void check(const FeatureMap& featureMap) {
        expectTilesAgree(layerOf(mRandom, GetParam(), featureMap));
    }
    void checkRandom(Kind kind, int rounds) {
        for (int round = 0; round < rounds && !HasFailure(); ++round) {
            const Layer layer =
                    cpu_test::randomLayer(mRandom, kind, GetParam().x, GetParam().weights);
            SCOPED_TRACE("round " + std::to_string(round) + ": x " + layer.x.type.toString() +
                         ", weights " + layer.weights.type.shape.toString());
            expectTilesAgree(layer);
        }
    }

    RandomValues mRandom;
    testing::ScopedTrace mTrace = {__FILE__, __LINE__, mRandom.seedText()};
};

TEST_P(AmxConvGemms, OfRowsThatAreCopiedAreTheReferences) {
    checkRandom(Kind::CONVOLUTION, 4);
    checkRandom(Kind::GROUPED, 3);
    checkRandom(Kind::FULLY_CONNECTED, 6);
}

// Of whole tiles of depth and more rows than one has: in the feature map itself, with a last tile
// that begins before the last one's end, and with a last row that ends where the feature map does.
TEST_P(AmxConvGemms, OfRowsInPlaceAreTheReferences) {
    for (const auto& [height, width] : {std::pair(4, 4), std::pair(1, 17), std::pair(7, 7)}) {
        for (const int32_t channels : {16, 32, 41, 64, 70}) {
            SCOPED_TRACE(std::to_string(width) + ", " + std::to_string(channels));
            check({.height = height, .width = width, .depth = 64, .channels = channels});
        }
    }
}

// So many that threads share them, where the last unit has fewer than a tile.
TEST_P(AmxConvGemms, OfFewRowsLeftAreTheReferences) {
    check({.height = 7, .width = 439, .depth = 64, .channels = 16});
}

// Lines that are padded, and count as one.
TEST_P(AmxConvGemms, OfWindowsInPlaceAreTheReferences) {
    check({.batches = 2, .height = 9, .width = 15, .depth = 64, .channels = 24, .side = 3});
    check({.height = 2, .width = 30, .depth = 128, .channels = 33, .side = 3});
    check({.height = 40, .width = 20, .depth = 64, .channels = 16, .side = 3});
}

TEST_P(AmxConvGemms, OfStridesAreTheReferences) {
    check({.height = 14, .width = 14, .depth = 64, .channels = 40, .stride = 2});
    check({.height = 15, .width = 13, .depth = 64, .channels = 48, .side = 3, .stride = 2});
    check({.height = 21, .width = 23, .depth = 3, .channels = 32, .side = 7, .stride = 2});
}

// Of whole tiles of depth, so that strips have phases.
TEST_P(AmxConvGemms, OfPhasesAreTheReferences) {
    check({.height = 13, .width = 14, .depth = 64, .channels = 33, .side = 3, .stride = 2});
    check({.batches = 2,
           .height = 16,
           .width = 19,
           .depth = 64,
           .channels = 24,
           .side = 5,
           .stride = 3});
    check({.height = 9,
           .width = 17,
           .depth = 128,
           .channels = 40,
           .side = 3,
           .stride = 2,
           .groups = 2});
    check({.height = 19,
           .width = 18,
           .depth = 64,
           .channels = 20,
           .side = 3,
           .stride = 2,
           .dilation = 3});
    check({.height = 40, .width = 40, .depth = 64, .channels = 16, .side = 2, .stride = 2});
}

// For three tiles and for four, which are multiplied at once, and by more rows than lie next to the
// registers then.
TEST_P(AmxConvGemms, OfTallTilesAreTheReferences) {
    for (const int32_t height : {3, 4, 5}) {
        SCOPED_TRACE(height);
        check({.height = height, .width = 12, .depth = 64, .channels = 150});
        check({.height = height, .width = 12, .depth = 72, .channels = 150});
    }
    check({.height = 6, .width = 8, .depth = 960, .channels = 40});
}

// Groups of 64 columns, which wait until the next ones are in work: of rows next to unwanted ones,
// of several chunks of panels, before groups of fewer columns or rows, and, where rows are copied
// in parts, before a part of four tiles.
TEST_P(AmxConvGemms, OfGroupsThatWaitAreTheReferences) {
    check({.height = 6, .width = 15, .depth = 64, .channels = 128});
    check({.height = 7, .width = 11, .depth = 192, .channels = 120});
    check({.height = 9, .width = 14, .depth = 64, .channels = 64, .side = 3});
    check({.height = 3, .width = 32, .depth = 640, .channels = 256});
    check({.height = 10, .width = 16, .depth = 500, .channels = 128});
}

TEST_P(AmxConvGemms, OfGroupsInPlaceAreTheReferences) {
    check({.height = 6, .width = 7, .depth = 128, .channels = 40, .side = 3, .groups = 2});
}

// All but those of a block's first step, however deep it is: of two tiles of rows, and of four.
TEST_P(AmxConvGemms, ZeroTilesBehindTheirLastProduct) {
    for (const int32_t rows : {32, 64}) {
        std::vector<TileUnit::Loads> loads;
        for (const int32_t depth : {128, 320}) {
            const Layer layer =
                    layerOf(mRandom, GetParam(),
                            {.height = 1, .width = rows, .depth = depth, .channels = 128});
            TileUnit::ofThread().takeLoads();
            cpu_test::run(layer, emulated(cpu::availableInstructionSets().back()), 1);
            loads.push_back(TileUnit::ofThread().takeLoads());
        }
        EXPECT_LT(loads[0].overFree, loads[1].overFree);
        EXPECT_EQ(loads[0].overLoaded, loads[1].overLoaded) << rows << " rows";
    }
}

// Several chunks of panels, the last of them short; and weights that columns are cut for.
TEST_P(AmxConvGemms, OfManyWeightsAreTheReferences) {
    check({.height = 3, .width = 6, .depth = 1024, .channels = 272});
    check({.height = 7, .width = 7, .depth = 192, .channels = 180, .side = 3});
}

TEST_P(AmxConvGemms, AreAddedToWhatLiesBesideThem) {
    for (const FeatureMap& featureMap :
         {FeatureMap{.height = 7, .width = 9, .depth = 24, .channels = 50},
          FeatureMap{.height = 7, .width = 9, .depth = 64, .channels = 50},
          FeatureMap{.height = 6, .width = 15, .depth = 64, .channels = 128},
          FeatureMap{.height = 7, .width = 11, .depth = 72, .channels = 192}}) {
        Layer layer = layerOf(mRandom, GetParam(), featureMap);
        TensorType addend = layer.output;
        addend.shape = {1, featureMap.height, featureMap.width, featureMap.channels};
        layer.addend = mRandom.values(addend);
        expectTilesAgree(layer);
    }
}

// The sum lies where the addend did, which is another layer's result: rows that two tiles share are
// added once.
TEST_P(AmxConvGemms, ReplaceWhatTheyAreAddedTo) {
    for (const auto& [height, width] : {std::pair(7, 7), std::pair(14, 15), std::pair(3, 11)}) {
        for (const int32_t channels : {64, 80}) {
            SCOPED_TRACE(std::to_string(width) + ", " + std::to_string(channels));
            const Layer layer =
                    layerOf(mRandom, GetParam(),
                            {.height = height, .width = width, .depth = 64, .channels = channels});
            TensorType lastWeights = layer.weights.type;
            lastWeights.shape = {channels, 1, 1, channels};
            const Graph graph = twoOf(layer, mRandom.values(lastWeights));
            const std::vector<uint8_t> expected = outputOf(graph, layer, makeCpuRef(), 1);
            for (const InstructionSet set : cpu::availableInstructionSets()) {
                for (const size_t threads : {size_t{1}, size_t{3}}) {
                    EXPECT_EQ(outputOf(graph, layer, emulated(set), threads), expected)
                            << toString(set) << ", threads: " << threads;
                }
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(, AmxConvGemms, testing::ValuesIn(kTypes),
                         [](const testing::TestParamInfo<TypesCase>& instance) {
                             return instance.param.name;
                         });

// Sums wrap modulo 2^32, and biases may be anything.
TEST(AmxConvGemmsOfBytes, AreExactAtTheEndsOfTheirRange) {
    for (const int32_t x : {0, 255}) {
        for (const int32_t w : {-128, 127}) {
            Layer layer;
            layer.descriptor = FullyConnected{};
            const int32_t depth = 4000;
            layer.x = ref_test::quantized(
                    ref_test::typeOf(DataType::QUANT8_ASYMM, {17, depth}, 1.0F, 255 - x),
                    std::vector<int32_t>(size_t{17} * depth, x));
            layer.weights = ref_test::quantized(
                    ref_test::typeOf(DataType::QUANT8_ASYMM_SIGNED, {3, depth}, 1.0F, 0),
                    std::vector<int32_t>(size_t{3} * depth, w));
            layer.bias = ref_test::ints({3}, {0, 1, -1});
            layer.output = ref_test::typeOf(DataType::QUANT8_ASYMM, {}, 1.0e6F, 128);
            expectTilesAgree(layer);
        }
    }
}

// ---- Which layers -------------------------------------------------------------------------------

// The kernel that CpuAcc chooses for the layer.
std::string kernelOf(const Layer& layer, InstructionSet set) {
    const auto backend = makeCpuAcc(set);
    return Program::build(cpu_test::graphOf(layer), {backend.get()}, nullptr)
            .value()
            ->placement()
            .front()
            .kernel;
}

// Kernels can be chosen on processors that can't run them.
TEST(AmxConvGemmsOfCpuAcc, AreThoseThatPay) {
    constexpr InstructionSet kSet = InstructionSet::AVX512_AMX;
    const cpu::AmxInt8Gemm* const tiles = cpu::amxInt8Gemm(kSet);
    if (tiles == nullptr) {
        GTEST_SKIP() << "no processor of this architecture has AMX";
    }
    RandomValues random;
    const auto takesTiles = [&](const FeatureMap& featureMap, bool shapeAtRunTime = false) {
        Layer layer = layerOf(random, kTypes[3], featureMap);
        layer.shapeAtRunTime = shapeAtRunTime;
        return kernelOf(layer, kSet).find(tiles->tile) != std::string::npos;
    };
    const FeatureMap featureMap = {
            .height = 14, .width = 14, .depth = 64, .channels = 64, .side = 3};
    EXPECT_TRUE(takesTiles(featureMap));
    EXPECT_FALSE(takesTiles(featureMap, true)) << "there may be one row";
    EXPECT_TRUE(takesTiles({.height = 4, .width = 4, .depth = 512, .channels = 64}));
    EXPECT_FALSE(takesTiles({.height = 1, .width = 1, .depth = 512, .channels = 64}));
    EXPECT_FALSE(takesTiles({.height = 56, .width = 56, .depth = 24, .channels = 144}))
            << "sums of little depth are soon multiplied";
}

// Sums times more than a half may be more than 32 bits hold.
TEST(AmxConvGemmsOfCpuAcc, HaveSmallMultipliers) {
    constexpr InstructionSet kSet = InstructionSet::AVX512_AMX;
    if (cpu::amxInt8Gemm(kSet) == nullptr) {
        GTEST_SKIP() << "no processor of this architecture has AMX";
    }
    RandomValues random;
    for (const auto& [scale, takesTiles] : {std::pair(0.25F, true), std::pair(1.0F, false)}) {
        Layer layer = layerOf(random, kTypes[3],
                              {.height = 14, .width = 14, .depth = 64, .channels = 64, .side = 3});
        std::vector<float> scales(64, 0.001F);
        scales.back() = scale;
        layer.weights.type.quantization.channelScales = scales;
        layer.x.type.quantization.scale = 1.0F;
        layer.output.quantization.scale = 1.0F;
        EXPECT_EQ(kernelOf(layer, kSet).find("32x32") != std::string::npos, takesTiles) << scale;
    }
}

TEST(AmxConvGemmsOfThisProcessor, AreTheReferences) {
    if (cpu::bestInstructionSet() != InstructionSet::AVX512_AMX) {
        GTEST_SKIP() << "this processor has no AMX for bytes, or the system refuses it";
    }
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const TypesCase& types : kTypes) {
        for (const FeatureMap& featureMap :
             {FeatureMap{.height = 56, .width = 56, .depth = 64, .channels = 64, .side = 3},
              FeatureMap{.height = 28, .width = 28, .depth = 128, .channels = 512},
              FeatureMap{.batches = 2, .height = 14, .width = 14, .depth = 96, .channels = 200},
              FeatureMap{.height = 7, .width = 7, .depth = 512, .channels = 512, .side = 3},
              FeatureMap{.height = 28, .width = 28, .depth = 256, .channels = 72, .stride = 2},
              FeatureMap{.height = 112,
              .width = 112,
              .depth = 3,
              .channels = 64,
              .side = 7,
              .stride = 2}}) {
            const Layer layer = layerOf(random, types, featureMap);
            EXPECT_NE(kernelOf(layer, InstructionSet::AVX512_AMX).find("avx512amx"),
                      std::string::npos);
            const Outcome expected = cpu_test::run(layer, makeCpuRef(), 1);
            for (const size_t threads : {size_t{1}, size_t{2}, size_t{3}}) {
                const Outcome actual =
                        cpu_test::run(layer, makeCpuAcc(InstructionSet::AVX512_AMX), threads);
                cpu_test::expectEqual(actual.output, expected.output);
            }
        }
    }
}

}  // namespace
}  // namespace halyard::engine
