// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/constant_store.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/plan/backend.h"
#include "engine/plan/program.h"
#include "tests/engine/graph_building.h"
#include "tests/engine/plan/fake_backend.h"
#include "tests/engine/plan/running.h"

namespace halyard::engine {
namespace {

// As many bytes, all of one value, and a fill that may fail.
struct Bytes {
    uint64_t size = 0;
    uint8_t value = 0;
    bool fails = false;

    static constexpr std::string_view kName = "bytes";
    HALYARD_FIELDS(size, value, fails)

    Result<size_t> bytes() const { return static_cast<size_t>(size); }
    Status fill(std::span<std::byte> to, const Checkpoint& /*checkpoint*/) const {
        std::memset(to.data(), value, to.size());
        return fails ? internalError("no ink") : Status();
    }
};

TEST(ConstantStore, GivesEachItsOwnAlignedPlaceInOneBlock) {
    ConstantStore store;
    std::vector<PackedConstant> places;
    for (uint8_t i = 0; i < 3; ++i) {
        places.push_back(
                store.add(Bytes{.size = 100, .value = static_cast<uint8_t>(i + 1)}).value());
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
            EXPECT_EQ(bytes.data()[bytes.size()], std::byte{0}) << "nothing of the heap";
        }
    }
    EXPECT_EQ(memory->reserved(), 0U);
}

TEST(ConstantStore, ReservesBeforeItAllocatesOrFills) {
    ConstantStore store;
    store.add(Bytes{.size = 1000, .fails = true}).value();
    const Status status = store.fill(std::make_shared<Budget>(999), {}).status();
    EXPECT_EQ(status.code(), StatusCode::RESOURCE_EXHAUSTED);
}

TEST(ConstantStore, RefusesWhatCannotBeAddressed) {
    ConstantStore store;
    store.add(Bytes{.size = 64}).value();
    EXPECT_EQ(store.add(Bytes{.size = std::numeric_limits<size_t>::max()}).status().code(),
              StatusCode::RESOURCE_EXHAUSTED);
}

TEST(ConstantStore, FailsAsItsFillsDoAndStopsAtTheDeadline) {
    ConstantStore store;
    store.add(Bytes{.size = 1, .fails = true}).value();
    EXPECT_EQ(store.fill(nullptr, {}).status().message(), "no ink");
    ConstantStore late;
    late.add(Bytes{.size = 1}).value();
    const Checkpoint past(std::chrono::steady_clock::now());
    EXPECT_EQ(late.fill(nullptr, past).status().code(), StatusCode::DEADLINE_EXCEEDED);
}

// Two nodes read one constant; the backend says which of the reads it has packed.
class Released : public testing::Test {
  protected:
    class Packed : public CompiledPartition {
      public:
        Packed(std::unique_ptr<CompiledPartition> partition, std::vector<TensorId> packed)
            : mPartition(std::move(partition)), mPacked(std::move(packed)) {}
        Result<std::unique_ptr<const SpecializedPartition>> specialize(
                std::span<const TensorType* const> inputs,
                const Checkpoint& checkpoint) const override {
            return mPartition->specialize(inputs, checkpoint);
        }
        std::span<const TensorId> packed() const override { return mPacked; }

      private:
        std::unique_ptr<CompiledPartition> mPartition;
        std::vector<TensorId> mPacked;
    };

    class PackingBackend : public FakeBackend {
      public:
        using FakeBackend::FakeBackend;
        std::vector<TensorId> packed;
        Result<std::unique_ptr<CompiledPartition>> compile(
                const CompileArguments& arguments) const override {
            HALYARD_ASSIGN_OR_RETURN(auto partition, FakeBackend::compile(arguments));
            return std::unique_ptr<CompiledPartition>(
                    std::make_unique<Packed>(std::move(partition), packed));
        }
    };

    // How many bytes of the constant are left once the reads in `packed` are. It stays a constant.
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
        const auto program = buildOrDie(graph, {&backend});
        const Tensor& tensor = program->graph().tensor(weights);
        EXPECT_TRUE(tensor.isConstant());
        EXPECT_EQ(tensor.isPackedAway(), tensor.constant.bytes.empty());
        if (tensor.isPackedAway()) {
            EXPECT_EQ(Program::build(program->graph(), {&backend}, nullptr).status().code(),
                      StatusCode::INVALID_ARGUMENT)
                    << "a program that has not packed it can do nothing with it";
        }
        return tensor.constant.bytes.size();
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

struct Counting : PartitionState {
    int runs = 0;
};

TEST(PartitionState, IsMadeOnceForEachExecutionAndKept) {
    FakeBackend backend("Fake", kAllFakeKinds);
    backend.onMakeState = [](const PartitionResources&) -> Result<std::unique_ptr<PartitionState>> {
        return std::unique_ptr<PartitionState>(std::make_unique<Counting>());
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

TEST(PartitionState, ThatCannotBeMadeFailsTheExecution) {
    FakeBackend backend("Fake", kAllFakeKinds);
    backend.onMakeState = [](const PartitionResources&) -> Result<std::unique_ptr<PartitionState>> {
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
    ConstantSource<std::byte> source;
    uint64_t rows = 0;
    uint64_t columns = 0;

    static constexpr std::string_view kName = "rows";
    HALYARD_FIELDS(source, rows, columns)

    Result<size_t> bytes() const { return static_cast<size_t>(rows * columns); }
    Status fill(std::span<std::byte> to, const Checkpoint& /*checkpoint*/) const {
        std::memset(to.data(), static_cast<int>(rows), to.size());
        return {};
    }
};

// The same members: another type is another recipe.
struct Columns {
    ConstantSource<std::byte> source;
    uint64_t rows = 0;
    uint64_t columns = 0;

    static constexpr std::string_view kName = "columns";
    HALYARD_FIELDS(source, rows, columns)

    Result<size_t> bytes() const { return static_cast<size_t>(rows * columns); }
    Status fill(std::span<std::byte> /*to*/, const Checkpoint& /*checkpoint*/) const { return {}; }
};

constexpr auto kFirst = static_cast<ConstantId>(1);
constexpr auto kSecond = static_cast<ConstantId>(2);
const std::array<std::byte, 8> kWeights = {};

TEST(ConstantStore, PacksWhatEqualRecipesMakeOnce) {
    const Rows recipe = {
            .source = {.id = kFirst, .data = kWeights.data()}, .rows = 2, .columns = 4};
    ConstantStore store;
    const PackedConstant first = store.add(recipe).value();
    EXPECT_EQ(store.add(recipe).value().offset, first.offset);
    EXPECT_EQ(store.bytes(), kTensorAlignment);
    // The same constant, cut into other rows; another one; another layout.
    std::vector<PackedConstant> others;
    others.push_back(store.add(Rows{.source = recipe.source, .rows = 4, .columns = 2}).value());
    others.push_back(store.add(Rows{.source = {.id = kSecond, .data = kWeights.data()},
                                    .rows = 2,
                                    .columns = 4})
                             .value());
    others.push_back(store.add(Columns{.source = recipe.source, .rows = 2, .columns = 4}).value());
    EXPECT_EQ(store.bytes(), 4 * kTensorAlignment);
    const AlignedBuffer block = store.fill(nullptr, {}).value();
    EXPECT_EQ(first.in(block.bytes()).front(), std::byte{2});
    EXPECT_EQ(others[0].in(block.bytes()).front(), std::byte{4});
    EXPECT_EQ(others[1].in(block.bytes()).front(), std::byte{2});
}

TEST(ConstantStore, TellsConstantsApartWhoseElementsAreGone) {
    ConstantStore store;
    const PackedConstant first =
            store.add(Rows{.source = {.id = kFirst}, .rows = 2, .columns = 4}).value();
    const PackedConstant second =
            store.add(Rows{.source = {.id = kSecond}, .rows = 2, .columns = 4}).value();
    const PackedConstant leftOut = store.add(Rows{.source = {}, .rows = 2, .columns = 4}).value();
    EXPECT_NE(first.offset, second.offset);
    EXPECT_NE(first.offset, leftOut.offset);
    EXPECT_NE(second.offset, leftOut.offset);
}

TEST(ConstantStore, RefusesAConstantThatHasNoIdentity) {
    ConstantStore store;
    const Rows recipe = {.source = {.data = kWeights.data()}, .rows = 2, .columns = 4};
    EXPECT_EQ(store.add(recipe).status().code(), StatusCode::INTERNAL);
}

// A recipe whose size follows from more than its fields.
struct Forgetful {
    static inline size_t size = 0;
    uint8_t unused = 0;

    static constexpr std::string_view kName = "forgetful";
    HALYARD_FIELDS(unused)

    Result<size_t> bytes() const { return size; }
    Status fill(std::span<std::byte> /*to*/, const Checkpoint& /*checkpoint*/) const { return {}; }
};

TEST(ConstantStore, RefusesAnEqualRecipeOfAnotherSize) {
    ConstantStore store;
    Forgetful::size = 100;
    ASSERT_TRUE(store.add(Forgetful()).ok());
    Forgetful::size = 101;
    const Status status = store.add(Forgetful()).status();
    EXPECT_EQ(status.code(), StatusCode::INTERNAL);
    EXPECT_EQ(status.message(),
              "a packed constant takes 101 bytes where the same recipe made one of 100");
}

// ---- Identities ---------------------------------------------------------------------------------

TEST(ConstantNumbers, AreTheSameForTheSameBytesAlone) {
    const auto block = std::make_shared<const std::vector<uint8_t>>(64);
    const auto part = [&](size_t offset, size_t count) {
        return ConstantData{.owner = block,
                            .bytes = std::span<const uint8_t>(*block).subspan(offset, count)};
    };
    Graph graph;
    const TensorId whole = graph.addConstant(float32({4}), part(0, 16)).value();
    const TensorId again = graph.addConstant(float32({2, 2}), part(0, 16)).value();
    const TensorId shifted = graph.addConstant(float32({4}), part(4, 16)).value();
    const TensorId shorter = graph.addConstant(float32({3}), part(0, 12)).value();
    const TensorId computed = graph.addTensor(float32({4}));
    Graph other;
    const TensorId elsewhere = other.addConstant(float32({4}), part(4, 16)).value();
    ConstantNumbers numbers;
    numbers.number(graph);
    numbers.number(other);
    const auto idOf = [](const Graph& of, TensorId id) { return of.tensor(id).constant.id; };
    EXPECT_EQ(idOf(graph, whole), idOf(graph, again));
    EXPECT_NE(idOf(graph, whole), idOf(graph, shifted));
    EXPECT_NE(idOf(graph, whole), idOf(graph, shorter));
    EXPECT_NE(idOf(graph, shifted), idOf(graph, shorter));
    EXPECT_EQ(idOf(graph, shifted), idOf(other, elsewhere)) << "of another graph of the program";
    EXPECT_EQ(idOf(graph, computed), ConstantId::NONE);
    EXPECT_NE(idOf(graph, whole), ConstantId::NONE);
}

// ---- Of a saved program -------------------------------------------------------------------------

struct IsLarge {
    ConstantSource<float> source;

    static constexpr std::string_view kName = "is large";
    HALYARD_FIELDS(source)

    bool holds() const { return *source.data > 10; }
};

TEST(ConstantStore, FindsWhatASavedOneHas) {
    ConstantStore store;
    const float large = 11;
    const Rows recipe = {.source = {.id = kFirst, .data = kWeights.data()}, .rows = 2};
    const IsLarge question = {.source = {.id = kSecond, .data = &large}};
    store.add(Bytes{.size = 100}).value();
    const PackedConstant place = store.add(recipe).value();
    EXPECT_TRUE(store.holds(question).value());
    store.fill(nullptr, {}).value();
    const PackedContents saved = store.takeContents();

    ConstantStore found(&saved);
    EXPECT_EQ(found.add(Rows{.source = {.id = kFirst}, .rows = 2}).value().offset, place.offset);
    EXPECT_TRUE(found.holds(IsLarge{.source = {.id = kSecond}}).value());
    const Status other = found.add(Rows{.source = {.id = kSecond}, .rows = 2}).status();
    EXPECT_EQ(other.code(), StatusCode::UNSUPPORTED);
    EXPECT_EQ(other.message(), "the saved program knows nothing of 'rows' as it is packed here");
    EXPECT_EQ(found.holds(IsLarge{.source = {.id = kFirst}}).status().code(),
              StatusCode::UNSUPPORTED);
}

}  // namespace
}  // namespace halyard::engine
