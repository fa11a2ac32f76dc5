// SPDX-License-Identifier: Apache-2.0
//
// Tensors of a partition that lie inside others: that it saves the memory, and that a read gives
// what was written, whichever node reads it.

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
#include "engine/plan/partition_layout.h"
#include "engine/plan/shared_places.h"
#include "tests/engine/graph_building.h"
#include "tests/engine/plan/running.h"

namespace halyard::engine {
namespace {

constexpr int32_t kCount = 1024;
constexpr size_t kBytes = kCount * sizeof(float);

// A graph that is one partition of CpuRef, and reads x, of kCount numbers.
class OnePartition {
  public:
    OnePartition() : mX(graph.addTensor(float32({kCount}))) { graph.setInputs({mX}); }

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

    // Bytes that the partition with this output takes for its tensors.
    size_t workspaceBytes(TensorId output) {
        graph.setOutputs({output});
        Partition partition = {.nodes = {}, .inputs = {mX}, .outputs = {output}};
        for (NodeId node = 0; node < graph.nodes().size(); ++node) {
            partition.nodes.push_back(node);
        }
        ThreadPool threads(1);
        ConstantStore constants;
        const auto compiled = makeCpuRef()->compile({.graph = std::make_shared<Graph>(graph),
                                                     .partition = partition,
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
    OnePartition partition;
    const TensorId reshaped =
            partition.reshaped(partition.negative(partition.x()), {2, kCount / 2});
    const TensorId twice = partition.reshaped(reshaped, {4, kCount / 4});
    const TensorId output = partition.doubled(twice);
    EXPECT_EQ(partition.workspaceBytes(output), kBytes);
    const std::vector<float> values = partition.run(output, kCount);
    EXPECT_EQ(values[0], -2);
    EXPECT_EQ(values[kCount - 1], -2.0F * kCount);
}

TEST(SharedPlaces, AreWhatIsJoined) {
    OnePartition partition;
    const TensorId joined =
            partition.joined({partition.negative(partition.x()), partition.doubled(partition.x())});
    const TensorId output = partition.negative(joined);
    EXPECT_EQ(partition.workspaceBytes(output), 2 * kBytes);
    const std::vector<float> values = partition.run(output, size_t{2} * kCount);
    EXPECT_EQ(values[0], 1);
    EXPECT_EQ(values[kCount - 1], kCount);
    EXPECT_EQ(values[kCount], -2);
    EXPECT_EQ(values[size_t{2} * kCount - 1], -2.0F * kCount);
}

TEST(SharedPlaces, AreFoundThroughOthers) {
    OnePartition partition;
    const TensorId first = partition.reshaped(partition.negative(partition.x()), {1, kCount});
    const TensorId second = partition.reshaped(partition.doubled(partition.x()), {1, kCount});
    const TensorId joined = partition.joined({first, second}, 1);
    const TensorId output = partition.negative(partition.reshaped(joined, {2, kCount}));
    EXPECT_EQ(partition.workspaceBytes(output), 2 * kBytes);
    const std::vector<float> values = partition.run(output, size_t{2} * kCount);
    EXPECT_EQ(values[1], 2);
    EXPECT_EQ(values[kCount + 1], -4);
}

TEST(SharedPlaces, LastAsLongAsAnyoneReadsThem) {
    OnePartition partition;
    const TensorId part = partition.negative(partition.x());
    const TensorId joined = partition.joined({part, partition.doubled(partition.x())});
    TensorId later = partition.negative(joined);
    for (int i = 0; i < 5; ++i) {  // whose results would fit where the part lies
        later = partition.doubled(later);
    }
    const TensorId output = partition.joined({part, later});
    const std::vector<float> values = partition.run(output, size_t{3} * kCount);
    EXPECT_EQ(values[0], -1);
    EXPECT_EQ(values[kCount - 1], -kCount);
    EXPECT_EQ(values[kCount], 32);
    EXPECT_EQ(values[size_t{3} * kCount - 1], -64.0F * kCount);
}

TEST(SharedPlaces, AreNotThoseOfOneTensorTwice) {
    OnePartition partition;
    const TensorId part = partition.negative(partition.x());
    const TensorId output =
            partition.doubled(partition.joined({part, partition.doubled(part), part}));
    const std::vector<float> values = partition.run(output, size_t{3} * kCount);
    EXPECT_EQ(values[0], -2);
    EXPECT_EQ(values[kCount], -4);
    EXPECT_EQ(values[size_t{2} * kCount], -2);
    // Nor may it be in two places.
    const TensorId other = partition.joined({partition.joined({part, partition.doubled(part)}),
                                             partition.joined({partition.doubled(part), part})});
    const std::vector<float> both = partition.run(partition.doubled(other), size_t{4} * kCount);
    EXPECT_EQ(both[0], -2);
    EXPECT_EQ(both[kCount], -4);
    EXPECT_EQ(both[size_t{2} * kCount], -4);
    EXPECT_EQ(both[size_t{3} * kCount], -2);
}

// Of bytes, each part has its own scale, and the output another.
TEST(SharedPlaces, AreNotThoseOfPartsThatAreRequantized) {
    OnePartition partition;
    const auto bytes = [](float scale) {
        return TensorType{.type = DataType::QUANT8_ASYMM_SIGNED,
                          .shape = Shape::unknownRank(),
                          .quantization = {.scale = scale, .channelScales = {}}};
    };
    const auto quantized = [&](float scale) {
        const TensorId output = partition.graph.addTensor(bytes(scale));
        partition.graph.addNode({.descriptor = Quantize(),
                                 .inputs = {partition.x()},
                                 .outputs = {output},
                                 .label = "quantize",
                                 .sources = {}});
        return output;
    };
    const TensorId joined = partition.graph.addTensor(bytes(16));
    partition.graph.addNode({.descriptor = Concat(),
                             .inputs = {quantized(16), quantized(8)},
                             .outputs = {joined},
                             .label = "join",
                             .sources = {}});
    const TensorId output = addNode(partition.graph, Dequantize(), {joined});
    const std::vector<float> values = partition.run(output, size_t{2} * kCount);
    EXPECT_EQ(values[63], 64);
    EXPECT_EQ(values[kCount + 63], 64);
}

// Rows of the parts lie between each other.
TEST(SharedPlaces, AreNotThoseOfPartsWithinRows) {
    OnePartition partition;
    const TensorId first = partition.negative(partition.reshaped(partition.x(), {2, kCount / 2}));
    const TensorId joined = partition.joined({first, partition.doubled(first)}, 1);
    const std::vector<float> values = partition.run(partition.negative(joined), size_t{2} * kCount);
    EXPECT_EQ(values[0], 1);
    EXPECT_EQ(values[kCount / 2], 2);
    EXPECT_EQ(values[kCount], 1 + kCount / 2);
    EXPECT_EQ(values[kCount + kCount / 2], 2 + kCount);
}

TEST(SharedPlaces, AreNotTheCallersMemory) {
    OnePartition partition;
    const TensorId joined = partition.joined({partition.x(), partition.negative(partition.x())});
    const std::vector<float> values = partition.run(joined, size_t{2} * kCount);
    EXPECT_EQ(values[0], 1);
    EXPECT_EQ(values[kCount], -1);
    // Nothing is in an output's memory, which a client may change, before all of it is computed.
    const TensorId other =
            partition.joined({partition.negative(partition.x()), partition.doubled(partition.x())});
    EXPECT_EQ(partition.workspaceBytes(other),
              3 * kBytes);  // with the first part, which is not read
    EXPECT_EQ(partition.run(other, size_t{2} * kCount)[kCount], 2);
}

// A part that is ready early would hold the memory of all of them while others need it.
TEST(SharedPlaces, AreGivenUpWhereTheyTakeMoreMemory) {
    OnePartition partition;
    const TensorId early = partition.negative(partition.x());
    const TensorId wide = partition.doubled(
            partition.joined({partition.x(), partition.x(), partition.x(), partition.x()}));
    const TensorId small = addNode(partition.graph, Reduce{.function = Reduce::Function::MAX},
                                   {wide, addConstant<int32_t>(partition.graph, int32({1}), {0})});
    const TensorId late =
            addNode(partition.graph, Tile(),
                    {small, addConstant<int32_t>(partition.graph, int32({1}), {3 * kCount})});
    const TensorId output = partition.negative(partition.joined({early, late}));
    // Both wide tensors at once, and the early one; not the joined one, too.
    EXPECT_LE(partition.workspaceBytes(output), 9 * kBytes);
    const std::vector<float> values = partition.run(output, size_t{4} * kCount);
    EXPECT_EQ(values[0], 1);
    EXPECT_EQ(values[kCount], -2.0F * kCount);
}

// ---- Outputs in the place of inputs -------------------------------------------------------------

// The places in the partition with this output, where each step of two inputs may replace the
// first.
class Replaced {
  public:
    Replaced(OnePartition& partition, TensorId output) {
        partition.graph.setOutputs({output});
        Partition whole = {.nodes = {}, .inputs = {partition.x()}, .outputs = {output}};
        for (NodeId node = 0; node < partition.graph.nodes().size(); ++node) {
            whole.nodes.push_back(node);
        }
        mLayout = layOut(std::make_shared<Graph>(partition.graph), whole).value();
        for (const LocalTensor& tensor : mLayout.tensors) {
            TensorType type = partition.graph.tensor(tensor.id).type;
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

    PartitionLayout mLayout;
    std::vector<TensorType> mTypes;
    std::vector<std::optional<size_t>> mReplaceable;
};

TEST(ReplacedPlaces, AreThoseOfInputsThatAreNotReadAgain) {
    OnePartition partition;
    const TensorId a = partition.negative(partition.x());
    const TensorId b = partition.negative(a);
    const TensorId sum = addSum(partition.graph, a, b);
    const TensorId next = addSum(partition.graph, sum, b);
    Replaced replaced(partition, partition.negative(next));
    EXPECT_TRUE(replaced.replaces(sum, a));
    EXPECT_TRUE(replaced.replaces(next, a));
    EXPECT_FALSE(replaced.replaces(next, b));
    replaced.resize(a);
    EXPECT_FALSE(replaced.replaces(sum, a));
    EXPECT_TRUE(replaced.replaces(next, sum));
}

TEST(ReplacedPlaces, AreNotThoseOfInputsThatAreReadLater) {
    OnePartition partition;
    const TensorId a = partition.negative(partition.x());
    const TensorId sum = addSum(partition.graph, a, partition.negative(a));
    const TensorId output = addSum(partition.graph, sum, partition.negative(a));
    Replaced replaced(partition, partition.negative(output));
    EXPECT_FALSE(replaced.replaces(sum, a));
    EXPECT_TRUE(replaced.replaces(output, sum));
}

// A reshaped tensor lies where the one that it is made of does.
TEST(ReplacedPlaces, AreNotThoseOfWhatIsReadByAnotherName) {
    OnePartition partition;
    const TensorId a = partition.negative(partition.x());
    const TensorId reshaped = partition.reshaped(a, {kCount});
    const TensorId sum = addSum(partition.graph, reshaped, partition.x());
    const TensorId output = addSum(partition.graph, sum, a);
    EXPECT_FALSE(Replaced(partition, partition.negative(output)).replaces(sum, reshaped));
}

TEST(ReplacedPlaces, AreNotThoseOfWhatAnotherInputReads) {
    OnePartition partition;
    const TensorId a = partition.negative(partition.x());
    const TensorId twice = addSum(partition.graph, a, a);
    EXPECT_FALSE(Replaced(partition, partition.negative(twice)).replaces(twice, a));

    OnePartition other;
    const TensorId b = other.negative(other.x());
    const TensorId reshaped = other.reshaped(b, {kCount});
    const TensorId both = addSum(other.graph, reshaped, b);
    EXPECT_FALSE(Replaced(other, other.negative(both)).replaces(both, reshaped));
}

TEST(ReplacedPlaces, AreNotTheCallersMemory) {
    OnePartition partition;
    const TensorId sum = addSum(partition.graph, partition.x(), partition.negative(partition.x()));
    const TensorId a = partition.negative(sum);
    const TensorId output = addSum(partition.graph, a, sum);
    Replaced replaced(partition, output);
    EXPECT_FALSE(replaced.replaces(sum, partition.x()));
    EXPECT_FALSE(replaced.replaces(output, a));
}

}  // namespace
}  // namespace halyard::engine
