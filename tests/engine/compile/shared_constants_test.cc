// SPDX-License-Identifier: Apache-2.0
//
// Constants that several nodes read are kept once, as they are and as they are packed.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/backends/cpu/cpu_acc.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/backends/ref/cpu_ref.h"
#include "engine/compile/compile.h"
#include "tests/engine/reference/random_values.h"

namespace halyard::engine {
namespace {

using ref_test::RandomValues;
using ref_test::typeOf;
using ref_test::Values;

constexpr int32_t kUnits = 64;
constexpr int kLayers = 20;

// How layers come by the one matrix of weights: as converters write it.
enum class Sharing : uint8_t { TENSOR, MEMORY, CONTENT, NOTHING };

// One layer behind the other, each with a bias of zeros of its own.
Graph layers(DataType type, int count, Sharing sharing) {
    RandomValues random;
    Graph graph;
    const float scale = isFloat(type) ? 0.0F : 0.05F;
    TensorId x = graph.addTensor(typeOf(type, {4, kUnits}, scale, 0));
    graph.setInputs({x});
    const auto weights =
            std::make_shared<const Values>(random.values(typeOf(type, {kUnits, kUnits}, scale, 0)));
    TensorId shared = kNoTensor;
    for (int i = 0; i < count; ++i) {
        if (shared == kNoTensor || sharing != Sharing::TENSOR) {
            auto own = weights;
            if (sharing == Sharing::CONTENT) {
                own = std::make_shared<const Values>(*weights);
            } else if (sharing == Sharing::NOTHING) {
                own = std::make_shared<const Values>(random.values(weights->type));
            }
            shared = graph.addConstant(own->type, {.owner = own, .bytes = own->bytes}).value();
        }
        Values bias = isFloat(type) ? Values{.type = typeOf(type, {kUnits}), .bytes = {}}
                                    : ref_test::ints({kUnits}, std::vector<int32_t>(kUnits, 0));
        bias.bytes.resize(*bias.type.byteSize());
        bias.type.quantization.scale = scale * scale;
        const TensorId b =
                graph.addConstant(bias.type, {.owner = nullptr, .bytes = bias.bytes}).value();
        const TensorId y = graph.addTensor(typeOf(type, {4, kUnits}, scale, 0));
        graph.addNode({.descriptor = FullyConnected(),
                       .inputs = {x, shared, b},
                       .outputs = {y},
                       .label = "layer " + std::to_string(i),
                       .sources = {}});
        x = y;
    }
    graph.setOutputs({x});
    return graph;
}

size_t packedBytes(const Backend& backend, const Graph& graph) {
    const auto reference = makeCpuRef();
    const auto program = compile(graph, {&backend, reference.get()});
    EXPECT_TRUE(program.ok()) << program.status().toString();
    return program.ok() ? (*program)->constantBytes() : 0;
}

TEST(SharedConstants, ArePackedOnceForAllLayersThatReadThem) {
    for (const cpu::InstructionSet set : cpu::availableInstructionSets()) {
        const auto backend = makeCpuAcc(set);
        for (const DataType type : {DataType::FLOAT32, DataType::FLOAT16, DataType::QUANT8_ASYMM,
                                    DataType::QUANT8_ASYMM_SIGNED}) {
            const size_t one = packedBytes(*backend, layers(type, 1, Sharing::TENSOR));
            for (const Sharing sharing : {Sharing::TENSOR, Sharing::MEMORY, Sharing::CONTENT}) {
                EXPECT_EQ(packedBytes(*backend, layers(type, kLayers, sharing)), one)
                        << toString(type) << " on " << backend->identity();
            }
            EXPECT_EQ(packedBytes(*backend, layers(type, kLayers, Sharing::NOTHING)),
                      kLayers * one);
        }
    }
}

}  // namespace
}  // namespace halyard::engine
