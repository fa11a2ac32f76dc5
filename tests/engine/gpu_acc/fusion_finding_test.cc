// SPDX-License-Identifier: Apache-2.0
//
// Which nodes GpuAcc computes together on a device of which only the facts are there.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/backends/gpu/fusion.h"
#include "tests/engine/reference/evaluation.h"

namespace halyard::engine::gpu {
namespace {

// One of data centres', with all that its matrix unit does.
DeviceFacts largeDevice() {
    DeviceFacts facts;
    facts.computeUnits = 132;
    facts.maxWorkGroupSize = 1024;
    facts.localBytes = 48 << 10;
    facts.prefersTiles = true;
    facts.dividesExactly = true;
    return facts;
}
const MatrixFeatures kMatrixFeatures = {
        .dot4 = true, .asyncCopy = true, .float16Mma = true, .tf32Mma = true, .int8Mma = true};

// A convolution and what is added to it; constants have no elements but for lists.
class FeatureMaps {
  public:
    FeatureMaps(DataType type, Shape x, Shape weights, const Conv2d& node = {}) : mType(type) {
        result = add(node, {tensor(x), tensor(weights), tensor({weights[0]})},
                     {x[0], x[1], x[2], weights[0]});
    }
    TensorId add(const NodeDescriptor& node, std::vector<TensorId> inputs, Shape output) {
        const TensorId id = tensor(output);
        graph.addNode({.descriptor = node,
                       .inputs = std::move(inputs),
                       .outputs = {id},
                       .label = "node",
                       .sources = {}});
        return id;
    }
    TensorId tensor(Shape shape) {
        TensorType type = {.type = mType, .shape = shape, .quantization = {}};
        type.quantization.scale = isQuantized(mType) ? 0.5F : 0.0F;
        return graph.addTensor(type);
    }
    TensorId list(const std::vector<int32_t>& elements) {
        const auto values = ref_test::ints({static_cast<int32_t>(elements.size())}, elements);
        return graph.addConstant(values.type, {.owner = nullptr, .bytes = values.bytes}).value();
    }
    // How many nodes the convolution is computed with, itself among them.
    size_t together(const DeviceFacts& facts = largeDevice()) const {
        Partition partition;
        for (NodeId node = 0; node < graph.nodes().size(); ++node) {
            partition.nodes.push_back(node);
        }
        partition.outputs = outputs;
        for (const FusedNodes& nodes :
             findFusions(graph, partition, {.facts = facts, .matrixFeatures = kMatrixFeatures})) {
            if (std::ranges::find(nodes, size_t{0}) != nodes.end()) {
                return nodes.size();
            }
        }
        return 1;
    }

    Graph graph;
    TensorId result = kNoTensor;  // of the convolution
    std::vector<TensorId> outputs;

  private:
    const DataType mType;
};

size_t withPooling(FeatureMaps featureMaps, const Pool2d& pool, Shape output) {
    featureMaps.add(pool, {featureMaps.result}, output);
    return featureMaps.together();
}

size_t withMean(FeatureMaps featureMaps, const std::vector<int32_t>& axes, Shape output) {
    featureMaps.add(Reduce(), {featureMaps.result, featureMaps.list(axes)}, output);
    return featureMaps.together();
}

constexpr Pool2d kWhole = {.filterH = 7, .filterW = 7};

FeatureMaps last(DataType type = DataType::FLOAT16) {
    return {type, {1, 7, 7, 320}, {1280, 1, 1, 320}};
}

TEST(GpuAccFusionFinding, TakesTheMeansThatNetworksEndWith) {
    for (const DataType type : {DataType::FLOAT32, DataType::FLOAT16, DataType::QUANT8_ASYMM,
                                DataType::QUANT8_ASYMM_SIGNED}) {
        SCOPED_TRACE(toString(type));
        EXPECT_EQ(withPooling(last(type), kWhole, {1, 1, 1, 1280}), 2u);
        EXPECT_EQ(withMean(last(type), {2, 1}, {1, 1280}), 2u);
        FeatureMaps residual(type, {1, 7, 7, 512}, {2048, 1, 1, 512});
        const Shape shape = {1, 7, 7, 2048};
        TensorId x = residual.add(Binary(), {residual.tensor(shape), residual.result}, shape);
        x = residual.add(Activate(), {x}, shape);
        x = residual.add(Reduce{.keepDims = true}, {x, residual.list({-3, -2})}, {1, 1, 1, 2048});
        residual.add(Reshape(), {x, residual.list({1, 2048})}, {1, 2048});
        EXPECT_EQ(residual.together(), 5u);
    }
}

TEST(GpuAccFusionFinding, LeavesMeansThatAreNotOfFeatureMaps) {
    EXPECT_EQ(withPooling(last(), {.filterH = 7, .filterW = 6}, {1, 1, 2, 1280}), 1u);
    EXPECT_EQ(withPooling(last(),
                          {.window = {.padding = PaddingScheme::SAME}, .filterH = 7, .filterW = 7},
                          {1, 7, 7, 1280}),
              1u);
    EXPECT_EQ(withPooling(last(),
                          {.window = {.padding = PaddingScheme::EXPLICIT, .top = 1, .strideH = 2},
                           .filterH = 7,
                           .filterW = 7},
                          {1, 1, 1, 1280}),
              1u)
            << "a row of the window is padding, and one of the feature map is left out";
    EXPECT_EQ(withPooling(last(), {.function = Pool2d::Function::MAX, .filterH = 7, .filterW = 7},
                          {1, 1, 1, 1280}),
              1u);
    EXPECT_EQ(withMean(last(), {1}, {1, 7, 1280}), 1u);
    EXPECT_EQ(withMean(last(), {1, 2, 3}, {1}), 1u);
    FeatureMaps summed = last();
    summed.add(Reduce{.function = Reduce::Function::SUM}, {summed.result, summed.list({1, 2})},
               {1, 1280});
    EXPECT_EQ(summed.together(), 1u);
    FeatureMaps shaped = last();
    const TensorId other =
            shaped.add(Reshape(), {shaped.result, shaped.list({7, 7, 1, 1280})}, {7, 7, 1, 1280});
    shaped.add(Reduce(), {other, shaped.list({1, 2})}, {7, 1280});
    EXPECT_EQ(shaped.together(), 2u) << "the reshape alone";
}

// Tiles of pixels are of the convolution's own rows.
TEST(GpuAccFusionFinding, LeavesWindowsOverPixelsInOtherRows) {
    const DepthwiseConv2d window = {.window = {.padding = PaddingScheme::SAME}};
    FeatureMaps straight(DataType::FLOAT32, {1, 14, 14, 16}, {48, 1, 1, 16});
    straight.add(window, {straight.result, straight.tensor({1, 3, 3, 48}), straight.tensor({48})},
                 {1, 14, 14, 48});
    EXPECT_EQ(straight.together(), 2u);
    FeatureMaps shaped(DataType::FLOAT32, {1, 14, 14, 16}, {48, 1, 1, 16});
    const TensorId other =
            shaped.add(Reshape(), {shaped.result, shaped.list({1, 7, 28, 48})}, {1, 7, 28, 48});
    shaped.add(window, {other, shaped.tensor({1, 3, 3, 48}), shaped.tensor({48})}, {1, 7, 28, 48});
    EXPECT_EQ(shaped.together(), 2u) << "the reshape alone";
}

TEST(GpuAccFusionFinding, LeavesMeansOfWhatOthersRead) {
    FeatureMaps read = last();
    read.add(kWhole, {read.result}, {1, 1, 1, 1280});
    read.add(Pool2d{.function = Pool2d::Function::MAX, .filterH = 7, .filterW = 7}, {read.result},
             {1, 1, 1, 1280});
    EXPECT_EQ(read.together(), 1u);
    FeatureMaps output = last();
    output.add(kWhole, {output.result}, {1, 1, 1, 1280});
    output.outputs = {output.result};
    EXPECT_EQ(output.together(), 1u);
}

TEST(GpuAccFusionFinding, LeavesMeansWhereTilesWouldBeLate) {
    EXPECT_EQ(withPooling({DataType::FLOAT16, {1, 14, 14, 320}, {1280, 1, 1, 320}},
                          {.filterH = 14, .filterW = 14}, {1, 1, 1, 1280}),
              1u)
            << "no tile holds the feature map";
    // Half of each tile would be rows of nothing.
    const auto ofMany = [](int32_t height, int32_t width) {
        return withPooling({DataType::FLOAT16,
                            {64, height, width, 512},
                            {1024, 3, 3, 512},
                            Conv2d{.window = {.padding = PaddingScheme::SAME}}},
                           {.filterH = height, .filterW = width}, {64, 1, 1, 1024});
    };
    EXPECT_EQ(ofMany(3, 11), 1u);
    EXPECT_EQ(ofMany(8, 8), 2u);
    EXPECT_EQ(withPooling({DataType::FLOAT16, {1, 2, 2, 320}, {1280, 1, 1, 320}},
                          {.filterH = 2, .filterW = 2}, {1, 1, 1, 1280}),
              1u)
            << "so few rows go otherwise";
    DeviceFacts processor = largeDevice();
    processor.prefersTiles = false;
    FeatureMaps featureMaps = last();
    featureMaps.add(kWhole, {featureMaps.result}, {1, 1, 1, 1280});
    EXPECT_EQ(featureMaps.together(processor), 1u);
    DeviceFacts cramped = largeDevice();
    cramped.localBytes = 8 << 10;
    EXPECT_EQ(featureMaps.together(cramped), 1u);
}

}  // namespace
}  // namespace halyard::engine::gpu
