// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "tests/engine/cpu_acc/tuned.h"

namespace halyard::engine::cpu_test {
namespace {

using ref_test::floats;
using ref_test::ints;

constexpr DataType kMoved[] = {DataType::FLOAT32, DataType::FLOAT16, DataType::QUANT8_ASYMM,
                               DataType::QUANT16_SYMM, DataType::INT32};
constexpr int kRounds = 8;

Values list(const std::vector<int32_t>& elements) {
    return ints({static_cast<int32_t>(elements.size())}, elements);
}

// Runs body(random, type) for each type of elements, several times.
template <typename Body>
void forEachType(Body body) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : kMoved) {
        for (int round = 0; round < kRounds; ++round) {
            SCOPED_TRACE(toString(type));
            body(random, type);
        }
    }
}

TEST(MovingAcc, TransposesAnyAxes) {
    forEachType([](RandomValues& random, DataType type) {
        const auto rank = static_cast<size_t>(random.integer(1, 5));
        std::vector<int32_t> permutation(rank);
        std::iota(permutation.begin(), permutation.end(), 0);
        for (size_t i = rank; i-- > 1;) {
            std::swap(permutation[i],
                      permutation[static_cast<size_t>(random.integer(0, static_cast<int32_t>(i)))]);
        }
        const TensorType x = randomType(random, type, randomShape(random, rank, 1, 9));
        ASSERT_TRUE(agrees(Transpose(), {randomValues(random, x), list(permutation)}, {x}));
    });
}

TEST(MovingAcc, TransposesLargeMatricesOfOddExtents) {
    forEachType([](RandomValues& random, DataType type) {
        const TensorType x =
                randomType(random, type, {2, random.integer(60, 140), random.integer(60, 140)});
        ASSERT_TRUE(agrees(Transpose(), {randomValues(random, x), list({0, 2, 1})}, {x}));
    });
}

TEST(MovingAcc, TransposesLongRowsOfFewElements) {
    forEachType([](RandomValues& random, DataType type) {
        // Where rows are as short as a colour they lie in one vector; pairs move as one element.
        const int32_t few = random.integer(1, 20);
        const int32_t many = random.integer(1, 3) * random.integer(1, 300);
        const TensorType pixels = randomType(random, type, {2, many, few});
        const TensorType planes = randomType(random, type, {2, few, many});
        const TensorType pairs = randomType(random, type, {random.integer(1, 40), few, 2});
        ASSERT_TRUE(agrees(Transpose(), {randomValues(random, pixels), list({0, 2, 1})}, {pixels}));
        ASSERT_TRUE(agrees(Transpose(), {randomValues(random, planes), list({0, 2, 1})}, {planes}));
        ASSERT_TRUE(agrees(Transpose(), {randomValues(random, pairs), list({1, 0, 2})}, {pairs}));
    });
}

TEST(MovingAcc, ShufflesManyChannels) {
    forEachType([](RandomValues& random, DataType type) {
        const int32_t groups = random.integer(2, 9);
        const TensorType x = randomType(random, type, {2, 3, groups * random.integer(1, 70)});
        ASSERT_TRUE(agrees(ChannelShuffle{.groups = groups, .axis = 2}, {randomValues(random, x)},
                           {x}));
    });
}

TEST(MovingAcc, CopiesWhatOnlyChangesItsShape) {
    forEachType([](RandomValues& random, DataType type) {
        const TensorType x = randomType(random, type, randomShape(random, 3, 0, 50));
        const int32_t count = static_cast<int32_t>(*x.shape.elementCount());
        ASSERT_TRUE(agrees(Reshape(), {randomValues(random, x), list({count})}, {x}));
        ASSERT_TRUE(agrees(ExpandDims{.axis = 1}, {randomValues(random, x)}, {x}));
        TensorType thin = x;
        thin.shape[1] = 1;
        ASSERT_TRUE(agrees(Squeeze(), {randomValues(random, thin), list({1})}, {x}));
    });
}

TEST(MovingAcc, JoinsAndSplits) {
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

TEST(MovingAcc, JoinsLongRows) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : {DataType::FLOAT32, DataType::QUANT8_ASYMM_SIGNED}) {
        const TensorType a = randomType(random, type, {2, 30011});
        const TensorType b = randomType(random, type, {2, 9000});
        ASSERT_TRUE(
                agrees(Concat{.axis = 1}, {randomValues(random, a), randomValues(random, b)}, {a}));
    }
}

TEST(MovingAcc, Slices) {
    forEachType([](RandomValues& random, DataType type) {
        const TensorType x = randomType(random, type, randomShape(random, 3, 1, 40));
        std::vector<int32_t> begins;
        std::vector<int32_t> sizes;
        std::vector<int32_t> ends;
        std::vector<int32_t> strides;
        for (size_t axis = 0; axis < 3; ++axis) {
            begins.push_back(random.integer(0, x.shape[axis] - 1));
            sizes.push_back(random.coin() ? -1 : random.integer(0, x.shape[axis] - begins.back()));
            ends.push_back(random.integer(-x.shape[axis], x.shape[axis]));
            strides.push_back(random.coin() ? 1 : random.coin() ? random.integer(2, 3) : -1);
        }
        ASSERT_TRUE(agrees(Slice(), {randomValues(random, x), list(begins), list(sizes)}, {x}));
        const StridedSlice strided = {.beginMask = random.integer(0, 7),
                                      .endMask = random.integer(0, 7)};
        ASSERT_TRUE(agrees(
                strided, {randomValues(random, x), list(begins), list(ends), list(strides)}, {x}));
    });
}

TEST(MovingAcc, PadsWithConstants) {
    forEachType([](RandomValues& random, DataType type) {
        if (type == DataType::QUANT16_SYMM) {
            return;
        }
        TensorType x = randomType(random, type, randomShape(random, 4, 0, 9));
        std::vector<int32_t> amounts(8);
        for (int32_t& amount : amounts) {
            amount = random.integer(0, 3);
        }
        if (random.coin()) {  // pixels that are rows of their own
            x.shape = {2, 3, 4, random.integer(1, 2000)};
            amounts[6] = amounts[7] = 0;
        }
        std::vector<std::optional<Values>> inputs = {randomValues(random, x), ints({4, 2}, amounts),
                                                     std::nullopt};
        if (!isQuantized(type) && random.coin()) {
            TensorType one = x;
            one.shape = {};
            inputs[2] = randomValues(random, one);
        }
        ASSERT_TRUE(agrees(Pad(), inputs, {x}));
    });
}

TEST(MovingAcc, PadsWithMirrors) {
    forEachType([](RandomValues& random, DataType type) {
        for (const Pad::Mode mode : {Pad::Mode::REFLECT, Pad::Mode::SYMMETRIC}) {
            const auto rank = static_cast<size_t>(random.integer(1, 4));
            TensorType x = randomType(random, type, randomShape(random, rank, 1, 6));
            if (random.coin()) {
                x.shape[rank - 1] = random.integer(1, 400);
            }
            const int32_t edge = mode == Pad::Mode::REFLECT ? 1 : 0;
            std::vector<int32_t> amounts;
            for (size_t axis = 0; axis < rank; ++axis) {
                // Axes that stay as they are make rows of more elements.
                const int32_t most = random.coin() ? x.shape[axis] - edge : 0;
                amounts.push_back(random.integer(0, most));
                amounts.push_back(random.integer(0, most));
            }
            ASSERT_TRUE(agrees(Pad{.mode = mode},
                               {randomValues(random, x),
                                ints({static_cast<int32_t>(rank), 2}, amounts), std::nullopt},
                               {x}));
        }
    });
}

TEST(MovingAcc, MirrorsNoMoreThanThereIs) {
    const Values x = floats({3}, {1, 2, 3});
    const Setting setting = {.set = cpu::bestInstructionSet(), .controlInputsAreConstant = false};
    EXPECT_FALSE(evaluateTuned(Pad{.mode = Pad::Mode::REFLECT},
                               {x, ints({1, 2}, {3, 0}), std::nullopt}, {x.type}, setting)
                         .ok());
}

TEST(MovingAcc, RegroupsFeatureMaps) {
    forEachType([](RandomValues& random, DataType type) {
        const int32_t block = random.integer(1, 3);
        TensorType x = randomType(random, type, randomShape(random, 4, 1, 5));
        x.shape[3] *= block * block;
        ASSERT_TRUE(agrees(DepthToSpace{.block = block}, {randomValues(random, x)}, {x}));
        x.shape[1] *= block;
        x.shape[2] *= block;
        ASSERT_TRUE(agrees(SpaceToDepth{.block = block}, {randomValues(random, x)}, {x}));
        x.shape[0] *= block * block;
        ASSERT_TRUE(agrees(BatchToSpace(), {randomValues(random, x), list({block, block})}, {x}));
        x.shape[0] /= block * block;
        std::vector<int32_t> paddings(4);
        for (int32_t& padding : paddings) {
            padding = block * random.integer(0, 2);
        }
        if (x.type != DataType::QUANT16_SYMM && x.type != DataType::INT32) {
            const int32_t shift = random.integer(0, block);
            paddings[0] += shift;
            paddings[1] += block - shift;
            ASSERT_TRUE(agrees(
                    SpaceToBatch(),
                    {randomValues(random, x), list({block, block}), ints({2, 2}, paddings)}, {x}));
        }
        ASSERT_TRUE(
                agrees(ChannelShuffle{.groups = block, .axis = 3}, {randomValues(random, x)}, {x}));
    });
}

TEST(MovingAcc, RepeatsAndReverses) {
    forEachType([](RandomValues& random, DataType type) {
        const auto rank = static_cast<size_t>(random.integer(1, 4));
        const TensorType x = randomType(random, type, randomShape(random, rank, 0, 7));
        const TensorType row = randomType(random, type, {2, random.integer(1, 5000)});
        ASSERT_TRUE(agrees(Reverse(), {randomValues(random, row), list({1})}, {row}));
        const TensorType one = randomType(random, type, {2, 1});
        ASSERT_TRUE(agrees(Tile(), {randomValues(random, one), list({1, 5000})}, {one}));
        std::vector<int32_t> multiples(rank);
        for (int32_t& multiple : multiples) {
            multiple = random.integer(1, 4);
        }
        ASSERT_TRUE(agrees(Tile(), {randomValues(random, x), list(multiples)}, {x}));
        ASSERT_TRUE(agrees(Reverse(),
                           {randomValues(random, x),
                            list({random.integer(0, static_cast<int32_t>(rank) - 1)})},
                           {x}));
    });
}

TEST(MovingAcc, GathersRows) {
    forEachType([](RandomValues& random, DataType type) {
        const TensorType x = randomType(random, type, randomShape(random, 3, 1, 20));
        const int32_t axis = random.integer(0, 2);
        const int32_t extent = x.shape[static_cast<size_t>(axis)];
        std::vector<int32_t> indices;
        for (int32_t i = random.integer(0, 6); i > 0; --i) {
            indices.push_back(random.integer(0, extent - 1));
        }
        ASSERT_TRUE(agrees(Gather{.axis = axis}, {randomValues(random, x), list(indices)}, {x}));
    });
}

TEST(MovingAcc, RefusesIndicesOutsideTheAxis) {
    const Values x = floats({2, 0}, {});
    for (const int32_t index : {-1, 2}) {
        const Setting setting = {.set = cpu::bestInstructionSet(),
                                 .controlInputsAreConstant = false};
        EXPECT_TRUE(ref_test::refused(
                evaluateTuned(Gather(), {x, list({0, index})}, {x.type}, setting), "index 1"));
    }
}

}  // namespace
}  // namespace halyard::engine::cpu_test
