// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/engine/gpu_acc/on_device.h"

namespace halyard::engine::gpu_test {
namespace {

using ref_test::floats;
using ref_test::halves;
using ref_test::kInfinity;
using ref_test::kNan;

// Numbers of all magnitudes, and those that are none.
Values numbers(RandomValues& random, DataType type, Shape shape) {
    std::vector<float> elements(static_cast<size_t>(*shape.elementCount()));
    for (float& element : elements) {
        const float magnitude = std::ldexp(random.real(0.5F, 1.0F), random.integer(-12, 6));
        element = random.coin() ? magnitude : -magnitude;
    }
    for (const float each : {0.0F, -0.0F, kNan, kInfinity, -kInfinity, 100.0F}) {
        if (!elements.empty()) {
            const auto last = static_cast<int32_t>(elements.size()) - 1;
            elements[static_cast<size_t>(random.integer(0, last))] = each;
        }
    }
    return type == DataType::FLOAT16 ? halves(shape, elements) : floats(shape, elements);
}

Values integers(RandomValues& random, Shape shape) {
    std::vector<int32_t> elements(static_cast<size_t>(*shape.elementCount()));
    for (int32_t& element : elements) {
        const int32_t ends[] = {minValue(DataType::INT32), maxValue(DataType::INT32), 0, -1};
        element = random.integer(0, 9) == 0 ? ends[random.integer(0, 3)] : random.integer(-9, 9);
    }
    return ref_test::ints(shape, elements);
}

// Whatever is not 0 is true.
Values truths(RandomValues& random, Shape shape) {
    std::vector<uint8_t> elements(static_cast<size_t>(*shape.elementCount()));
    for (uint8_t& element : elements) {
        const uint8_t some[] = {0, 0, 1, 2, 255};
        element = some[random.integer(0, 4)];
    }
    return ref_test::bools(shape, elements);
}

Values valuesOf(RandomValues& random, const TensorType& type) {
    return isFloat(type.type)             ? numbers(random, type.type, type.shape)
           : type.type == DataType::BOOL8 ? truths(random, type.shape)
           : type.type == DataType::INT32 ? integers(random, type.shape)
                                          : randomValues(random, type);
}

TEST(GpuAccElementwise, ActivatesAsTheReference) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    using Function = Activate::Function;
    for (const DataType type : kReals) {
        for (const Function function :
             {Function::RELU, Function::RELU1, Function::RELU6, Function::LOGISTIC, Function::TANH,
              Function::HARD_SWISH, Function::ELU, Function::SWISH, Function::HARD_SIGMOID,
              Function::GELU, Function::GELU_TANH}) {
            const Activate node = {.function = function, .alpha = random.real(0.1F, 2.0F)};
            for (const int32_t count : {0, 1, 129, 1003}) {
                const TensorType x = randomType(random, type, {count});
                ASSERT_TRUE(agrees(node, {valuesOf(random, x)}, {randomType(random, type, {})}))
                        << toString(NodeDescriptor(node)) << " of " << x.toString();
            }
        }
    }
}

TEST(GpuAccElementwise, ComputesFunctionsOfOneElementAsTheReference) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    using Function = Unary::Function;
    const auto check = [&](Function function, DataType type) {
        const TensorType x = randomType(random, type, {1003});
        ASSERT_TRUE(agrees(Unary{.function = function}, {valuesOf(random, x)},
                           {randomType(random, type, {})}))
                << toString(NodeDescriptor(Unary{.function = function})) << " of " << x.toString();
    };
    for (const Function function :
         {Function::ABS, Function::EXP, Function::FLOOR, Function::LOG, Function::NEG,
          Function::RSQRT, Function::SIN, Function::SQRT, Function::ERF}) {
        check(function, DataType::FLOAT32);
        check(function, DataType::FLOAT16);
    }
    check(Function::ABS, DataType::INT32);
    check(Function::NEG, DataType::INT32);
    check(Function::LOGICAL_NOT, DataType::BOOL8);
    check(Function::RSQRT, DataType::QUANT8_ASYMM);
    check(Function::RSQRT, DataType::QUANT8_ASYMM_SIGNED);
}

struct Shapes {
    Shape a;
    Shape b;
};

const Shapes kShapes[] = {{{1003}, {1003}},
                          {{3, 5, 7}, {7}},
                          {{1}, {2, 9}},
                          {{4, 1, 6}, {3, 1}},
                          {{2, 1, 3, 1, 5}, {1, 4, 1, 6, 1}},
                          {{0, 3}, {3}}};

TEST(GpuAccElementwise, ComputesFunctionsOfTwoElementsAsTheReference) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    using Function = Binary::Function;
    const auto check = [&](Function function, DataType type, Activation activation) {
        const Binary node = {.function = function, .activation = activation};
        for (const Shapes& shapes : kShapes) {
            const TensorType a = randomType(random, type, shapes.a);
            const TensorType b = randomType(random, type, shapes.b);
            ASSERT_TRUE(agrees(node, {valuesOf(random, a), valuesOf(random, b)},
                               {randomType(random, type, {})}))
                    << toString(NodeDescriptor(node)) << " of " << a.toString() << " and "
                    << b.toString();
        }
    };
    for (const Function function : {Function::ADD, Function::MUL, Function::SUB, Function::DIV,
                                    Function::MAXIMUM, Function::MINIMUM}) {
        for (const DataType type : kReals) {
            check(function, type,
                  random.coin() ? Activation::NONE : Activation(random.integer(1, 3)));
        }
        check(function, DataType::INT32, Activation::NONE);
    }
    for (const DataType type : kReals) {
        check(Function::PRELU, type, Activation::NONE);
    }
    check(Function::POW, DataType::FLOAT32, Activation::NONE);
    check(Function::LOGICAL_AND, DataType::BOOL8, Activation::NONE);
    check(Function::LOGICAL_OR, DataType::BOOL8, Activation::NONE);
}

TEST(GpuAccElementwise, ComparesAsTheReference) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    using Function = Compare::Function;
    for (const Function function :
         {Function::EQUAL, Function::NOT_EQUAL, Function::LESS, Function::LESS_EQUAL,
          Function::GREATER, Function::GREATER_EQUAL}) {
        for (const DataType type :
             {DataType::FLOAT32, DataType::FLOAT16, DataType::INT32, DataType::BOOL8,
              DataType::QUANT8_ASYMM, DataType::QUANT8_ASYMM_SIGNED}) {
            const TensorType a = randomType(random, type, {3, 50});
            const TensorType b = randomType(random, type, {3, 1});
            ASSERT_TRUE(agrees(Compare{.function = function},
                               {valuesOf(random, a), valuesOf(random, b)},
                               {typeOf(DataType::BOOL8, {})}))
                    << toString(NodeDescriptor(Compare{.function = function})) << " of "
                    << a.toString();
        }
    }
}

TEST(GpuAccElementwise, SelectsAsTheReference) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : {DataType::FLOAT32, DataType::FLOAT16, DataType::INT32,
                                DataType::BOOL8, DataType::QUANT8_ASYMM}) {
        const TensorType a = randomType(random, type, {3, 50});
        const TensorType b = randomType(random, type, {3, 50});
        const Values condition = truths(random, {3, 50});
        ASSERT_TRUE(agrees(Select(), {condition, valuesOf(random, a), valuesOf(random, b)},
                           {randomType(random, type, {})}))
                << a.toString();
        ASSERT_TRUE(agrees(Select(), {condition, valuesOf(random, a), valuesOf(random, a)}, {a}))
                << a.toString();
    }
}

TEST(GpuAccElementwise, ConvertsAsTheReference) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    const DataType convertible[] = {DataType::FLOAT32, DataType::FLOAT16, DataType::INT32,
                                    DataType::QUANT8_ASYMM};
    for (const DataType from : convertible) {
        for (const DataType to : convertible) {
            const TensorType x = randomType(random, from, {1003});
            ASSERT_TRUE(agrees(Cast(), {valuesOf(random, x)}, {randomType(random, to, {})}))
                    << x.toString() << " to " << toString(to);
        }
    }
    for (const DataType to : {DataType::FLOAT32, DataType::FLOAT16}) {
        for (const DataType from :
             {DataType::QUANT8_ASYMM, DataType::QUANT8_ASYMM_SIGNED, DataType::QUANT8_SYMM,
              DataType::QUANT16_SYMM, DataType::QUANT16_ASYMM}) {
            const TensorType x = randomType(random, from, {1003});
            ASSERT_TRUE(agrees(Dequantize(), {randomValues(random, x)}, {typeOf(to, {})}))
                    << x.toString();
        }
        for (const DataType type : {DataType::QUANT8_ASYMM, DataType::QUANT8_ASYMM_SIGNED}) {
            ASSERT_TRUE(agrees(Quantize(), {numbers(random, to, {1003})},
                               {randomType(random, type, {})}))
                    << toString(to);
        }
    }
    TensorType channels = typeOf(DataType::QUANT8_SYMM_PER_CHANNEL, {4, 3, 5});
    channels.quantization.channelScales = {0.25F, 0.5F, 0.125F};
    channels.quantization.channelDim = 1;
    ASSERT_TRUE(agrees(Dequantize(), {random.values(channels)}, {ref_test::kFloat}));
}

}  // namespace
}  // namespace halyard::engine::gpu_test
