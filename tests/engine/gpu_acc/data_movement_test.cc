// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "tests/engine/gpu_acc/on_device.h"

namespace halyard::engine::gpu_test {
namespace {

using ref_test::ints;

constexpr DataType kMoved[] = {DataType::FLOAT32, DataType::FLOAT16, DataType::QUANT8_ASYMM,
                               DataType::QUANT16_SYMM, DataType::INT32};

Values list(const std::vector<int32_t>& elements) {
    return ints({static_cast<int32_t>(elements.size())}, elements);
}

// Runs body(random, type) for each type of elements, several times.
template <typename Body>
void forEachType(Body body) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : kMoved) {
        for (int round = 0; round < 3; ++round) {
            SCOPED_TRACE(toString(type));
            body(random, type);
        }
    }
}

TEST(GpuAccDataMovement, TransposesAndReverses) {
    HALYARD_NEEDS_DEVICE();
    forEachType([](RandomValues& random, DataType type) {
        const auto rank = static_cast<size_t>(random.integer(1, 5));
        std::vector<int32_t> permutation(rank);
        std::iota(permutation.begin(), permutation.end(), 0);
        for (size_t i = rank; i-- > 1;) {
            std::swap(permutation[i],
                      permutation[static_cast<size_t>(random.integer(0, static_cast<int32_t>(i)))]);
        }
        const TensorType x = randomType(random, type, randomShape(random, rank, 1, 9));
        const Values values = randomValues(random, x);
        ASSERT_TRUE(agrees(Transpose(), {values, list(permutation)}, {x}));
        ASSERT_TRUE(agrees(Transpose(), {values, std::nullopt}, {x}));
        const int32_t axis = random.integer(0, static_cast<int32_t>(rank) - 1);
        ASSERT_TRUE(agrees(Reverse(), {values, list({axis})}, {x}));
    });
}

TEST(GpuAccDataMovement, CopiesWhatOnlyChangesItsShape) {
    HALYARD_NEEDS_DEVICE();
    forEachType([](RandomValues& random, DataType type) {
        const TensorType x = randomType(random, type, randomShape(random, 3, 0, 30));
        const int32_t count = static_cast<int32_t>(*x.shape.elementCount());
        ASSERT_TRUE(agrees(Reshape(), {randomValues(random, x), list({count})}, {x}));
        ASSERT_TRUE(agrees(ExpandDims{.axis = 1}, {randomValues(random, x)}, {x}));
        TensorType thin = x;
        thin.shape[1] = 1;
        ASSERT_TRUE(agrees(Squeeze(), {randomValues(random, thin), list({1})}, {x}));
        ASSERT_TRUE(agrees(Rank(), {randomValues(random, x)}, {ref_test::kInt32}));
    });
}

TEST(GpuAccDataMovement, JoinsAndSplits) {
    HALYARD_NEEDS_DEVICE();
    forEachType([](RandomValues& random, DataType type) {
        TensorType x = randomType(random, type, randomShape(random, 4, 0, 7));
        const int32_t axis = random.integer(-4, 3);
        const auto at = static_cast<size_t>((axis + 4) % 4);
        std::vector<std::optional<Values>> parts;
        for (int part = 0; part < 3; ++part) {
            x.shape[at] = random.integer(0, 20);
            TensorType own = x;
            if (type == DataType::QUANT8_ASYMM && random.coin()) {
                own.quantization = random.quantization(type, 0.02F).quantization;
            }
            parts.emplace_back(randomValues(random, own));
        }
        ASSERT_TRUE(agrees(Concat{.axis = axis}, parts, {x}));
        x.shape[at] = 3 * random.integer(0, 20);
        ASSERT_TRUE(agrees(Split{.axis = axis}, {randomValues(random, x)}, {x, x, x}));
        ASSERT_TRUE(agrees(Pack{.axis = axis}, {randomValues(random, x), randomValues(random, x)},
                           {x}));
    });
}

TEST(GpuAccDataMovement, CutsAndPads) {
    HALYARD_NEEDS_DEVICE();
    forEachType([](RandomValues& random, DataType type) {
        const TensorType x = randomType(random, type, {6, 7, 8});
        const Values values = randomValues(random, x);
        ASSERT_TRUE(agrees(Slice(), {values, list({1, 0, 3}), list({4, -1, 2})}, {x}));
        ASSERT_TRUE(agrees(StridedSlice{.endMask = 2, .shrinkMask = 1},
                           {values, list({2, 6, 7}), list({3, 0, 0}), list({1, -2, -3})}, {x}));
        const Values paddings = ints({3, 2}, {1, 2, 0, 0, 3, random.integer(0, 3)});
        ASSERT_TRUE(agrees(Pad(), {values, paddings, std::nullopt}, {x}));
        if (type == DataType::FLOAT32) {
            ASSERT_TRUE(agrees(Pad(), {values, paddings, ref_test::floats({}, {2.5F})}, {x},
                               std::nullopt, 0b100));
        }
        if (type == DataType::QUANT8_ASYMM) {
            ASSERT_TRUE(agrees(Pad(), {values, paddings, ints({}, {9})}, {x}, std::nullopt, 0b100));
        }
        for (const Pad::Mode mode : {Pad::Mode::REFLECT, Pad::Mode::SYMMETRIC}) {
            ASSERT_TRUE(agrees(Pad{.mode = mode}, {values, paddings, std::nullopt}, {x}));
        }
    });
}

TEST(GpuAccDataMovement, RepeatsAndFills) {
    HALYARD_NEEDS_DEVICE();
    forEachType([](RandomValues& random, DataType type) {
        const TensorType x = randomType(random, type, {2, 5, 3});
        const Values values = randomValues(random, x);
        ASSERT_TRUE(agrees(Tile(), {values, list({3, 1, 2})}, {x}));
        if (type == DataType::FLOAT32) {
            ASSERT_TRUE(agrees(Fill(), {list({3, 4}), ref_test::floats({}, {1.5F})},
                               {ref_test::kFloat}));
        }
    });
}

TEST(GpuAccDataMovement, MovesBlocksAndChannels) {
    HALYARD_NEEDS_DEVICE();
    forEachType([](RandomValues& random, DataType type) {
        const TensorType x = randomType(random, type, {4, 4, 6, 8});
        const Values values = randomValues(random, x);
        ASSERT_TRUE(agrees(DepthToSpace{.block = 2}, {values}, {x}));
        ASSERT_TRUE(agrees(SpaceToDepth{.block = 2}, {values}, {x}));
        ASSERT_TRUE(agrees(BatchToSpace(), {values, list({2, 1})}, {x}));
        ASSERT_TRUE(
                agrees(SpaceToBatch(), {values, list({3, 2}), ints({2, 2}, {1, 1, 0, 2})}, {x}));
        ASSERT_TRUE(agrees(ChannelShuffle{.groups = 4, .axis = -1}, {values}, {x}));
    });
}

TEST(GpuAccDataMovement, ResizesAsTheReference) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : {DataType::FLOAT32, DataType::FLOAT16, DataType::QUANT8_ASYMM,
                                DataType::QUANT8_ASYMM_SIGNED}) {
        for (const Resize::Function function :
             {Resize::Function::BILINEAR, Resize::Function::NEAREST}) {
            for (int variant = 0; variant < 3; ++variant) {
                const Resize node = {.function = function,
                                     .height = random.integer(1, 20),
                                     .width = random.integer(1, 20),
                                     .alignCorners = variant == 1,
                                     .halfPixelCenters = variant == 2};
                const TensorType x = randomType(random, type, {2, 7, 6, 5});
                ASSERT_TRUE(agrees(node, {randomValues(random, x)}, {x}, 2e-3))
                        << toString(NodeDescriptor(node)) << " of " << x.toString();
            }
        }
    }
}

// Where each row comes from is memory that no budget counts.
TEST(GpuAccDataMovement, ResizesToNoMoreRowsThanAFeatureMapHas) {
    HALYARD_NEEDS_DEVICE();
    constexpr int32_t kMost = 1 << 20;
    const Values x = ref_test::floats({1, 1, 1, 1}, {1});
    const auto refused = [&](int32_t height, int32_t width) {
        const Resize node = {
                .function = Resize::Function::NEAREST, .height = height, .width = width};
        return std::string(evaluateOnDevice(node, {x}, {x.type}, {}).status().message());
    };
    EXPECT_EQ(refused(kMost, 1), "");
    EXPECT_EQ(refused(1, kMost), "");
    for (const std::string& refusal : {refused(kMost + 1, 1), refused(1, kMost + 1)}) {
        EXPECT_TRUE(refusal.ends_with("resizes to at most 1048576 rows and columns")) << refusal;
    }
}

TEST(GpuAccDataMovement, RefusesWhatOnlyARunTells) {
    HALYARD_NEEDS_DEVICE();
    const Values x = ref_test::floats({3}, {1, 2, 3});
    EXPECT_EQ(refusal(Pad(), {x, ints({1, 2}, {1, 1}), ref_test::floats({}, {1})}, {x.type}),
              "pads with no value that only a run tells");
    EXPECT_EQ(refusal(Tile(), {x, list({2})}, {x.type}, {.controlInputsAreConstant = false}),
              "reads no multiples that only a run tells");
}

}  // namespace
}  // namespace halyard::engine::gpu_test
