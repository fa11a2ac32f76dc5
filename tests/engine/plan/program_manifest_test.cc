// SPDX-License-Identifier: Apache-2.0
//
// What a saved program's manifest may say: a file's writer can have put anything into it.

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

Status read(const ProgramManifest& manifest) {
    return manifestFrom(toBytes(manifest), kStore).status();
}

Status readPlace(size_t offset, size_t bytes) {
    ProgramManifest said = manifest();
    said.packed.places["key"] = {.offset = offset, .bytes = bytes};
    return read(said);
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
        EXPECT_EQ(readPlace(offset, 1).code(),
                  offset % kTensorAlignment == 0 ? StatusCode::OK : StatusCode::INVALID_ARGUMENT)
                << offset;
    }
}

TEST(ProgramManifest, HasItsConstantsInTheStore) {
    EXPECT_TRUE(readPlace(0, kStore).ok());
    EXPECT_TRUE(readPlace(kStore, 0).ok());
    EXPECT_FALSE(readPlace(0, kStore + 1).ok());
    EXPECT_FALSE(readPlace(kStore, 1).ok());
    EXPECT_FALSE(readPlace(2 * kStore, 0).ok());
    EXPECT_FALSE(readPlace(kTensorAlignment, SIZE_MAX).ok()) << "their sum is small";
    EXPECT_FALSE(readPlace(size_t{0} - kTensorAlignment, kTensorAlignment).ok());
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
        return read(said);
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

TEST_F(Assignments, HaveGraphsInsideWhereNodesHave) {
    mAssignment.nested.emplace_back();
    EXPECT_EQ(code(), StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace halyard::engine
