// SPDX-License-Identifier: Apache-2.0
//
// Kernels on rows and windows: pooling, reductions, normalisations.

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "tests/engine/gpu_acc/on_device.h"

namespace halyard::engine::gpu_test {
namespace {

double toleranceOfRows(DataType type) {
    return type == DataType::FLOAT16 ? 2e-3 : 1e-5;
}

TensorType withQuantization(RandomValues& random, DataType type, float scale) {
    return randomType(random, type, {}, scale);
}

TEST(GpuAccRows, PoolsAsTheReference) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    using Function = Pool2d::Function;
    for (const DataType type : kReals) {
        for (const Function function : {Function::AVERAGE, Function::MAX, Function::L2}) {
            if (function == Function::L2 && isQuantized(type)) {
                continue;
            }
            const Pool2d node = {.function = function,
                                 .window = {.padding = random.coin() ? PaddingScheme::SAME
                                                                     : PaddingScheme::VALID,
                                            .strideH = random.integer(1, 3),
                                            .strideW = random.integer(1, 3)},
                                 .filterH = random.integer(1, 4),
                                 .filterW = random.integer(1, 4),
                                 .activation = Activation(random.integer(0, 3))};
            const TensorType x = randomType(random, type, {2, 9, 8, 35});
            const Values values = randomValues(random, x);
            ASSERT_TRUE(agrees(node, {values}, {x}, toleranceOfRows(type)))
                    << toString(NodeDescriptor(node)) << " of " << x.toString();
            if (function == Function::AVERAGE) {
                ASSERT_TRUE(agrees(node, {values}, {withQuantization(random, type, 0.02F)},
                                   toleranceOfRows(type)))
                        << toString(NodeDescriptor(node)) << " of " << x.toString();
            }
        }
    }
}

TEST(GpuAccRows, ReducesAsTheReference) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    using Function = Reduce::Function;
    const std::vector<std::vector<int32_t>> axes = {{0}, {-1}, {1, 2}, {0, 2}, {0, 1, 2, 3}, {}};
    const auto check = [&](Function function, DataType type) {
        for (const std::vector<int32_t>& list : axes) {
            const Reduce node = {.function = function, .keepDims = random.coin()};
            const TensorType x = randomType(random, type, {3, 4, 5, 70});
            const Values values =
                    type == DataType::BOOL8
                            ? ref_test::bools(x.shape, std::vector<uint8_t>(4200, random.coin()))
                            : randomValues(random, x);
            const double tolerance =
                    function == Function::SUM ? 10 * toleranceOfRows(type) : toleranceOfRows(type);
            ASSERT_TRUE(agrees(node,
                               {values, ref_test::ints({static_cast<int32_t>(list.size())}, list)},
                               {withQuantization(random, type, 0.02F)}, tolerance))
                    << toString(NodeDescriptor(node)) << " of " << x.toString();
        }
    };
    for (const DataType type : kReals) {
        for (const Function function : {Function::MEAN, Function::MAX, Function::MIN}) {
            check(function, type);
        }
    }
    for (const DataType type : kFloats) {
        check(Function::SUM, type);
        check(Function::PROD, type);
    }
    check(Function::ALL, DataType::BOOL8);
    check(Function::ANY, DataType::BOOL8);
}

TEST(GpuAccRows, FindsExtremesAsTheReference) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : {DataType::FLOAT32, DataType::FLOAT16, DataType::INT32,
                                DataType::QUANT8_ASYMM, DataType::QUANT8_ASYMM_SIGNED}) {
        for (const ArgMinMax::Function function :
             {ArgMinMax::Function::MAX, ArgMinMax::Function::MIN}) {
            const ArgMinMax node = {.function = function, .axis = random.integer(-3, 2)};
            const TensorType x = randomType(random, type, {9, 30, 11});
            ASSERT_TRUE(agrees(node, {randomValues(random, x)}, {ref_test::kInt32}))
                    << toString(NodeDescriptor(node)) << " of " << x.toString();
        }
    }
    const Values odd = ref_test::floats({2, 3}, {1, ref_test::kNan, ref_test::kNan, 2, 2, 1});
    ASSERT_TRUE(agrees(ArgMinMax{.axis = 1}, {odd}, {ref_test::kInt32}));
}

TEST(GpuAccRows, NormalisesAsTheReference) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    const auto check = [&](const NodeDescriptor& node, DataType type, TensorType output) {
        const TensorType x = randomType(random, type, {3, 7, 70});
        ASSERT_TRUE(
                agrees(node, {randomValues(random, x)}, {std::move(output)}, toleranceOfRows(type)))
                << toString(node) << " of " << x.toString();
    };
    for (const DataType type : kReals) {
        const int32_t axis = random.integer(-3, 2);
        const int32_t zero = type == DataType::QUANT8_ASYMM ? 0 : -128;
        check(Softmax{.beta = random.real(0.5F, 2.0F), .axis = axis}, type,
              typeOf(type, {}, 1.0F / 256, isQuantized(type) ? zero : 0));
        check(L2Normalize{.axis = axis}, type,
              typeOf(type, {}, 1.0F / 128, isQuantized(type) ? zero + 128 : 0));
    }
    for (const DataType type : kFloats) {
        const int32_t axis = random.integer(-3, 2);
        check(LogSoftmax{.beta = random.real(0.5F, 2.0F), .axis = axis}, type, typeOf(type, {}));
        check(LocalResponseNormalize{.radius = random.integer(0, 9),
                                     .bias = 1.0F,
                                     .alpha = 0.3F,
                                     .beta = 0.7F,
                                     .axis = axis},
              type, typeOf(type, {}));
    }
}

TEST(GpuAccRows, NormalisesFeatureMapsAsTheReference) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : kFloats) {
        const TensorType x = randomType(random, type, {2, 9, 10, 5});
        ASSERT_TRUE(agrees(InstanceNormalize{.gamma = 1.5F, .beta = 0.25F, .epsilon = 1e-3F},
                           {randomValues(random, x)}, {x}, 10 * toleranceOfRows(type)))
                << x.toString();
    }
}

TEST(GpuAccRows, GiveTheSameInGroupsOfAnySize) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    const auto check = [&](const NodeDescriptor& node, const Shape& shape, DataType type,
                           TensorType output, std::vector<std::optional<Values>> others = {}) {
        for (const size_t variant : {1, 2}) {
            const TensorType x = randomType(random, type, shape);
            std::vector<std::optional<Values>> inputs = {randomValues(random, x)};
            inputs.insert(inputs.end(), others.begin(), others.end());
            ASSERT_TRUE(agrees(node, inputs, {output}, 10 * toleranceOfRows(type), 0,
                               GemmKind::DIRECT, variant))
                    << toString(node) << " of " << x.toString() << ", variant " << variant;
        }
    };
    for (const DataType type : {DataType::FLOAT32, DataType::QUANT8_ASYMM_SIGNED}) {
        check(Softmax{.beta = 1.0F, .axis = -1}, {2, 700}, type,
              typeOf(type, {}, 1.0F / 256, isQuantized(type) ? -128 : 0));
        check(L2Normalize{.axis = 0}, {300, 3}, type, typeOf(type, {}, 1.0F / 128, 0));
        check(Reduce{.function = Reduce::Function::MEAN, .keepDims = true}, {3, 300, 4}, type,
              withQuantization(random, type, 0.02F), {ref_test::ints({1}, {1})});
    }
    check(LogSoftmax{.beta = 1.0F, .axis = 0}, {257, 2}, DataType::FLOAT16,
          typeOf(DataType::FLOAT16, {}));
    check(InstanceNormalize{.gamma = 1.5F, .beta = 0.25F, .epsilon = 1e-3F}, {2, 19, 20, 2},
          DataType::FLOAT32, typeOf(DataType::FLOAT32, {}));
}

// Channels side by side, some of a group's not there.
TEST(GpuAccRows, ReduceColumnsAsTheReference) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : kReals) {
        for (const Shape& shape : {Shape{2, 7, 7, 70}, Shape{1, 1, 3, 32}, Shape{3, 5, 9, 33}}) {
            const TensorType x = randomType(random, type, shape);
            for (const auto function : {Reduce::Function::MEAN, Reduce::Function::MAX}) {
                const Reduce node = {.function = function, .keepDims = true};
                ASSERT_TRUE(agrees(node, {randomValues(random, x), ref_test::ints({2}, {1, 2})},
                                   {withQuantization(random, type, 0.02F)}, toleranceOfRows(type)))
                        << toString(NodeDescriptor(node)) << " of " << x.toString();
            }
            const Pool2d node = {
                    .filterH = shape[1], .filterW = shape[2], .activation = Activation::RELU};
            ASSERT_TRUE(agrees(node, {randomValues(random, x)}, {x}, toleranceOfRows(type)))
                    << toString(NodeDescriptor(node)) << " of " << x.toString();
        }
    }
}

TEST(GpuAccRows, NormaliseLayersAsTheReference) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    const auto check = [&](DataType type, const Shape& shape, int32_t axis, const Shape& row,
                           size_t variant) {
        const LayerNormalize node = {.epsilon = 1e-3F, .axis = axis};
        const Values x = randomValues(random, typeOf(type, shape));
        const Values gamma = randomValues(random, typeOf(type, row));
        const Values beta = randomValues(random, typeOf(type, row));
        for (int which = 0; which < 4; ++which) {
            ASSERT_TRUE(agrees(node,
                               {x, (which & 1) != 0 ? std::optional(gamma) : std::nullopt,
                                (which & 2) != 0 ? std::optional(beta) : std::nullopt},
                               {x.type}, 10 * toleranceOfRows(type), 0, GemmKind::DIRECT, variant))
                    << x.type.toString() << " from axis " << axis << " on, weights " << which;
        }
    };
    for (const DataType type : kFloats) {
        check(type, {4, 33}, -1, {33}, 0);
        check(type, {3, 5, 130}, 1, {1, 5, 130}, 1);
        check(type, {2, 700}, 1, {700}, 2);
    }
}

TEST(GpuAccRows, NormaliseNoLayers) {
    HALYARD_NEEDS_DEVICE();
    const std::vector<std::optional<Values>> inputs = {ref_test::floats({0, 4}, {}), std::nullopt,
                                                       std::nullopt};
    ASSERT_TRUE(agrees(LayerNormalize(), inputs, {typeOf(DataType::FLOAT32, {})}));
}

}  // namespace
}  // namespace halyard::engine::gpu_test
