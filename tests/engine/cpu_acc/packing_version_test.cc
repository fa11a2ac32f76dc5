// SPDX-License-Identifier: Apache-2.0
//
// CpuAcc's packed constants are part of saved programs. Where their bytes change, so do
// kPackingVersion (cpu_acc.cc) and the values expected here: otherwise programs that were saved
// before would be read wrongly.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "engine/backends/cpu/cpu_acc.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/base/checksum.h"
#include "engine/plan/program.h"
#include "tests/engine/base/file_bytes.h"
#include "tests/engine/graph_building.h"
#include "tests/engine/plan/running.h"

namespace halyard::engine {
namespace {

TensorType bytesOf(Shape shape, float scale, int32_t zeroPoint) {
    return {.type = DataType::QUANT8_ASYMM,
            .shape = shape,
            .quantization = {.scale = scale, .zeroPoint = zeroPoint, .channelScales = {}}};
}

template <typename T>
TensorId addCounting(Graph& graph, TensorType type, T step = 1) {
    std::vector<T> elements(static_cast<size_t>(type.shape.elementCount().value()));
    for (size_t i = 0; i < elements.size(); ++i) {
        elements[i] = static_cast<T>(i % 13) * step;
    }
    return addConstant(graph, std::move(type), elements);
}

void add(Graph& graph, NodeDescriptor descriptor, std::vector<TensorId> inputs, TensorType output) {
    output.shape = Shape::unknownRank();
    const TensorId result = graph.addTensor(output);
    graph.addNode({.descriptor = std::move(descriptor),
                   .inputs = std::move(inputs),
                   .outputs = {result},
                   .label = "node",
                   .sources = {}});
    std::vector<TensorId> outputs(graph.outputs().begin(), graph.outputs().end());
    outputs.push_back(result);
    graph.setOutputs(std::move(outputs));
}

// A product and a depthwise convolution, of floats and of bytes, and a product with bfloat16.
Graph packingGraph() {
    Graph graph;
    const TensorId x = graph.addTensor(float32({2, 6}));
    const TensorId featureMap = graph.addTensor(float32({1, 5, 5, 6}));
    const TensorType bytes = bytesOf({2, 6}, 0.5F, 3);
    const TensorType byteFeatureMap = bytesOf({1, 5, 5, 6}, 0.5F, 3);
    const TensorId y = graph.addTensor(bytes);
    const TensorId otherFeatureMap = graph.addTensor(byteFeatureMap);
    const TensorType bias = {.type = DataType::INT32,
                             .shape = {7},
                             .quantization = {.scale = 0.125F, .channelScales = {}}};
    TensorType narrowBias = bias;
    narrowBias.shape = {6};
    constexpr float kNoBfloats = 0x1.0001p0F;
    for (const float step : {kNoBfloats, 1.0F}) {
        add(graph, FullyConnected(),
            {x, addCounting<float>(graph, float32({7, 6}), step),
             addCounting<float>(graph, float32({7}))},
            float32({}));
    }
    add(graph, DepthwiseConv2d(),
        {featureMap, addCounting<float>(graph, float32({1, 3, 3, 6})),
         addCounting<float>(graph, float32({6}))},
        float32({}));
    add(graph, FullyConnected(),
        {y, addCounting<uint8_t>(graph, bytesOf({7, 6}, 0.25F, 5)),
         addCounting<int32_t>(graph, bias)},
        bytes);
    add(graph, DepthwiseConv2d(),
        {otherFeatureMap, addCounting<uint8_t>(graph, bytesOf({1, 3, 3, 6}, 0.25F, 5)),
         addCounting<int32_t>(graph, narrowBias)},
        bytes);
    // Channels that share a vector with those of neighbouring spatial positions, where a set does
    // that.
    const TensorType narrow = bytesOf({1, 5, 5, 24}, 0.5F, 3);
    const TensorId narrowFeatureMap = graph.addTensor(narrow);
    TensorType weights = bytesOf({1, 3, 3, 24}, 0.25F, 128);
    TensorType sharedBias = bias;
    sharedBias.shape = {24};
    add(graph, DepthwiseConv2d(),
        {narrowFeatureMap, addCounting<uint8_t>(graph, weights),
         addCounting<int32_t>(graph, sharedBias)},
        narrow);
    graph.setInputs({x, featureMap, y, otherFeatureMap, narrowFeatureMap});
    return graph;
}

// Of what a set packs, where the test has been on such a processor.
struct Packed {
    std::string_view set;
    uint64_t checksum = 0;
};
#if defined(__aarch64__)
constexpr Packed kPacked[] = {
        {"portable", 9980845117128235435U},
};
#else
constexpr Packed kPacked[] = {
        {"portable", 5185017689016241385U},   {"sse4", 5185017689016241385U},
        {"avx2", 16200815375493898900U},      {"avx512", 9004753356183317251U},
        {"avx512vnni", 2643162056604573651U}, {"avx512amx", 2643162056604573651U},
};
#endif

TEST(PackingVersion, CountsUpWhereThePackedBytesChange) {
    for (const cpu::InstructionSet set : cpu::availableInstructionSets()) {
        const std::string_view name = cpu::toString(set);
        SCOPED_TRACE(name);
        const std::unique_ptr<const Backend> backend = makeCpuAcc(set);
        const auto program = Program::build(packingGraph(), {backend.get()}, nullptr);
        ASSERT_TRUE(program.ok()) << program.status().toString();
        SectionWriter writer;
        (*program)->save(writer, SavedBlobs::ALL);
        const FileBytes file = FileBytes::of(writer);
        const SectionFile opened = SectionFile::open(file.owner(), file.bytes()).value();
        Checksum sum;
        sum.add(opened.mapped("store").value());
        EXPECT_EQ(backend->identity(),
                  "CpuAcc packing 6 " + std::string(name) + " on " +
                          cpu::identityOf(cpu::tuningOf(cpu::describeThisCpu())));
        const auto* const expected = std::ranges::find(kPacked, name, &Packed::set);
        if (expected != std::end(kPacked)) {
            EXPECT_EQ(sum.value(), expected->checksum);
        }
    }
}

}  // namespace
}  // namespace halyard::engine
