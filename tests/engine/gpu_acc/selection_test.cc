// SPDX-License-Identifier: Apache-2.0
//
// Elements chosen by indices, keys or their order, which the graph has or only the run.

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/engine/gpu_acc/on_device.h"

namespace halyard::engine::gpu_test {
namespace {

using ref_test::floats;
using ref_test::ints;
using ref_test::kInt32;

constexpr DataType kMoved[] = {DataType::FLOAT32, DataType::FLOAT16, DataType::QUANT8_ASYMM,
                               DataType::QUANT16_SYMM, DataType::INT32};

std::vector<int32_t> randomIntegers(RandomValues& random, size_t count, int32_t low, int32_t high) {
    std::vector<int32_t> integers(count);
    std::ranges::generate(integers, [&] { return random.integer(low, high); });
    return integers;
}

TEST(GpuAccSelection, GathersByIndices) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : kMoved) {
        for (int32_t axis = -3; axis < 3; ++axis) {
            const TensorType x = randomType(random, type, randomShape(random, 3, 1, 9));
            const int32_t extent = x.shape[static_cast<size_t>((axis + 3) % 3)];
            const Values indices = ints({2, 35}, randomIntegers(random, 70, 0, extent - 1));
            ASSERT_TRUE(agreesWithControlInputs(Gather{.axis = axis},
                                                {randomValues(random, x), indices}, {x}))
                    << x.toString() << " along " << axis;
        }
    }
}

TEST(GpuAccSelection, NamesTheFirstIndexThatIsOutside) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    const TensorType x = typeOf(DataType::FLOAT32, {3, 5, 2});
    for (const int32_t wrong : {5, -1, 1 << 30, -(1 << 30)}) {
        std::vector<int32_t> indices = randomIntegers(random, 200, 0, 4);
        indices[static_cast<size_t>(random.integer(0, 199))] = wrong;
        indices[static_cast<size_t>(random.integer(0, 199))] = wrong;
        ASSERT_TRUE(agreesWithControlInputs(Gather{.axis = 1},
                                            {randomValues(random, x), ints({200}, indices)}, {x}));
    }
    // Also where there is nothing to gather from, or nothing to write.
    for (const Shape& shape : {Shape{3, 0, 2}, Shape{3, 5, 0}}) {
        const Values none = {.type = typeOf(DataType::FLOAT32, shape), .bytes = {}};
        ASSERT_TRUE(
                agreesWithControlInputs(Gather{.axis = 1}, {none, ints({2}, {1, 7})}, {none.type}));
    }
}

TEST(GpuAccSelection, FailsOnlyInTheRunThatIsWrong) {
    HALYARD_NEEDS_DEVICE();
    const Values x = floats({3}, {1, 2, 3});
    const Setting setting = {.controlInputsAreConstant = false};
    ASSERT_TRUE(agreesIn(setting, Gather(), {x, ints({1}, {3})}, {x.type}));
    ASSERT_TRUE(agreesIn(setting, Gather(), {x, ints({1}, {2})}, {x.type}));
}

TEST(GpuAccSelection, RanksTheLargest) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : {DataType::FLOAT32, DataType::FLOAT16, DataType::INT32,
                                DataType::QUANT8_ASYMM, DataType::QUANT8_ASYMM_SIGNED}) {
        for (const int32_t length : {1, 7, 200}) {
            // Bytes have equals among so many.
            const TensorType x = randomType(random, type, {3, length});
            const TopK node = {.k = random.integer(1, length)};
            ASSERT_TRUE(agreesWithControlInputs(node, {randomValues(random, x)}, {x, kInt32}))
                    << node.k << " of " << x.toString();
        }
    }
    const float nan = ref_test::kNan;
    const Values odd = floats({2, 4}, {1, nan, -0.0F, nan, 0.0F, -0.0F, 2, 2});
    ASSERT_TRUE(agreesWithControlInputs(TopK{.k = 4}, {odd}, {odd.type, kInt32}));
    const Values none = {.type = typeOf(DataType::FLOAT32, {0, 4}), .bytes = {}};
    ASSERT_TRUE(agreesWithControlInputs(TopK{.k = 2}, {none}, {none.type, kInt32}));
}

TEST(GpuAccSelection, FindsRowsByTheirKeys) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    const TensorType hits = typeOf(DataType::QUANT8_ASYMM, {}, 1.0F);
    for (const DataType type :
         {DataType::FLOAT32, DataType::FLOAT16, DataType::INT32, DataType::QUANT8_ASYMM}) {
        for (const int32_t rows : {0, 1, 50}) {
            std::vector<int32_t> keys = randomIntegers(random, static_cast<size_t>(rows), -40, 40);
            if (random.coin()) {  // otherwise they do not ascend
                std::ranges::sort(keys);
            }
            const TensorType values = randomType(random, type, {rows, 3, 2});
            const Values lookups = ints({90}, randomIntegers(random, 90, -45, 45));
            ASSERT_TRUE(agreesWithControlInputs(
                    HashtableLookup(), {lookups, ints({rows}, keys), randomValues(random, values)},
                    {values, hits}))
                    << rows << " rows of " << values.toString();
        }
    }
}

}  // namespace
}  // namespace halyard::engine::gpu_test
