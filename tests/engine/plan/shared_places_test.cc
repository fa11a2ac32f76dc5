// SPDX-License-Identifier: Apache-2.0
//
// Tensors of a piece that lie inside others: that it saves the memory, and that what is read is
// what was written, whoever else reads it.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/backends/cpu/cpu_acc.h"
#include "engine/backends/ref/cpu_ref.h"
#include "engine/base/thread_pool.h"
#include "engine/plan/constant_store.h"
#include "engine/plan/piece_layout.h"
#include "engine/plan/shared_places.h"
#include "tests/engine/graph_building.h"
#include "tests/engine/plan/running.h"

namespace halyard::engine {
namespace {

constexpr int32_t kCount = 1024;
constexpr size_t kBytes = kCount * sizeof(float);

// A graph that is one piece of CpuRef, and reads x, of kCount numbers.
class OnePiece {
  public:
    OnePiece() : mX(graph.addTensor(float32({kCount}))) { graph.setInputs({mX}); }

    TensorId x() const { return mX; }
    // Each tells its result from x and from the other's.
    TensorId negative(TensorId of) {
        return addNode(graph, Unary{.function = Unary::Function::NEG}, {of});
    }
    TensorId doubled(TensorId of) { return addSum(graph, of, of); }
    TensorId reshaped(TensorId of, std::vector<int32_t> extents) {
        const auto rank = static_cast<int32_t>(extents.size());
        return addNode(graph, Reshape(), {of, addConstant(graph, int32({rank}), extents)});
    }
    TensorId joined(std::vector<TensorId> parts, int32_t axis = 0) {
        return addNode(graph, Concat{.axis = axis}, std::move(parts));
    }

    // What the piece with this output takes for its tensors.
    size_t workspaceBytes(TensorId output) {
        graph.setOutputs({output});
        Piece piece = {.nodes = {}, .inputs = {mX}, .outputs = {output}};
        for (NodeId node = 0; node < graph.nodes().size(); ++node) {
            piece.nodes.push_back(node);
        }
        ThreadPool threads(1);
        ConstantStore constants;
        const auto compiled = makeCpuRef()->compile({.graph = std::make_shared<Graph>(graph),
                                                     .piece = piece,
                                                     .constants = constants,
                                                     .memory = nullptr,
                                                     .threads = &threads});
        EXPECT_TRUE(compiled.ok()) << compiled.status().toString();
        const TensorType type = float32({kCount});
        const TensorType* const types[] = {&type};
        return compiled.value()->specialize(types, Checkpoint()).value()->workspaceBytes();
    }

    // The output for x = 1, 2, 3 and so on, on both backends.
    std::vector<float> run(TensorId output, size_t count) {
        graph.setOutputs({output});
        std::vector<float> x;
        for (int32_t i = 1; i <= kCount; ++i) {
            x.push_back(static_cast<float>(i));
        }
        std::vector<float> result;
        const auto reference = makeCpuRef();
        const auto tuned = makeCpuAcc();
        for (const Backend* backend : {reference.get(), tuned.get()}) {
            const BackendList backends = {backend};
            const auto program = Program::build(graph, backends, std::make_shared<ThreadPool>(2));
            EXPECT_TRUE(program.ok()) << program.status().toString();
            Execution execution = Execution::create(*program).value();
            std::vector<float> values(count);
            const Status status = runOnce(execution, {bindInput(x)}, {bindOutput(values)});
            EXPECT_TRUE(status.ok()) << status.toString();
            if (!result.empty()) {
                EXPECT_EQ(values, result) << backend->name();
            }
            result = values;
        }
        return result;
    }

    Graph graph;

  private:
    TensorId mX;
};

TEST(SharedPlaces, AreWhatIsReshaped) {
    OnePiece piece;
    const TensorId reshaped = piece.reshaped(piece.negative(piece.x()), {2, kCount / 2});
    const TensorId twice = piece.reshaped(reshaped, {4, kCount / 4});
    const TensorId output = piece.doubled(twice);
    EXPECT_EQ(piece.workspaceBytes(output), kBytes);
    const std::vector<float> values = piece.run(output, kCount);
    EXPECT_EQ(values[0], -2);
    EXPECT_EQ(values[kCount - 1], -2.0F * kCount);
}

TEST(SharedPlaces, AreWhatIsJoined) {
    OnePiece piece;
    const TensorId joined = piece.joined({piece.negative(piece.x()), piece.doubled(piece.x())});
    const TensorId output = piece.negative(joined);
    EXPECT_EQ(piece.workspaceBytes(output), 2 * kBytes);
    const std::vector<float> values = piece.run(output, size_t{2} * kCount);
    EXPECT_EQ(values[0], 1);
    EXPECT_EQ(values[kCount - 1], kCount);
    EXPECT_EQ(values[kCount], -2);
    EXPECT_EQ(values[size_t{2} * kCount - 1], -2.0F * kCount);
}

TEST(SharedPlaces, AreFoundThroughOthers) {
    OnePiece piece;
    const TensorId first = piece.reshaped(piece.negative(piece.x()), {1, kCount});
    const TensorId second = piece.reshaped(piece.doubled(piece.x()), {1, kCount});
    const TensorId joined = piece.joined({first, second}, 1);
    const TensorId output = piece.negative(piece.reshaped(joined, {2, kCount}));
    EXPECT_EQ(piece.workspaceBytes(output), 2 * kBytes);
    const std::vector<float> values = piece.run(output, size_t{2} * kCount);
    EXPECT_EQ(values[1], 2);
    EXPECT_EQ(values[kCount + 1], -4);
}

TEST(SharedPlaces, LastAsLongAsAnyoneReadsThem) {
    OnePiece piece;
    const TensorId part = piece.negative(piece.x());
    const TensorId joined = piece.joined({part, piece.doubled(piece.x())});
    TensorId later = piece.negative(joined);
    for (int i = 0; i < 5; ++i) {  // whose results would fit where the part lies
        later = piece.doubled(later);
    }
    const TensorId output = piece.joined({part, later});
    const std::vector<float> values = piece.run(output, size_t{3} * kCount);
    EXPECT_EQ(values[0], -1);
    EXPECT_EQ(values[kCount - 1], -kCount);
    EXPECT_EQ(values[kCount], 32);
    EXPECT_EQ(values[size_t{3} * kCount - 1], -64.0F * kCount);
}

TEST(SharedPlaces, AreNotThoseOfOneTensorTwice) {
    OnePiece piece;
    const TensorId part = piece.negative(piece.x());
    const TensorId output = piece.doubled(piece.joined({part, piece.doubled(part), part}));
    const std::vector<float> values = piece.run(output, size_t{3} * kCount);
    EXPECT_EQ(values[0], -2);
    EXPECT_EQ(values[kCount], -4);
    EXPECT_EQ(values[size_t{2} * kCount], -2);
    // Nor may it be in two places.
    const TensorId other = piece.joined(
            {piece.joined({part, piece.doubled(part)}), piece.joined({piece.doubled(part), part})});
    const std::vector<float> both = piece.run(piece.doubled(other), size_t{4} * kCount);
    EXPECT_EQ(both[0], -2);
    EXPECT_EQ(both[kCount], -4);
    EXPECT_EQ(both[size_t{2} * kCount], -4);
    EXPECT_EQ(both[size_t{3} * kCount], -2);
}

// Of bytes, each part has its own scale, and the output another.
TEST(SharedPlaces, AreNotThoseOfPartsThatAreRequantized) {
    OnePiece piece;
    const auto bytes = [](float scale) {
        return TensorType{.type = DataType::QUANT8_ASYMM_SIGNED,
                          .shape = Shape::unknownRank(),
                          .quantization = {.scale = scale, .channelScales = {}}};
    };
    const auto quantized = [&](float scale) {
        const TensorId output = piece.graph.addTensor(bytes(scale));
        piece.graph.addNode({.descriptor = Quantize(),
                             .inputs = {piece.x()},
                             .outputs = {output},
                             .label = "quantize",
                             .sources = {}});
        return output;
    };
    const TensorId joined = piece.graph.addTensor(bytes(16));
    piece.graph.addNode({.descriptor = Concat(),
                         .inputs = {quantized(16), quantized(8)},
                         .outputs = {joined},
                         .label = "join",
                         .sources = {}});
    const TensorId output = addNode(piece.graph, Dequantize(), {joined});
    const std::vector<float> values = piece.run(output, size_t{2} * kCount);
    EXPECT_EQ(values[63], 64);
    EXPECT_EQ(values[kCount + 63], 64);
}

// Rows of the parts lie between each other.
TEST(SharedPlaces, AreNotThoseOfPartsWithinRows) {
    OnePiece piece;
    const TensorId first = piece.negative(piece.reshaped(piece.x(), {2, kCount / 2}));
    const TensorId joined = piece.joined({first, piece.doubled(first)}, 1);
    const std::vector<float> values = piece.run(piece.negative(joined), size_t{2} * kCount);
    EXPECT_EQ(values[0], 1);
    EXPECT_EQ(values[kCount / 2], 2);
    EXPECT_EQ(values[kCount], 1 + kCount / 2);
    EXPECT_EQ(values[kCount + kCount / 2], 2 + kCount);
}

TEST(SharedPlaces, AreNotTheCallersMemory) {
    OnePiece piece;
    const TensorId joined = piece.joined({piece.x(), piece.negative(piece.x())});
    const std::vector<float> values = piece.run(joined, size_t{2} * kCount);
    EXPECT_EQ(values[0], 1);
    EXPECT_EQ(values[kCount], -1);
    // Nothing is in an output's memory, which a client may change, before all of it is computed.
    const TensorId other = piece.joined({piece.negative(piece.x()), piece.doubled(piece.x())});
    EXPECT_EQ(piece.workspaceBytes(other), 3 * kBytes);  // with the first part, which nobody reads
    EXPECT_EQ(piece.run(other, size_t{2} * kCount)[kCount], 2);
}

// A part that is ready early would hold the memory of all of them while others need it.
TEST(SharedPlaces, AreGivenUpWhereTheyTakeMoreMemory) {
    OnePiece piece;
    const TensorId early = piece.negative(piece.x());
    const TensorId wide = piece.doubled(piece.joined({piece.x(), piece.x(), piece.x(), piece.x()}));
    const TensorId small = addNode(piece.graph, Reduce{.function = Reduce::Function::MAX},
                                   {wide, addConstant<int32_t>(piece.graph, int32({1}), {0})});
    const TensorId late =
            addNode(piece.graph, Tile(),
                    {small, addConstant<int32_t>(piece.graph, int32({1}), {3 * kCount})});
    const TensorId output = piece.negative(piece.joined({early, late}));
    // Both wide tensors at once, and the early one; not the joined one, too.
    EXPECT_LE(piece.workspaceBytes(output), 9 * kBytes);
    const std::vector<float> values = piece.run(output, size_t{4} * kCount);
    EXPECT_EQ(values[0], 1);
    EXPECT_EQ(values[kCount], -2.0F * kCount);
}

// ---- Outputs in the place of inputs
// ---------------------------------------------------------------

// The places in the piece with this output, where each step of two inputs may replace the first.
class Replaced {
  public:
    Replaced(OnePiece& piece, TensorId output) {
        piece.graph.setOutputs({output});
        Piece whole = {.nodes = {}, .inputs = {piece.x()}, .outputs = {output}};
        for (NodeId node = 0; node < piece.graph.nodes().size(); ++node) {
            whole.nodes.push_back(node);
        }
        mLayout = layOut(std::make_shared<Graph>(piece.graph), whole).value();
        for (const LocalTensor& tensor : mLayout.tensors) {
            TensorType type = piece.graph.tensor(tensor.id).type;
            type.shape = {kCount};
            mTypes.push_back(type);
        }
        for (const LocalStep& step : mLayout.steps) {
            const bool isSum = std::holds_alternative<Binary>(step.nodes[0].node->descriptor);
            mReplaceable.push_back(isSum ? std::optional<size_t>(0) : std::nullopt);
        }
    }

    // Whether `output` lies where `input` does.
    bool replaces(TensorId output, TensorId input) {
        const std::vector<bool> isOpen(mLayout.steps.size(), false);
        const SharedPlaces shared = sharePlaces(mLayout, mTypes, isOpen, mReplaceable, true);
        return shared.places[localOf(input)].host == shared.places[localOf(output)].host;
    }
    void resize(TensorId tensor) { mTypes[localOf(tensor)].shape = {kCount + 1}; }

  private:
    LocalId localOf(TensorId id) const {
        const auto found = std::ranges::find(mLayout.tensors, id, &LocalTensor::id);
        return static_cast<LocalId>(found - mLayout.tensors.begin());
    }

    PieceLayout mLayout;
    std::vector<TensorType> mTypes;
    std::vector<std::optional<size_t>> mReplaceable;
};

TEST(ReplacedPlaces, AreThoseOfInputsThatNobodyReadsAgain) {
    OnePiece piece;
    const TensorId a = piece.negative(piece.x());
    const TensorId b = piece.negative(a);
    const TensorId sum = addSum(piece.graph, a, b);
    const TensorId next = addSum(piece.graph, sum, b);
    Replaced replaced(piece, piece.negative(next));
    EXPECT_TRUE(replaced.replaces(sum, a));
    EXPECT_TRUE(replaced.replaces(next, a));
    EXPECT_FALSE(replaced.replaces(next, b));
    replaced.resize(a);
    EXPECT_FALSE(replaced.replaces(sum, a));
    EXPECT_TRUE(replaced.replaces(next, sum));
}

TEST(ReplacedPlaces, AreNotThoseOfInputsThatAreReadLater) {
    OnePiece piece;
    const TensorId a = piece.negative(piece.x());
    const TensorId sum = addSum(piece.graph, a, piece.negative(a));
    const TensorId output = addSum(piece.graph, sum, piece.negative(a));
    Replaced replaced(piece, piece.negative(output));
    EXPECT_FALSE(replaced.replaces(sum, a));
    EXPECT_TRUE(replaced.replaces(output, sum));
}

// A reshaped tensor lies where the one that it is made of does.
TEST(ReplacedPlaces, AreNotThoseOfWhatIsReadByAnotherName) {
    OnePiece piece;
    const TensorId a = piece.negative(piece.x());
    const TensorId reshaped = piece.reshaped(a, {kCount});
    const TensorId sum = addSum(piece.graph, reshaped, piece.x());
    const TensorId output = addSum(piece.graph, sum, a);
    EXPECT_FALSE(Replaced(piece, piece.negative(output)).replaces(sum, reshaped));
}

TEST(ReplacedPlaces, AreNotThoseOfWhatAnotherInputReads) {
    OnePiece piece;
    const TensorId a = piece.negative(piece.x());
    const TensorId twice = addSum(piece.graph, a, a);
    EXPECT_FALSE(Replaced(piece, piece.negative(twice)).replaces(twice, a));

    OnePiece other;
    const TensorId b = other.negative(other.x());
    const TensorId reshaped = other.reshaped(b, {kCount});
    const TensorId both = addSum(other.graph, reshaped, b);
    EXPECT_FALSE(Replaced(other, other.negative(both)).replaces(both, reshaped));
}

TEST(ReplacedPlaces, AreNotTheCallersMemory) {
    OnePiece piece;
    const TensorId sum = addSum(piece.graph, piece.x(), piece.negative(piece.x()));
    const TensorId a = piece.negative(sum);
    const TensorId output = addSum(piece.graph, a, sum);
    Replaced replaced(piece, output);
    EXPECT_FALSE(replaced.replaces(sum, piece.x()));
    EXPECT_FALSE(replaced.replaces(output, a));
}

}  // namespace
}  // namespace halyard::engine
