// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "tests/engine/cpu_acc/tuned.h"

namespace halyard::engine::cpu_test {
namespace {

using ref_test::floats;
using ref_test::halves;

constexpr DataType kReals[] = {DataType::FLOAT32, DataType::FLOAT16, DataType::QUANT8_ASYMM,
                               DataType::QUANT8_ASYMM_SIGNED};
constexpr Activate::Function kActivations[] = {
        Activate::Function::RELU,         Activate::Function::RELU1,
        Activate::Function::RELU6,        Activate::Function::LOGISTIC,
        Activate::Function::TANH,         Activate::Function::HARD_SWISH,
        Activate::Function::ELU,          Activate::Function::SWISH,
        Activate::Function::HARD_SIGMOID, Activate::Function::GELU,
        Activate::Function::GELU_TANH};
constexpr Binary::Function kBinary[] = {Binary::Function::ADD,     Binary::Function::MUL,
                                        Binary::Function::SUB,     Binary::Function::DIV,
                                        Binary::Function::MAXIMUM, Binary::Function::MINIMUM,
                                        Binary::Function::PRELU};
constexpr Unary::Function kUnary[] = {
        Unary::Function::ABS, Unary::Function::EXP,  Unary::Function::FLOOR,
        Unary::Function::LOG, Unary::Function::NEG,  Unary::Function::RSQRT,
        Unary::Function::SIN, Unary::Function::SQRT, Unary::Function::ERF};
constexpr Compare::Function kCompare[] = {
        Compare::Function::EQUAL,   Compare::Function::NOT_EQUAL,
        Compare::Function::LESS,    Compare::Function::LESS_EQUAL,
        Compare::Function::GREATER, Compare::Function::GREATER_EQUAL};
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Numbers of all magnitudes, and those that are none.
Values numbers(RandomValues& random, DataType type, Shape shape) {
    std::vector<float> elements(static_cast<size_t>(*shape.elementCount()));
    for (float& element : elements) {
        const float magnitude = std::ldexp(random.real(0.5F, 1.0F), random.integer(-30, 8));
        element = random.coin() ? magnitude : -magnitude;
    }
    const float special[] = {0.0F, -0.0F, kNan, kInfinity, -kInfinity, 1e-40F, 65504.0F, 100.0F};
    for (const float each : special) {
        if (!elements.empty()) {
            const auto last = static_cast<int32_t>(elements.size()) - 1;
            elements[static_cast<size_t>(random.integer(0, last))] = each;
        }
    }
    return type == DataType::FLOAT16 ? halves(shape, elements) : floats(shape, elements);
}

// Of a product of x and what tends to 0, which is no exact share of it.
std::optional<double> toleranceOf(Activate::Function function, DataType type) {
    switch (function) {
        case Activate::Function::SWISH:
        case Activate::Function::GELU:
        case Activate::Function::GELU_TANH:
            return type == DataType::FLOAT16 ? 2e-3 : 2e-6;
        default:
            return std::nullopt;
    }
}

TEST(ActivateAcc, AgreesWithTheReference) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : kReals) {
        for (const Activate::Function function : kActivations) {
            const Activate node = {.function = function, .alpha = random.real(0.1F, 2.0F)};
            for (const int32_t count : {0, 1, 15, 33, 5003}) {
                const TensorType x = randomType(random, type, {count});
                const Values values =
                        isFloat(type) ? numbers(random, type, x.shape) : randomValues(random, x);
                ASSERT_TRUE(agrees(node, {values}, {randomType(random, type, {})},
                                   toleranceOf(function, type)))
                        << toString(NodeDescriptor(node)) << " of " << x.toString();
            }
        }
    }
}

// Where it comes so close to 1 that roundings could carry it beyond.
TEST(ActivateAcc, HasNoTangentBeyond1) {
    constexpr int32_t kCount = 20000;
    std::vector<float> elements(kCount);
    for (int32_t i = 0; i < kCount; ++i) {
        elements[static_cast<size_t>(i)] = 6.0F + 1e-3F * static_cast<float>(i);
    }
    const Activate node = {.function = Activate::Function::TANH};
    const Values x = floats({kCount}, elements);
    ASSERT_TRUE(agrees(node, {x}, {typeOf(DataType::FLOAT32, {})}));
    for (const cpu::InstructionSet set : cpu::availableInstructionSets()) {
        const Result<std::vector<Values>> y =
                evaluateTuned(node, {x}, {typeOf(DataType::FLOAT32, {})}, {.set = set});
        ASSERT_TRUE(y.ok()) << y.status().toString();
        const std::vector<double> results = ref_test::stored(y->front());
        EXPECT_LE(*std::ranges::max_element(results), 1.0) << cpu::toString(set);
    }
}

// INT32 with the ends of its range.
Values integers(RandomValues& random, Shape shape, int32_t most) {
    std::vector<int32_t> elements(static_cast<size_t>(*shape.elementCount()));
    for (int32_t& element : elements) {
        const int32_t ends[] = {minValue(DataType::INT32), maxValue(DataType::INT32), 0, -1};
        element = random.integer(0, 9) == 0 ? ends[random.integer(0, 3)]
                                            : random.integer(-most, most);
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
           : type.type == DataType::INT32 ? integers(random, type.shape, 3)
                                          : randomValues(random, type);
}

TEST(UnaryAcc, AgreesWithTheReference) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const int32_t count : {0, 1, 15, 33, 5003}) {
        for (const Unary::Function function : kUnary) {
            for (const DataType type : {DataType::FLOAT32, DataType::FLOAT16}) {
                ASSERT_TRUE(agrees(Unary{.function = function}, {numbers(random, type, {count})},
                                   {typeOf(type, {})}))
                        << toString(NodeDescriptor(Unary{.function = function})) << " of "
                        << toString(type);
            }
        }
        for (const Unary::Function function : {Unary::Function::ABS, Unary::Function::NEG}) {
            ASSERT_TRUE(agrees(Unary{.function = function},
                               {integers(random, {count}, maxValue(DataType::INT32))},
                               {typeOf(DataType::INT32, {})}));
        }
        ASSERT_TRUE(agrees(Unary{.function = Unary::Function::LOGICAL_NOT},
                           {truths(random, {count})}, {typeOf(DataType::BOOL8, {})}));
    }
}

std::vector<int32_t> allBytes() {
    std::vector<int32_t> all(256);
    for (int32_t byte = 0; byte < 256; ++byte) {
        all[static_cast<size_t>(byte)] = byte;
    }
    return all;
}

TEST(UnaryAcc, LooksUpEveryByte) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : {DataType::QUANT8_ASYMM, DataType::QUANT8_ASYMM_SIGNED}) {
        const TensorType x = randomType(random, type, {256}, 0.05F);
        ASSERT_TRUE(agrees(Unary{.function = Unary::Function::RSQRT},
                           {ref_test::quantized(x, allBytes())},
                           {randomType(random, type, {}, 0.05F)}));
    }
}

TEST(ActivateAcc, LooksUpEveryByte) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const Activate::Function function : kActivations) {
        const TensorType x = randomType(random, DataType::QUANT8_ASYMM_SIGNED, {256}, 0.05F);
        ASSERT_TRUE(agrees(Activate{.function = function}, {ref_test::quantized(x, allBytes())},
                           {randomType(random, x.type, {}, 0.05F)}));
    }
}

Shape broadcastShape(RandomValues& random, const Shape& output) {
    const auto rank = static_cast<size_t>(random.integer(0, static_cast<int32_t>(output.rank())));
    Shape shape(output.extents().last(rank));
    for (size_t axis = 0; axis < rank; ++axis) {
        if (random.integer(0, 2) == 0) {
            shape[axis] = 1;
        }
    }
    return shape;
}

TEST(BinaryAcc, AgreesWithTheReference) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : kReals) {
        for (const Binary::Function function : kBinary) {
            for (int round = 0; round < 8; ++round) {
                const Binary node = {.function = function,
                                     .activation = static_cast<Activation>(random.integer(0, 3))};
                const Shape output = randomShape(random, 4, round == 0 ? 0 : 1, 9);
                TensorType a = randomType(random, type, output);
                TensorType b = randomType(random, type, broadcastShape(random, output));
                if (random.coin()) {
                    std::swap(a, b);
                }
                const auto values = [&](const TensorType& of) {
                    return isFloat(type) ? numbers(random, type, of.shape)
                                         : randomValues(random, of);
                };
                ASSERT_TRUE(agrees(node, {values(a), values(b)}, {randomType(random, type, {})}))
                        << toString(NodeDescriptor(node)) << " of " << a.toString() << " and "
                        << b.toString();
            }
        }
    }
}

TEST(BinaryAcc, CombinesEachRowWithOne) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : kReals) {
        for (const Binary::Function function : kBinary) {
            const int32_t length = random.integer(1, 600);
            TensorType a =
                    randomType(random, type, {1, random.integer(1, 5000 / length + 1), length});
            TensorType b = randomType(random, type, {length});
            if (random.coin()) {
                std::swap(a, b);
            }
            const auto values = [&](const TensorType& of) {
                return isFloat(type) ? numbers(random, type, of.shape) : randomValues(random, of);
            };
            const Binary node = {.function = function};
            ASSERT_TRUE(agrees(node, {values(a), values(b)}, {randomType(random, type, {})}))
                    << toString(NodeDescriptor(node)) << " of " << a.toString() << " and "
                    << b.toString();
        }
    }
}

TEST(BinaryAcc, RaisesToOnePower) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : {DataType::FLOAT32, DataType::FLOAT16}) {
        for (const float exponent : {1.0F, 2.0F, 3.0F, 0.5F, -1.0F, 0.0F, -2.0F, kNan}) {
            const TensorType x = typeOf(type, {3, 211});
            const Values power =
                    type == DataType::FLOAT16 ? halves({1}, {exponent}) : floats({1}, {exponent});
            ASSERT_TRUE(agrees(Binary{.function = Binary::Function::POW},
                               {numbers(random, type, x.shape), power}, {x}))
                    << exponent;
        }
    }
}

TEST(BinaryAcc, CombinesIntegersAndTruths) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 8; ++round) {
        const Shape output = randomShape(random, 3, round == 0 ? 0 : 1, 20);
        Shape other = broadcastShape(random, output);
        for (const Binary::Function function : kBinary) {
            if (function == Binary::Function::PRELU) {
                continue;
            }
            for (const int32_t most : {5, maxValue(DataType::INT32)}) {
                ASSERT_TRUE(agrees(Binary{.function = function},
                                   {integers(random, output, most), integers(random, other, most)},
                                   {typeOf(DataType::INT32, {})}))
                        << toString(NodeDescriptor(Binary{.function = function}));
            }
        }
        for (const Binary::Function function :
             {Binary::Function::LOGICAL_AND, Binary::Function::LOGICAL_OR}) {
            ASSERT_TRUE(agrees(Binary{.function = function},
                               {truths(random, output), truths(random, other)},
                               {typeOf(DataType::BOOL8, {})}));
        }
    }
}

TEST(BinaryAcc, RaisesToPowers) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : {DataType::FLOAT32, DataType::FLOAT16}) {
        const Values x = numbers(random, type, {7, 33});
        for (const Shape& shape : {Shape{7, 33}, Shape{33}, Shape{}}) {
            ASSERT_TRUE(agrees(Binary{.function = Binary::Function::POW},
                               {x, randomValues(random, typeOf(type, shape))}, {x.type}));
        }
    }
}

TEST(CompareAcc, AgreesWithTheReference) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : {DataType::FLOAT32, DataType::FLOAT16, DataType::QUANT8_ASYMM,
                                DataType::QUANT8_ASYMM_SIGNED, DataType::INT32, DataType::BOOL8}) {
        for (const Compare::Function function : kCompare) {
            for (int round = 0; round < 6; ++round) {
                const Shape output = randomShape(random, 3, round == 0 ? 0 : 1, 20);
                TensorType a = randomType(random, type, output);
                TensorType b = a;
                if (random.coin()) {  // of another scale
                    b = randomType(random, type, output);
                }
                b.shape = broadcastShape(random, output);
                if (random.coin()) {
                    std::swap(a, b);
                }
                ASSERT_TRUE(agrees(Compare{.function = function},
                                   {valuesOf(random, a), valuesOf(random, b)},
                                   {typeOf(DataType::BOOL8, {})}))
                        << toString(NodeDescriptor(Compare{.function = function})) << " of "
                        << a.toString() << " and " << b.toString();
            }
        }
    }
}

TEST(SelectAcc, AgreesWithTheReference) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : {DataType::FLOAT32, DataType::FLOAT16, DataType::QUANT8_ASYMM,
                                DataType::QUANT8_ASYMM_SIGNED, DataType::INT32, DataType::BOOL8}) {
        for (const int32_t count : {0, 1, 15, 33, 5003}) {
            const TensorType x = randomType(random, type, {count});
            ASSERT_TRUE(agrees(Select(),
                               {truths(random, x.shape), valuesOf(random, x), valuesOf(random, x)},
                               {x}))
                    << x.toString();
        }
    }
}

TEST(SelectAcc, LeavesOtherScalesToTheReference) {
    RandomValues random;
    const TensorType x = typeOf(DataType::QUANT8_ASYMM, {3}, 0.5F, 10);
    const TensorType other = typeOf(DataType::QUANT8_ASYMM, {3}, 0.25F, 10);
    EXPECT_EQ(evaluateTuned(Select(), {truths(random, {3}), random.values(x), random.values(x)},
                            {other}, {})
                      .status()
                      .code(),
              StatusCode::UNSUPPORTED);
}

TEST(ArgMinMaxAcc, AgreesWithTheReference) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : {DataType::FLOAT32, DataType::FLOAT16, DataType::QUANT8_ASYMM,
                                DataType::QUANT8_ASYMM_SIGNED, DataType::INT32}) {
        for (const auto function : {ArgMinMax::Function::MAX, ArgMinMax::Function::MIN}) {
            for (int round = 0; round < 12; ++round) {
                TensorType x = randomType(random, type, randomShape(random, 3, 1, 8));
                x.shape[static_cast<size_t>(random.integer(0, 2))] = random.integer(1, 300);
                const ArgMinMax node = {.function = function, .axis = random.integer(-3, 2)};
                ASSERT_TRUE(agrees(node, {valuesOf(random, x)}, {typeOf(DataType::INT32, {})}))
                        << toString(NodeDescriptor(node)) << " of " << x.toString();
            }
        }
    }
}

TEST(ArgMinMaxAcc, TakesTheFirstOfEqualsAndTheFirstNan) {
    const std::vector<float> elements = {1, 3, 3, 1, kNan, 2, kNan, 9, -kInfinity, 5, 5, kInfinity,
                                         1, 1, 1, 1, 1,    1, 1,    1, 1,          1, 1, 1};
    for (const auto function : {ArgMinMax::Function::MAX, ArgMinMax::Function::MIN}) {
        for (const Shape& shape : {Shape{24}, Shape{1, 24}, Shape{6, 4}, Shape{12, 2}}) {
            for (const int32_t axis : {0, -1}) {
                ASSERT_TRUE(agrees(ArgMinMax{.function = function, .axis = axis},
                                   {floats(shape, elements)}, {typeOf(DataType::INT32, {})}));
            }
        }
    }
}

TEST(BinaryAcc, CombinesLongRows) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : kReals) {
        const TensorType a = randomType(random, type, {3, 9001});
        for (const Shape& shape : {Shape{3, 9001}, Shape{9001}, Shape{3, 1}, Shape{}}) {
            const TensorType b = randomType(random, type, shape);
            ASSERT_TRUE(agrees(Binary(), {randomValues(random, a), randomValues(random, b)}, {a}));
        }
    }
}

// Every pair of bytes, with scales near each other and far apart: by broadcasting, and one by one.
TEST(BinaryAcc, CombinesEveryPairOfBytes) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    std::vector<int32_t> all(256);
    std::vector<int32_t> firsts(65536);
    std::vector<int32_t> seconds(65536);
    for (int32_t byte = 0; byte < 256; ++byte) {
        all[static_cast<size_t>(byte)] = byte;
    }
    for (size_t pair = 0; pair < firsts.size(); ++pair) {
        firsts[pair] = all[pair / 256];
        seconds[pair] = all[pair % 256];
    }
    for (const DataType type : {DataType::QUANT8_ASYMM, DataType::QUANT8_ASYMM_SIGNED}) {
        for (const Binary::Function function : kBinary) {
            const bool adds =
                    function == Binary::Function::ADD || function == Binary::Function::SUB;
            for (const float scale : {0.02F, adds ? 0.6F : 40.0F}) {
                const TensorType a = randomType(random, type, {256, 1}, scale);
                const TensorType b = randomType(random, type, {256});
                ASSERT_TRUE(agrees(Binary{.function = function},
                                   {ref_test::quantized(a, all), ref_test::quantized(b, all)},
                                   {randomType(random, type, {})}))
                        << toString(NodeDescriptor(Binary{.function = function}));
                TensorType first = a;
                TensorType second = b;
                first.shape = second.shape = {65536};
                const auto activation = static_cast<Activation>(random.integer(0, 3));
                ASSERT_TRUE(agrees(
                        Binary{.function = function, .activation = activation},
                        {ref_test::quantized(first, firsts), ref_test::quantized(second, seconds)},
                        {randomType(random, type, {})}))
                        << toString(NodeDescriptor(Binary{.function = function}));
            }
        }
    }
}

TEST(ConversionsAcc, AgreeWithTheReference) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType real : {DataType::FLOAT32, DataType::FLOAT16}) {
        for (const DataType type :
             {DataType::QUANT8_ASYMM, DataType::QUANT8_ASYMM_SIGNED, DataType::QUANT8_SYMM}) {
            for (const int32_t count : {0, 1, 17, 9000}) {
                const TensorType x = randomType(random, type, {count});
                ASSERT_TRUE(
                        agrees(Dequantize(), {randomValues(random, x)}, {typeOf(real, {})}, 0.0));
                if (type != DataType::QUANT8_SYMM) {
                    ASSERT_TRUE(agrees(Quantize(), {numbers(random, real, {count})}, {x}));
                }
            }
        }
    }
}

// Numbers next to those where the nearest step changes: a product with the scale's inverse would
// give other bytes.
TEST(ConversionsAcc, QuantiseAroundHalfSteps) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 20; ++round) {
        const TensorType output = randomType(random, DataType::QUANT8_ASYMM, {});
        std::vector<float> elements;
        for (int32_t step = -300; step < 300; ++step) {
            const float half = (static_cast<float>(step) + 0.5F) * output.quantization.scale;
            elements.push_back(half);
            elements.push_back(std::nextafter(half, kInfinity));
            elements.push_back(std::nextafter(half, -kInfinity));
        }
        const Values x = floats({static_cast<int32_t>(elements.size())}, elements);
        ASSERT_TRUE(agrees(Quantize(), {x}, {output}));
    }
}

TEST(ConversionsAcc, Cast) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    constexpr DataType kTypes[] = {DataType::FLOAT32, DataType::FLOAT16, DataType::INT32,
                                   DataType::QUANT8_ASYMM};
    for (const DataType from : kTypes) {
        for (const DataType to : kTypes) {
            const TensorType x = randomType(random, from, {5001});
            const Values values =
                    isFloat(from) ? numbers(random, from, x.shape) : randomValues(random, x);
            ASSERT_TRUE(agrees(Cast(), {values}, {randomType(random, to, {})}, 0.0))
                    << toString(from) << " to " << toString(to);
        }
    }
    const Values far = floats({4}, {3e9F, -3e9F, 2147483520.0F, -0.9F});
    ASSERT_TRUE(agrees(Cast(), {far}, {typeOf(DataType::INT32, {})}));
}

}  // namespace
}  // namespace halyard::engine::cpu_test
