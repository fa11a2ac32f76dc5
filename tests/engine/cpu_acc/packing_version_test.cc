// SPDX-License-Identifier: Apache-2.0
//
// What CpuAcc packs is part of the files of programs. Where its bytes change, so does
// kPackingVersion (cpu_acc.cc), and what is expected here: otherwise programs that were saved
// before would be read wrongly.

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "engine/backends/cpu/cpu_acc.h"
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
TensorId addCounting(Graph& graph, TensorType type) {
    std::vector<T> elements(static_cast<size_t>(type.shape.elementCount().value()));
    for (size_t i = 0; i < elements.size(); ++i) {
        elements[i] = static_cast<T>(i % 13);
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

// A product and a depthwise convolution, of floats and of bytes.
Graph packingGraph() {
    Graph graph;
    const TensorId x = graph.addTensor(float32({2, 6}));
    const TensorId picture = graph.addTensor(float32({1, 5, 5, 6}));
    const TensorType bytes = bytesOf({2, 6}, 0.5F, 3);
    const TensorType bytePicture = bytesOf({1, 5, 5, 6}, 0.5F, 3);
    const TensorId y = graph.addTensor(bytes);
    const TensorId otherPicture = graph.addTensor(bytePicture);
    graph.setInputs({x, picture, y, otherPicture});
    const TensorType bias = {.type = DataType::INT32,
                             .shape = {7},
                             .quantization = {.scale = 0.125F, .channelScales = {}}};
    TensorType narrowBias = bias;
    narrowBias.shape = {6};
    add(graph, FullyConnected(),
        {x, addCounting<float>(graph, float32({7, 6})), addCounting<float>(graph, float32({7}))},
        float32({}));
    add(graph, DepthwiseConv2d(),
        {picture, addCounting<float>(graph, float32({1, 3, 3, 6})),
         addCounting<float>(graph, float32({6}))},
        float32({}));
    add(graph, FullyConnected(),
        {y, addCounting<uint8_t>(graph, bytesOf({7, 6}, 0.25F, 5)),
         addCounting<int32_t>(graph, bias)},
        bytes);
    add(graph, DepthwiseConv2d(),
        {otherPicture, addCounting<uint8_t>(graph, bytesOf({1, 3, 3, 6}, 0.25F, 5)),
         addCounting<int32_t>(graph, narrowBias)},
        bytes);
    return graph;
}

TEST(PackingVersion, CountsUpWhereThePackedBytesChange) {
    const std::unique_ptr<const Backend> backend = makeCpuAcc(cpu::InstructionSet::PORTABLE);
    const auto program = Program::build(packingGraph(), {backend.get()}, nullptr);
    ASSERT_TRUE(program.ok()) << program.status().toString();
    SectionWriter writer;
    (*program)->save(writer);
    const FileBytes file = FileBytes::of(writer);
    const SectionFile opened = SectionFile::open(file.owner(), file.bytes()).value();
    Checksum sum;
    sum.add(opened.mapped("store").value());
    EXPECT_EQ(backend->identity(), "CpuAcc packing 1 portable");
    EXPECT_EQ(sum.value(), 6832704812518789085U);
}

}  // namespace
}  // namespace halyard::engine
