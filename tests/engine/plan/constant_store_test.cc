// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/constant_store.h"

#include <gtest/gtest.h>

#include <array>
#include <compare>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "engine/plan/backend.h"
#include "engine/plan/program.h"
#include "tests/engine/graph_building.h"
#include "tests/engine/plan/fake_backend.h"
#include "tests/engine/plan/running.h"

namespace halyard::engine {
namespace {

Status fillWith(std::span<std::byte> bytes, int value) {
    std::memset(bytes.data(), value, bytes.size());
    return {};
}

TEST(ConstantStore, GivesEachItsOwnAlignedPlaceInOneBlock) {
    ConstantStore store;
    std::vector<PackedConstant> places;
    for (int i = 0; i < 3; ++i) {
        places.push_back(store.add(100, [i](auto bytes, const auto&) {
                                  return fillWith(bytes, i + 1);
                              }).value());
    }
    const auto memory = std::make_shared<Budget>(10000);
    {
        const AlignedBuffer block = store.fill(memory, {}).value();
        EXPECT_EQ(memory->reserved(), block.size());
        for (int i = 0; i < 3; ++i) {
            const std::span<const std::byte> bytes =
                    places[static_cast<size_t>(i)].in(block.bytes());
            ASSERT_EQ(bytes.size(), 100U);
            EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes.data()) % kTensorAlignment, 0U);
            EXPECT_EQ(bytes.front(), std::byte(i + 1));
            EXPECT_EQ(bytes.back(), std::byte(i + 1));
        }
    }
    EXPECT_EQ(memory->reserved(), 0U);
}

TEST(ConstantStore, ReservesBeforeItAllocatesOrFills) {
    ConstantStore store;
    bool filled = false;
    store.add(1000, [&](auto, const auto&) {
             filled = true;
             return Status();
         }).value();
    const Status status = store.fill(std::make_shared<Budget>(999), {}).status();
    EXPECT_EQ(status.code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_FALSE(filled);
}

TEST(ConstantStore, RefusesWhatCannotBeAddressed) {
    ConstantStore store;
    store.add(64, [](auto, const auto&) { return Status(); }).value();
    EXPECT_EQ(store.add(std::numeric_limits<size_t>::max(),
                        [](auto, const auto&) { return Status(); })
                      .status()
                      .code(),
              StatusCode::RESOURCE_EXHAUSTED);
}

TEST(ConstantStore, FailsAsItsFillsDoAndStopsAtTheDeadline) {
    ConstantStore store;
    store.add(1, [](auto, const auto&) { return internalError("no ink"); }).value();
    EXPECT_EQ(store.fill(nullptr, {}).status().message(), "no ink");
    ConstantStore late;
    late.add(1, [](auto, const auto&) { return Status(); }).value();
    const Checkpoint past(std::chrono::steady_clock::now());
    EXPECT_EQ(late.fill(nullptr, past).status().code(), StatusCode::DEADLINE_EXCEEDED);
}

// Two nodes read one constant; the backend says which of the reads it has packed.
class Released : public testing::Test {
  protected:
    class Packed : public CompiledPiece {
      public:
        Packed(std::unique_ptr<CompiledPiece> piece, std::vector<TensorId> packed)
            : mPiece(std::move(piece)), mPacked(std::move(packed)) {}
        Result<std::unique_ptr<const ShapedPiece>> specialize(
                std::span<const TensorType* const> inputs,
                const Checkpoint& checkpoint) const override {
            return mPiece->specialize(inputs, checkpoint);
        }
        std::span<const TensorId> packed() const override { return mPacked; }

      private:
        std::unique_ptr<CompiledPiece> mPiece;
        std::vector<TensorId> mPacked;
    };

    class PackingBackend : public FakeBackend {
      public:
        using FakeBackend::FakeBackend;
        std::vector<TensorId> packed;
        Result<std::unique_ptr<CompiledPiece>> compile(
                const CompileArguments& arguments) const override {
            HALYARD_ASSIGN_OR_RETURN(auto piece, FakeBackend::compile(arguments));
            return std::unique_ptr<CompiledPiece>(
                    std::make_unique<Packed>(std::move(piece), packed));
        }
    };

    // How many bytes of the constant are left once the reads in `packed` are.
    size_t left(std::vector<TensorId> packed, bool alsoAnOutput) {
        PackingBackend backend("Packs", kAllFakeKinds);
        backend.packed = std::move(packed);
        // Only building looks at what was packed: nothing runs here.
        backend.onSpecialize = [](auto) { return Status(); };
        Graph graph;
        const TensorId x = graph.addTensor(float32({kUnknownDimension}));
        const TensorId weights = addConstant<float>(graph, float32({1}), {1});
        graph.setInputs({x});
        const TensorId y = addSum(graph, addSum(graph, x, weights), weights);
        graph.setOutputs(alsoAnOutput ? std::vector<TensorId>{y, weights}
                                      : std::vector<TensorId>{y});
        EXPECT_EQ(weights, 1U);
        return buildOrDie(graph, {&backend})->graph().tensor(weights).constant.bytes.size();
    }
};

TEST_F(Released, IsAConstantThatEveryReaderHasPacked) {
    EXPECT_EQ(left({1, 1}, false), 0U);
}

TEST_F(Released, IsNoConstantThatAnotherNodeReads) {
    EXPECT_EQ(left({1}, false), 4U);
    EXPECT_EQ(left({}, false), 4U);
}

TEST_F(Released, IsNoConstantThatTheCallerReads) {
    EXPECT_EQ(left({1, 1}, true), 4U);
}

// ---- State of an execution ----------------------------------------------------------------------

struct Counting : PieceState {
    int runs = 0;
};

TEST(PieceState, IsMadeOnceForEachExecutionAndKept) {
    FakeBackend backend("Fake", kAllFakeKinds);
    backend.onMakeState = [](const PieceResources&) -> Result<std::unique_ptr<PieceState>> {
        return std::unique_ptr<PieceState>(std::make_unique<Counting>());
    };
    std::vector<int> runs;
    backend.onRun = [&](const RunArguments& arguments) {
        runs.push_back(++static_cast<Counting*>(arguments.state)->runs);
        return Status();
    };
    Graph graph;
    const TensorId x = graph.addTensor(float32({kUnknownDimension}));
    graph.setInputs({x});
    graph.setOutputs({addActivate(graph, x)});
    const auto program = buildOrDie(graph, {&backend});
    Execution first = Execution::create(program).value();
    Execution second = Execution::create(program).value();
    for (Execution* execution : {&first, &first, &second, &first}) {
        const Floats in(static_cast<size_t>(1 + runs.size()));
        Floats out(in.size());
        ASSERT_TRUE(runOnce(*execution, {bindInput(in)}, {bindOutput(out)}).ok());
    }
    EXPECT_EQ(runs, (std::vector<int>{1, 2, 1, 3})) << "whatever the shapes";
    EXPECT_EQ(backend.statesMade, 2);
}

TEST(PieceState, ThatCannotBeMadeFailsTheExecution) {
    FakeBackend backend("Fake", kAllFakeKinds);
    backend.onMakeState = [](const PieceResources&) -> Result<std::unique_ptr<PieceState>> {
        return Status(StatusCode::RESOURCE_EXHAUSTED, "has no queue left");
    };
    Graph graph;
    const TensorId x = graph.addTensor(float32({1}));
    graph.setInputs({x});
    graph.setOutputs({addActivate(graph, x)});
    const Status status = Execution::create(buildOrDie(graph, {&backend})).status();
    EXPECT_EQ(status.code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(status.message(), "Fake: has no queue left");
}

TEST(Compile, ThatFailsFailsTheBuildWithTheBackendsName) {
    FakeBackend backend("Fake", kAllFakeKinds);
    backend.onCompile = [](const CompileArguments&) { return unsupported("is out of order"); };
    Graph graph;
    const TensorId x = graph.addTensor(float32({1}));
    graph.setInputs({x});
    graph.setOutputs({addActivate(graph, x)});
    EXPECT_EQ(Program::build(graph, {&backend}, nullptr).status().message(),
              "Fake: is out of order");
}

// Rows of a matrix, filled with their number.
struct Rows {
    const std::byte* source = nullptr;
    size_t rows = 0;
    size_t columns = 0;

    friend auto operator<=>(const Rows&, const Rows&) = default;
    Result<size_t> bytes() const { return rows * columns; }
    Status fill(std::span<std::byte> to, const Checkpoint& /*checkpoint*/) const {
        return fillWith(to, static_cast<int>(rows));
    }
};

// The same members: another type is another recipe.
struct Columns : Rows {
    friend auto operator<=>(const Columns&, const Columns&) = default;
};

TEST(ConstantStore, PacksWhatEqualRecipesMakeOnce) {
    const std::array<std::byte, 8> weights = {};
    const Rows recipe = {.source = weights.data(), .rows = 2, .columns = 4};
    ConstantStore store;
    const PackedConstant first = store.addOnce(recipe).value();
    EXPECT_EQ(store.addOnce(recipe).value().offset, first.offset);
    EXPECT_EQ(store.bytes(), kTensorAlignment);
    // The same bytes of the same source, cut into other rows; other bytes of it; another layout.
    std::vector<PackedConstant> others;
    others.push_back(
            store.addOnce(Rows{.source = weights.data(), .rows = 4, .columns = 2}).value());
    others.push_back(
            store.addOnce(Rows{.source = weights.data() + 1, .rows = 2, .columns = 4}).value());
    others.push_back(store.addOnce(Columns{recipe}).value());
    EXPECT_EQ(store.bytes(), 4 * kTensorAlignment);
    const AlignedBuffer block = store.fill(nullptr, {}).value();
    EXPECT_EQ(first.in(block.bytes()).front(), std::byte{2});
    EXPECT_EQ(others[0].in(block.bytes()).front(), std::byte{4});
    EXPECT_EQ(others[1].in(block.bytes()).front(), std::byte{2});
    EXPECT_EQ(others[2].in(block.bytes()).front(), std::byte{2});
}

// A recipe that leaves a number out of its comparison.
struct Forgetful {
    size_t size = 0;

    friend std::strong_ordering operator<=>(const Forgetful& /*a*/, const Forgetful& /*b*/) {
        return std::strong_ordering::equal;
    }
    friend bool operator==(const Forgetful& /*a*/, const Forgetful& /*b*/) { return true; }
    Result<size_t> bytes() const { return size; }
    Status fill(std::span<std::byte> /*to*/, const Checkpoint& /*checkpoint*/) const { return {}; }
};

TEST(ConstantStore, RefusesAnEqualRecipeOfAnotherSize) {
    ConstantStore store;
    ASSERT_TRUE(store.addOnce(Forgetful{100}).ok());
    const Status status = store.addOnce(Forgetful{101}).status();
    EXPECT_EQ(status.code(), StatusCode::INTERNAL);
    EXPECT_EQ(status.message(),
              "a packed constant takes 101 bytes where the same recipe made one of 100");
}

}  // namespace
}  // namespace halyard::engine
