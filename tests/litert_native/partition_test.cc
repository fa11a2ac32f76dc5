// SPDX-License-Identifier: Apache-2.0

#include "litert/delegate/partition.h"

#include <gtest/gtest.h>

#include <vector>

#include "engine/graph/graph.h"

namespace halyard::litert {
namespace {

using engine::DataType;
using engine::Shape;
using engine::TensorId;

// Hosts allocate outputs before a run: one whose extents it finds can't be theirs.
TEST(Partition, TellsOperatorsWhoseShapesOnlyARunTells) {
    engine::Graph graph;
    const TensorId input = graph.addTensor({DataType::FLOAT32, Shape({4}), {}});
    const TensorId shape = graph.addTensor({DataType::INT32, Shape({2}), {}});
    const TensorId known = graph.addTensor({DataType::FLOAT32, Shape({4}), {}});
    const TensorId unknown = graph.addTensor({DataType::FLOAT32, Shape({-1, -1}), {}});
    graph.addNode({.descriptor = engine::Activate{},
                   .inputs = {input},
                   .outputs = {known},
                   .label = "first",
                   .sources = {2}});
    graph.addNode({.descriptor = engine::Reshape{},
                   .inputs = {known, shape},
                   .outputs = {unknown},
                   .label = "second",
                   .sources = {5, 7}});
    graph.setInputs({input, shape});
    graph.setOutputs({unknown});
    EXPECT_EQ(operatorsOfUnknownShape(graph), (std::vector<uint32_t>{5, 7}));

    RuntimeOptions options;
    options.log = std::nullopt;
    const auto runtime = Runtime::create(options);
    ASSERT_TRUE(runtime.ok()) << runtime.status().toString();
    tflite::ImportedGraph imported;
    imported.graph = graph;
    imported.inputs = {0, 1};
    imported.outputs = {2};
    const Result<PartitionProgram> program =
            compileImported(**runtime, *makeThreads(1), std::move(imported));
    ASSERT_FALSE(program.ok());
    EXPECT_NE(program.status().message().find("which only a run tells"), std::string_view::npos);
}

}  // namespace
}  // namespace halyard::litert
