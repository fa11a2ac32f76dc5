// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <vector>

#include "tests/engine/reference/evaluation.h"
#include "tests/engine/reference/random_values.h"

namespace halyard::engine::ref_test {
namespace {

// numpy.matmul of arange(12).reshape(2, 3, 2) and arange(8).reshape(2, 2, 2).
TEST(BatchMatmulRef, MultipliesMatrixByMatrix) {
    const Values a = floats({2, 3, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
    const Values b = floats({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
    const std::vector<double> expected = {2, 3, 6, 11, 10, 19, 66, 79, 86, 103, 106, 127};
    const TensorType type = typeOf(DataType::FLOAT32, {});
    EXPECT_TRUE(holds(evaluate(BatchMatmul(), {a, b}, type), expected));
    // The same matrices, transposed before.
    const Values columns = floats({2, 2, 3}, {0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11});
    const Values rows = floats({2, 2, 2}, {0, 2, 1, 3, 4, 6, 5, 7});
    EXPECT_TRUE(holds(evaluate(BatchMatmul{.transposeA = true}, {columns, b}, type), expected));
    EXPECT_TRUE(holds(evaluate(BatchMatmul{.transposeB = true}, {a, rows}, type), expected));
    EXPECT_TRUE(holds(
            evaluate(BatchMatmul{.transposeA = true, .transposeB = true}, {columns, rows}, type),
            expected));
}

TEST(BatchMatmulRef, RepeatsMatricesOfOneForMany) {
    const Values a = floats({2, 1, 1, 1}, {2, 3});
    const Values b = floats({1, 3, 1, 2}, {1, 2, 3, 4, 5, 6});
    EXPECT_TRUE(holds(evaluate(BatchMatmul(), {a, b}, typeOf(DataType::FLOAT32, {})),
                      {2, 4, 6, 8, 10, 12, 3, 6, 9, 12, 15, 18}));
}

TEST(BatchMatmulRef, SumsNothingToZero) {
    EXPECT_TRUE(holds(evaluate(BatchMatmul(), {floats({1, 0}, {}), floats({0, 2}, {})},
                               typeOf(DataType::FLOAT32, {})),
                      {0, 0}));
    const auto bytes = [](Shape shape) {
        return quantized(typeOf(DataType::QUANT8_ASYMM_SIGNED, shape, 0.5F, 3), {});
    };
    EXPECT_TRUE(holds(evaluate(BatchMatmul(), {bytes({1, 0}), bytes({0, 2})},
                               typeOf(DataType::QUANT8_ASYMM_SIGNED, {}, 0.5F, -7)),
                      {-7, -7}));
}

TEST(BatchMatmulRef, WrapsIntegers) {
    const Values a = ints({1, 2}, {65536, 2147483647});
    const Values b = ints({2, 1}, {65536, 2});
    EXPECT_TRUE(holds(evaluate(BatchMatmul(), {a, b}, typeOf(DataType::INT32, {})), {-2}));
}

// In double precision.
TEST(BatchMatmulRef, ComputesAnyType) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const DataType type : {DataType::FLOAT16, DataType::FLOAT32, DataType::QUANT8_ASYMM,
                                DataType::QUANT8_ASYMM_SIGNED}) {
        TensorType ofA = isQuantized(type) ? random.quantization(type, 0.02F) : typeOf(type, {});
        TensorType ofB = isQuantized(type) ? random.quantization(type, 0.03F) : typeOf(type, {});
        TensorType output = isQuantized(type) ? random.quantization(type, 0.1F) : typeOf(type, {});
        ofA.shape = {3, 4};
        ofB.shape = {4, 5};
        const Values a = random.values(ofA);
        const Values b = random.values(ofB);
        std::vector<double> expected(15);
        for (size_t i = 0; i < 60; ++i) {
            expected[i / 20 * 5 + i % 5] += reals(a)[i / 5] * reals(b)[i / 5 % 4 * 5 + i % 5];
        }
        // Rounded twice, first to a sixteenth of a step at the worst: these factors are below 1/16.
        EXPECT_TRUE(approximates(evaluate(BatchMatmul(), {a, b}, output), expected, 0.54))
                << toString(type);
    }
}

}  // namespace
}  // namespace halyard::engine::ref_test
