// SPDX-License-Identifier: Apache-2.0
//
// The manifest of a saved program: a file's writer can have put anything into it.

#include "engine/plan/program_manifest.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/backends/ref/cpu_ref.h"
#include "engine/graph/verifier.h"
#include "tests/engine/graph_building.h"
#include "tests/engine/plan/fake_backend.h"

namespace halyard::engine {
namespace {

constexpr size_t kStore = 4 * kTensorAlignment;

ProgramManifest manifest() {
    ProgramManifest manifest;
    manifest.backends = {{.name = "CpuRef", .identity = "CpuRef"}};
    manifest.assignment.backendOf = {0, kPlanner};
    manifest.assignment.placementOf = {0, 1};
    manifest.assignment.nested.emplace_back();
    manifest.placement.resize(2);
    manifest.packed.places = {{"key", {.offset = kTensorAlignment, .bytes = kTensorAlignment}}};
    manifest.packed.answers = {{"question", true}};
    return manifest;
}

Status readBack(const ProgramManifest& manifest) {
    return manifestFrom(toBytes(manifest), kStore).status();
}

Status readBackPlace(size_t offset, size_t bytes) {
    ProgramManifest said = manifest();
    said.packed.places["key"] = {.offset = offset, .bytes = bytes};
    return readBack(said);
}

TEST(ProgramManifest, ComesBackAsItWas) {
    const Result<ProgramManifest> back = manifestFrom(toBytes(manifest()), kStore);
    ASSERT_TRUE(back.ok()) << back.status().toString();
    EXPECT_EQ(back->assignment.backendOf, manifest().assignment.backendOf);
    EXPECT_EQ(back->packed.places.at("key").offset, kTensorAlignment);
    EXPECT_TRUE(back->packed.answers.at("question"));
}

// Kernels load whole vectors from there.
TEST(ProgramManifest, HasItsConstantsWhereTensorsMayLie) {
    for (size_t offset = 0; offset <= 2 * kTensorAlignment; ++offset) {
        EXPECT_EQ(readBackPlace(offset, 1).code(),
                  offset % kTensorAlignment == 0 ? StatusCode::OK : StatusCode::INVALID_ARGUMENT)
                << offset;
    }
}

TEST(ProgramManifest, HasItsConstantsInTheStore) {
    EXPECT_TRUE(readBackPlace(0, kStore).ok());
    EXPECT_TRUE(readBackPlace(kStore, 0).ok());
    EXPECT_FALSE(readBackPlace(0, kStore + 1).ok());
    EXPECT_FALSE(readBackPlace(kStore, 1).ok());
    EXPECT_FALSE(readBackPlace(2 * kStore, 0).ok());
    EXPECT_FALSE(readBackPlace(kTensorAlignment, SIZE_MAX).ok()) << "their sum is small";
    EXPECT_FALSE(readBackPlace(size_t{0} - kTensorAlignment, kTensorAlignment).ok());
}

TEST(ProgramManifest, IsOfOneVersionAndOneOfGraphs) {
    const std::vector<uint8_t> good = toBytes(manifest());
    for (const size_t at : {size_t{0}, sizeof(uint32_t)}) {
        std::vector<uint8_t> other = good;
        other[at] ^= 1;
        EXPECT_EQ(manifestFrom(other, kStore).status().code(), StatusCode::UNSUPPORTED) << at;
    }
}

TEST(ProgramManifest, EndsWhereItEnds) {
    const std::vector<uint8_t> good = toBytes(manifest());
    for (size_t size = 0; size < good.size(); ++size) {
        EXPECT_FALSE(manifestFrom(std::span(good).first(size), kStore).ok()) << size;
    }
    std::vector<uint8_t> longer = good;
    longer.push_back(0);
    EXPECT_EQ(manifestFrom(longer, kStore).status().code(), StatusCode::INVALID_ARGUMENT);
}

TEST(ProgramManifest, IsNotNestedWithoutEnd) {
    const auto nested = [](size_t depth) {
        ProgramManifest said = manifest();
        Assignment* inner = &said.assignment;
        inner->nested.clear();
        for (size_t i = 0; i < depth; ++i) {
            inner = &inner->nested.emplace_back();
        }
        return readBack(said);
    };
    EXPECT_TRUE(nested(kMaxNesting).ok());
    EXPECT_EQ(nested(kMaxNesting + 1).code(), StatusCode::INVALID_ARGUMENT);
}

// ---- Of a graph ---------------------------------------------------------------------------------

class Assignments : public testing::Test {
  protected:
    Assignments() {
        const TensorId x = mGraph.addTensor(float32({2}));
        const TensorId y = mGraph.addTensor(float32({2}));
        mGraph.setInputs({x});
        mGraph.addNode({.descriptor = Activate{.function = Activate::Function::TANH},
                        .inputs = {x},
                        .outputs = {y},
                        .label = "node",
                        .sources = {}});
        mGraph.setOutputs({y});
        mAssignment.backendOf = {0};
        mAssignment.placementOf = {0};
    }
    StatusCode code(size_t placements = 1) const {
        return checkAssignment(mGraph, mAssignment, {mRef.get()}, placements).code();
    }

    const std::unique_ptr<const Backend> mRef = makeCpuRef();
    Graph mGraph;
    Assignment mAssignment;
};

TEST_F(Assignments, AreOfNodesBackendsAndPlacementsThatThereAre) {
    EXPECT_EQ(code(), StatusCode::OK);
    EXPECT_EQ(code(0), StatusCode::INVALID_ARGUMENT) << "no placement of such a number";
    mAssignment.backendOf = {1};
    EXPECT_EQ(code(), StatusCode::INVALID_ARGUMENT) << "no such backend";
    mAssignment.backendOf = {kPlanner};
    EXPECT_EQ(code(), StatusCode::INVALID_ARGUMENT) << "the planner runs If and While alone";
    mAssignment.backendOf = {0, 0};
    mAssignment.placementOf = {0, 0};
    EXPECT_EQ(code(), StatusCode::INVALID_ARGUMENT) << "a node more";
    mAssignment.backendOf = {};
    mAssignment.placementOf = {};
    EXPECT_EQ(code(), StatusCode::INVALID_ARGUMENT) << "a node less";
}

TEST_F(Assignments, AreToBackendsThatTakeTheNodes) {
    const FakeBackend other("Other", {NodeKind::Binary});
    EXPECT_EQ(checkAssignment(mGraph, mAssignment, {&other}, 1).code(), StatusCode::UNSUPPORTED);
    const FakeBackend taking("Taking", {NodeKind::Activate});
    EXPECT_EQ(checkAssignment(mGraph, mAssignment, {&taking}, 1).code(), StatusCode::OK);
}

TEST_F(Assignments, HaveOneForEachGraphInside) {
    const auto nested = std::make_shared<Graph>(mGraph);
    Graph graph;
    const TensorId condition =
            graph.addTensor({.type = DataType::BOOL8, .shape = {1}, .quantization = {}});
    const TensorId x = graph.addTensor(float32({2}));
    graph.setInputs({condition, x});
    graph.setOutputs({addNode(graph, If{.then = {nested}, .otherwise = {nested}}, {condition, x})});
    const auto code = [&](size_t graphs) {
        Assignment outer;
        outer.backendOf = {kPlanner};
        outer.placementOf = {0};
        outer.nested.assign(graphs, mAssignment);
        return checkAssignment(graph, outer, {mRef.get()}, 1).code();
    };
    EXPECT_EQ(code(2), StatusCode::OK);
    for (const size_t graphs : {0U, 1U, 3U}) {
        EXPECT_EQ(code(graphs), StatusCode::INVALID_ARGUMENT) << graphs;
    }
}

TEST_F(Assignments, HaveGraphsInsideWhereNodesHave) {
    mAssignment.nested.emplace_back();
    EXPECT_EQ(code(), StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace halyard::engine
