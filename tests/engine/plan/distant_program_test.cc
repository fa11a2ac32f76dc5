// SPDX-License-Identifier: Apache-2.0
//
// Programs that come back to a device: constants go from the file to its memory, and what the
// backend kept is used where it still fits.

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/backends/ref/cpu_ref.h"
#include "engine/base/budget.h"
#include "engine/plan/program.h"
#include "tests/engine/base/file_bytes.h"
#include "tests/engine/graph_building.h"
#include "tests/engine/plan/running.h"
#include "tests/second_backend/distant_backend.h"

namespace halyard::engine {
namespace {

constexpr int32_t kWidth = 6;

class ProgramsOfADevice : public testing::Test {
  protected:
    // relu(x + numbers) + numbers, of which the device takes the first and the last.
    static Graph graph() {
        Graph graph;
        const TensorId x = graph.addTensor(float32({kWidth}));
        graph.setInputs({x});
        const TensorId numbers = addConstant<float>(graph, float32({kWidth}), {1, 2, 3, 4, 5, 6});
        graph.setOutputs({addSum(graph, addActivate(graph, addSum(graph, x, numbers)), numbers)});
        return graph;
    }

    static Floats run(const std::shared_ptr<const Program>& program) {
        const Floats in = {-1, 2, -9, 4, -5, 6};
        Floats out(kWidth);
        Execution execution = Execution::create(program).value();
        EXPECT_TRUE(runOnce(execution, {bindInput(in)}, {bindOutput(out)}).ok());
        return out;
    }

    FileBytes saved() {
        SectionWriter writer;
        const auto program = buildOrDie(graph(), {&mMaker, mRef.get()});
        program->save(writer, SavedBlobs::ALL);
        return FileBytes::of(writer);
    }

    Result<std::shared_ptr<const Program>> load(const SectionFile& file,
                                                const DistantBackend& backend,
                                                SavedBytes trust = SavedBytes::AUTHENTIC) {
        return Program::load(
                file, trust, {&backend, mRef.get()},
                {.threads = nullptr, .memory = nullptr, .deviceMemory = mDeviceMemory});
    }

    static SectionFile open(const FileBytes& file) {
        return SectionFile::open(file.owner(), file.bytes()).value();
    }

    const Floats mExpected = {1, 6, 3, 12, 5, 18};
    DistantBackend mMaker{Takes::EVERY_SECOND};
    const std::unique_ptr<const Backend> mRef = makeCpuRef();
    const std::shared_ptr<Budget> mDeviceMemory = std::make_shared<Budget>(size_t{1} << 20);
};

TEST_F(ProgramsOfADevice, FindTheirKernelsAndPackNothing) {
    const FileBytes file = saved();
    EXPECT_EQ(mMaker.kernelsBuilt, 1U) << "two sums need one";
    EXPECT_EQ(mMaker.kernelsFound, 1U);
    const DistantBackend backend(Takes::EVERY_SECOND);
    {
        const auto program = load(open(file), backend);
        ASSERT_TRUE(program.ok()) << program.status().toString();
        EXPECT_EQ((*program)->constantsFilled(), 0U);
        EXPECT_EQ((*program)->copies().size(), 4U);
        EXPECT_GT(mDeviceMemory->reserved(), 0U);
        EXPECT_EQ(run(*program), mExpected);
    }
    EXPECT_EQ(backend.kernelsBuilt, 0U);
    EXPECT_EQ(backend.kernelsFound, 2U);
    EXPECT_EQ(mDeviceMemory->reserved(), 0U);
}

// A kernel is code: none is run that others may have put there.
TEST_F(ProgramsOfADevice, BuildAnewWhatAnybodyMayHaveMade) {
    const FileBytes file = saved();
    for (const SavedBytes trust : {SavedBytes::SHARED, SavedBytes::PRIVATE}) {
        const DistantBackend backend(Takes::EVERY_SECOND);
        const auto program = load(open(file), backend, trust);
        ASSERT_TRUE(program.ok()) << program.status().toString();
        EXPECT_EQ(run(*program), mExpected);
        EXPECT_EQ(backend.kernelsBuilt, 1U);
        EXPECT_EQ(backend.kernelsFound, 1U) << "what the first partition has built";
        EXPECT_EQ((*program)->constantsFilled(), 0U);
    }
}

TEST_F(ProgramsOfADevice, AreSavedWithoutTheirKernelsWhereThatIsAsked) {
    SectionWriter writer;
    const auto program = buildOrDie(graph(), {&mMaker, mRef.get()});
    program->save(writer, SavedBlobs::NONE);
    EXPECT_TRUE(open(FileBytes::of(writer)).mappedBeginningWith("blob/").empty());
    EXPECT_FALSE(open(saved()).mappedBeginningWith("blob/").empty());
}

// Control data is hashed in another way than constants, and so lies in one place.
TEST_F(ProgramsOfADevice, SaveTheirKernelsBeforeTheConstants) {
    SectionWriter writer;
    const auto program = buildOrDie(graph(), {&mMaker, mRef.get()});
    program->save(writer, SavedBlobs::ALL);
    const FileBytes file = FileBytes::of(writer);
    const SectionFile opened = open(file);
    const size_t before = writer.bytesBefore(kFirstOfConstants);
    const auto offset = [&](std::span<const uint8_t> section) {
        return static_cast<size_t>(section.data() - file.bytes().data());
    };
    EXPECT_EQ(offset(opened.mapped("constants").value()), before);
    EXPECT_GE(offset(opened.mapped("store").value()), before);
    for (const auto& [name, blob] : opened.mappedBeginningWith("blob/")) {
        EXPECT_LE(offset(blob) + blob.size(), before) << name;
    }
}

TEST_F(ProgramsOfADevice, BuildAnewWhatDoesNotFit) {
    const FileBytes file = saved();
    const SectionFile opened = open(file);
    SectionWriter writer;
    for (const char* description : {"program", "graph"}) {
        const std::span<const uint8_t> bytes = opened.description(description).value();
        writer.addDescription(description, {bytes.begin(), bytes.end()});
    }
    for (const char* section : {"constants", "store"}) {
        ByteParts bytes;
        bytes.addView(opened.mapped(section).value());
        writer.addMapped(section, std::move(bytes));
    }
    const auto blobs = opened.mappedBeginningWith("blob/");
    ASSERT_EQ(blobs.size(), 1U);
    std::vector<uint8_t> other(blobs.begin()->second.begin(), blobs.begin()->second.end());
    other.back() ^= 1;
    ByteParts bytes;
    bytes.addView(other);
    writer.addMapped("blob/" + blobs.begin()->first, std::move(bytes));
    const DistantBackend backend(Takes::EVERY_SECOND);
    const auto program = load(open(FileBytes::of(writer)), backend);
    ASSERT_TRUE(program.ok()) << program.status().toString();
    EXPECT_EQ(run(*program), mExpected);
    EXPECT_EQ(backend.kernelsBuilt, 1U);
    EXPECT_EQ(backend.kernelsFound, 1U) << "what the first partition has put in its place";
}

TEST_F(ProgramsOfADevice, FailAtEachStationThatALoadGoesThrough) {
    const FileBytes file = saved();
    for (const FailingStage stage :
         {FailingStage::COMPILE, FailingStage::FINISH, FailingStage::SPECIALIZE}) {
        DistantBackend backend(Takes::EVERY_SECOND);
        backend.failing = stage;
        EXPECT_EQ(load(open(file), backend).status().message(),
                  "Distant: " + std::string(toldToFail().message()));
        EXPECT_EQ(mDeviceMemory->reserved(), 0U);
        EXPECT_EQ(backend.memory()->inUse, 0U);
        backend.failing = FailingStage::NONE;
        EXPECT_TRUE(load(open(file), backend).ok());
    }
}

}  // namespace
}  // namespace halyard::engine
