// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/ref/cpu_ref.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/base/aligned_buffer.h"
#include "engine/base/checkpoint.h"
#include "engine/base/thread_pool.h"
#include "engine/plan/constant_store.h"
#include "tests/engine/reference/evaluation.h"

namespace halyard::engine::ref_test {
namespace {

const TensorType kOpen = typeOf(DataType::FLOAT32, Shape::unknownRank());

// A partition for one set of input shapes.
struct Specialized {
    std::unique_ptr<CompiledPartition> compiled;
    std::unique_ptr<const SpecializedPartition> shaped;

    const SpecializedPartition* operator->() const { return shaped.get(); }
};

// A graph that is one partition, under construction.
class PartitionBuilder {
  public:
    TensorId input(TensorType type) {
        mPartition.inputs.push_back(mGraph->addTensor(std::move(type)));
        return mPartition.inputs.back();
    }
    TensorId constant(const Values& values) {
        auto owner = std::make_shared<std::vector<uint8_t>>(values.bytes);
        const std::span<const uint8_t> bytes = *owner;
        return *mGraph->addConstant(values.type, {.owner = std::move(owner), .bytes = bytes});
    }
    TensorId node(NodeDescriptor descriptor, std::vector<TensorId> inputs, TensorType output) {
        const TensorId id = mGraph->addTensor(std::move(output));
        mPartition.nodes.push_back(
                mGraph->addNode({.descriptor = std::move(descriptor),
                                 .inputs = std::move(inputs),
                                 .outputs = {id},
                                 .label = "node " + std::to_string(mPartition.nodes.size()),
                                 .sources = {}}));
        return id;
    }
    void output(TensorId id) { mPartition.outputs.push_back(id); }

    Result<std::unique_ptr<CompiledPartition>> compile() const {
        ThreadPool threads(1);
        ConstantStore constants;
        return makeCpuRef()->compile({.graph = mGraph,
                                      .partition = mPartition,
                                      .constants = constants,
                                      .memory = nullptr,
                                      .threads = &threads});
    }
    Result<Specialized> specialize(const std::vector<TensorType>& inputs) const {
        HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<CompiledPartition> compiled, compile());
        std::vector<const TensorType*> types;
        for (const TensorType& type : inputs) {
            types.push_back(&type);
        }
        HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<const SpecializedPartition> shaped,
                                 compiled->specialize(types, Checkpoint()));
        return Specialized{.compiled = std::move(compiled), .shaped = std::move(shaped)};
    }
    const Graph& graph() const { return *mGraph; }

  private:
    std::shared_ptr<Graph> mGraph = std::make_shared<Graph>();
    Partition mPartition;
};

// Runs a partition as the planner would, with outputs of unknown shape from this object.
struct PartitionRun : OutputAllocator {
    std::vector<Values> outputs = {};
    Checkpoint checkpoint = {};
    Status allocation = {};  // what allocate() fails with
    std::shared_ptr<Budget> memory = {};

    Result<TensorView> allocate(size_t index, const Shape& shape) override {
        HALYARD_RETURN_IF_ERROR(allocation);
        outputs[index].type.shape = shape;
        outputs[index].bytes.resize(*outputs[index].type.byteSize() + 1);
        return TensorView{.type = &outputs[index].type, .data = outputs[index].bytes.data()};
    }

    Status run(const Specialized& partition, const std::vector<Values>& inputs) {
        std::vector<ConstTensorView> inputViews;
        inputViews.reserve(inputs.size());
        for (const Values& input : inputs) {
            inputViews.push_back({.type = &input.type, .data = input.bytes.data()});
        }
        outputs.clear();
        outputs.reserve(partition->outputTypes().size());
        for (const TensorType& type : partition->outputTypes()) {
            outputs.push_back({.type = type, .bytes = {}});
            if (type.shape.isFullyKnown()) {
                outputs.back().bytes.resize(*type.byteSize() + 1);
            }
        }
        std::vector<TensorView> outputViews;
        outputViews.reserve(outputs.size());
        for (Values& output : outputs) {
            outputViews.push_back({.type = &output.type,
                                   .data = output.bytes.empty() ? nullptr : output.bytes.data()});
        }
        const AlignedBuffer workspace =
                *AlignedBuffer::allocate(partition->workspaceBytes(), kTensorAlignment);
        HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<PartitionState> state,
                                 partition.compiled->makeState({}));
        RunArguments arguments;
        arguments.inputs = inputViews;
        arguments.outputs = outputViews;
        arguments.allocator = this;
        arguments.workspace = workspace.bytes();
        arguments.state = state.get();
        arguments.checkpoint = checkpoint;
        arguments.memory = memory;
        const Status status = partition->run(arguments);
        for (Values& output : outputs) {
            if (output.type.shape.isFullyKnown()) {
                output.bytes.resize(*output.type.byteSize());
            }
        }
        return status;
    }
};

const Activate kRelu = {.function = Activate::Function::RELU};
const Binary kAdd = {.function = Binary::Function::ADD};

TEST(CpuRef, HasItsName) {
    EXPECT_EQ(makeCpuRef()->name(), "CpuRef");
}

TEST(CpuRef, SaysWhyItDoesNotTakeANode) {
    PartitionBuilder builder;
    const NodeId node = 0;
    builder.node(If(), {}, kOpen);
    const Status status = makeCpuRef()->supports(builder.graph(), node);
    EXPECT_EQ(status.code(), StatusCode::UNSUPPORTED);
    EXPECT_EQ(status.message(), "has no kernel for If yet");
}

TEST(CpuRef, RunsNodesInOrder) {
    PartitionBuilder builder;
    const TensorId x = builder.input(typeOf(DataType::FLOAT32, {3}));
    const TensorId bias = builder.constant(floats({3}, {1, 2, 3}));
    const TensorId sum = builder.node(kAdd, {x, bias}, kOpen);
    const TensorId positive = builder.node(kRelu, {sum}, kOpen);
    builder.output(builder.node(kAdd, {positive, sum}, kOpen));
    const auto partition = builder.specialize({typeOf(DataType::FLOAT32, {3})});
    ASSERT_TRUE(partition.ok()) << partition.status().toString();
    EXPECT_EQ((*partition)->outputTypes()[0].shape, (Shape{3}));

    PartitionRun run;
    ASSERT_TRUE(run.run(*partition, {floats({3}, {-5, 0, 5})}).ok());
    EXPECT_TRUE(holds(run.outputs[0], {-4, 4, 16}));
}

TEST(CpuRef, WritesAnOutputThatItReadsAgain) {
    PartitionBuilder builder;
    const TensorId x = builder.input(typeOf(DataType::FLOAT32, {2}));
    const TensorId positive = builder.node(kRelu, {x}, kOpen);
    const TensorId sum = builder.node(kAdd, {positive, x}, kOpen);
    builder.output(sum);
    builder.output(positive);
    PartitionRun run;
    ASSERT_TRUE(
            run.run(*builder.specialize({typeOf(DataType::FLOAT32, {2})}), {floats({2}, {-1, 2})})
                    .ok());
    EXPECT_TRUE(holds(run.outputs[0], {-1, 4}));
    EXPECT_TRUE(holds(run.outputs[1], {0, 2}));
}

TEST(CpuRef, ReusesTheWorkspaceAlongAChain) {
    PartitionBuilder builder;
    TensorId x = builder.input(typeOf(DataType::FLOAT32, {1000}));
    for (int i = 0; i < 20; ++i) {
        x = builder.node(kRelu, {x}, kOpen);
    }
    builder.output(x);
    const auto partition = builder.specialize({typeOf(DataType::FLOAT32, {1000})});
    EXPECT_LT((*partition)->workspaceBytes(), 3 * 4000U);
}

TEST(CpuRef, SpecialisesForEachShape) {
    PartitionBuilder builder;
    const TensorId x = builder.input(kOpen);
    builder.output(builder.node(kAdd, {x, builder.constant(floats({2}, {1, 2}))}, kOpen));
    PartitionRun run;
    for (const int32_t rows : {1, 3, 0}) {
        const auto partition = builder.specialize({typeOf(DataType::FLOAT32, {rows, 2})});
        ASSERT_TRUE(partition.ok());
        EXPECT_EQ((*partition)->outputTypes()[0].shape, (Shape{rows, 2}));
        const Values input =
                floats({rows, 2}, std::vector<float>(static_cast<size_t>(rows) * 2, 1.0F));
        ASSERT_TRUE(run.run(*partition, {input}).ok());
        EXPECT_EQ(stored(run.outputs[0]).size(), static_cast<size_t>(rows) * 2);
    }
}

TEST(CpuRef, NamesTheNodeWhoseShapesDoNotFit) {
    PartitionBuilder builder;
    const TensorId x = builder.input(kOpen);
    const TensorId positive = builder.node(kRelu, {x}, kOpen);
    builder.output(builder.node(kAdd, {positive, builder.constant(floats({2}, {1, 2}))}, kOpen));
    const auto partition = builder.specialize({typeOf(DataType::FLOAT32, {3})});
    EXPECT_EQ(partition.status().code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(partition.status().message(), "node 1: shapes [3] and [2] can't be broadcast");
}

// x and the shape to give it are inputs; what comes after has unknown shapes, too.
class OpenPartition : public testing::Test {
  protected:
    OpenPartition() {
        const TensorId x = mBuilder.input(typeOf(DataType::FLOAT32, {6}));
        const TensorId shape = mBuilder.input(typeOf(DataType::INT32, {2}));
        const TensorId reshaped = mBuilder.node(Reshape(), {x, shape}, kOpen);
        const TensorId positive = mBuilder.node(kRelu, {reshaped}, kOpen);
        const TensorId axes = mBuilder.constant(ints({1}, {0}));
        mBuilder.output(mBuilder.node(Reduce(), {positive, axes}, kOpen));
        mBuilder.output(reshaped);
    }

    Status run(const std::vector<int32_t>& shape) {
        auto partition =
                mBuilder.specialize({typeOf(DataType::FLOAT32, {6}), typeOf(DataType::INT32, {2})});
        HALYARD_RETURN_IF_ERROR(partition.status());
        EXPECT_EQ((*partition)->outputTypes()[0].shape, (Shape{kUnknownDimension}));
        EXPECT_EQ((*partition)->outputTypes()[1].shape,
                  (Shape{kUnknownDimension, kUnknownDimension}));
        return mRun.run(*partition, {floats({6}, {-1, 2, 3, 4, 5, 6}), ints({2}, shape)});
    }

    PartitionBuilder mBuilder;
    PartitionRun mRun;
};

TEST_F(OpenPartition, FindsItsShapesFromTheData) {
    ASSERT_TRUE(run({2, -1}).ok());
    EXPECT_EQ(mRun.outputs[0].type.shape, (Shape{3}));
    EXPECT_TRUE(holds(mRun.outputs[0], {2, 3.5, 4.5}));
    EXPECT_EQ(mRun.outputs[1].type.shape, (Shape{2, 3}));
    EXPECT_TRUE(holds(mRun.outputs[1], {-1, 2, 3, 4, 5, 6}));

    ASSERT_TRUE(run({6, 1}).ok());
    EXPECT_TRUE(holds(mRun.outputs[0], {20.0 / 6}, 1e-6));
}

TEST_F(OpenPartition, RejectsDataThatGivesNoShape) {
    const Status status = run({4, -1});
    EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(status.message(), "node 0: 6 elements can't take the shape [4, ?]");
}

TEST_F(OpenPartition, ReportsThatAnOutputHasNoRoom) {
    mRun.allocation = Status(StatusCode::OUTPUT_TOO_SMALL, "too small");
    EXPECT_EQ(run({2, 3}).code(), StatusCode::OUTPUT_TOO_SMALL);
}

TEST_F(OpenPartition, TakesTheMemoryThatOnlyTheDataTellsFromTheBudget) {
    // The positive numbers, 24 bytes, lie between two nodes.
    mRun.memory = std::make_shared<Budget>(23);
    const Status status = run({2, 3});
    EXPECT_EQ(status.code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(status.message(),
              "node 1: its output FLOAT32[2, 3]: no room: 24 bytes are more than the limit of 23");
    mRun.memory = std::make_shared<Budget>(24);
    EXPECT_TRUE(run({2, 3}).ok());
    EXPECT_EQ(mRun.memory->reserved(), 0U) << "given back when the run has ended";
}

// The output's shape is known from the start, but not that the input fits it.
TEST(CpuRef, ChecksAnOpenInputAgainstAKnownOutput) {
    PartitionBuilder builder;
    const TensorId x = builder.input(typeOf(DataType::FLOAT32, {2}));
    const TensorId paddings = builder.input(typeOf(DataType::INT32, {1, 2}));
    const TensorId padded = builder.node(Pad(), {x, paddings, kNoTensor}, kOpen);
    const TensorId shape = builder.constant(ints({2}, {2, 2}));
    builder.output(builder.node(Reshape(), {padded, shape}, kOpen));
    const auto partition =
            builder.specialize({typeOf(DataType::FLOAT32, {2}), typeOf(DataType::INT32, {1, 2})});
    ASSERT_TRUE(partition.ok());
    EXPECT_EQ((*partition)->outputTypes()[0].shape, (Shape{2, 2}));
    PartitionRun run;
    ASSERT_TRUE(run.run(*partition, {floats({2}, {1, 2}), ints({1, 2}, {1, 1})}).ok());
    EXPECT_TRUE(holds(run.outputs[0], {0, 1, 2, 0}));
    EXPECT_EQ(run.run(*partition, {floats({2}, {1, 2}), ints({1, 2}, {1, 2})}).code(),
              StatusCode::INVALID_ARGUMENT);
}

TEST(CpuRef, StopsBetweenNodesAtTheDeadline) {
    PartitionBuilder builder;
    const TensorId x = builder.input(typeOf(DataType::FLOAT32, {1}));
    builder.output(builder.node(kRelu, {x}, kOpen));
    PartitionRun run;
    run.checkpoint = Checkpoint(std::chrono::steady_clock::now());
    const Status status =
            run.run(*builder.specialize({typeOf(DataType::FLOAT32, {1})}), {floats({1}, {1})});
    EXPECT_EQ(status.code(), StatusCode::DEADLINE_EXCEEDED) << "small as the node is";
}

TEST(CpuRef, RunsOnSeveralThreadsAtOnce) {
    PartitionBuilder builder;
    const TensorId x = builder.input(typeOf(DataType::FLOAT32, {64}));
    const TensorId positive = builder.node(kRelu, {x}, kOpen);
    builder.output(builder.node(kAdd, {positive, x}, kOpen));
    const auto partition = builder.specialize({typeOf(DataType::FLOAT32, {64})});
    std::vector<std::thread> threads;
    std::vector<double> results(4);
    threads.reserve(results.size());
    for (size_t i = 0; i < results.size(); ++i) {
        threads.emplace_back([&, i] {
            for (int round = 0; round < 50; ++round) {
                PartitionRun run;
                const std::vector<float> input(64, static_cast<float>(i));
                EXPECT_TRUE(run.run(*partition, {floats({64}, input)}).ok());
                results[i] = stored(run.outputs[0])[63];
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(results, (std::vector<double>{0, 2, 4, 6}));
}

TEST(CpuRef, RefusesPartitionsThatReadWhatNobodyWrote) {
    PartitionBuilder builder;
    const TensorId x = builder.node(kRelu, {0}, kOpen);
    builder.output(x);
    EXPECT_EQ(builder.compile().status().code(), StatusCode::INTERNAL);
}

TEST(CpuRef, RefusesTheWrongNumberOfTensors) {
    PartitionBuilder builder;
    const TensorId x = builder.input(typeOf(DataType::FLOAT32, {1}));
    builder.output(builder.node(kRelu, {x}, kOpen));
    EXPECT_EQ(builder.specialize({}).status().code(), StatusCode::INTERNAL);
    PartitionRun run;
    EXPECT_EQ(run.run(*builder.specialize({typeOf(DataType::FLOAT32, {1})}), {}).code(),
              StatusCode::INTERNAL);
}

}  // namespace
}  // namespace halyard::engine::ref_test
