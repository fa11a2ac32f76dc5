// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "tests/engine/cpu_acc/tuned.h"

namespace halyard::engine::cpu_test {
namespace {

TEST(BatchMatmulAcc, AgreesWithTheReference) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 24; ++round) {
        const BatchMatmul node = {.transposeA = random.coin(), .transposeB = random.coin()};
        const int32_t rows = random.integer(round == 0 ? 0 : 1, 40);
        const int32_t depth = random.integer(0, 50);
        const int32_t columns = random.integer(1, 150);
        const Shape a = {random.coin() ? 1 : 2, 3, node.transposeA ? depth : rows,
                         node.transposeA ? rows : depth};
        const Shape b = {2, random.coin() ? 1 : 3, node.transposeB ? columns : depth,
                         node.transposeB ? depth : columns};
        const DataType type = round % 3 == 0 ? DataType::FLOAT16 : DataType::FLOAT32;
        ASSERT_TRUE(agrees(node, {random.values(typeOf(type, a)), random.values(typeOf(type, b))},
                           {typeOf(type, {})}, 1e-3))
                << toString(NodeDescriptor(node)) << a.toString() << b.toString();
    }
}

TEST(BatchMatmulAcc, AgreesWithTheReferenceInBytes) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 48; ++round) {
        const BatchMatmul node = {.transposeA = random.coin(), .transposeB = random.coin()};
        const int32_t rows = random.integer(round == 0 ? 0 : 1, 40);
        const int32_t depth = random.integer(0, round == 1 ? 300 : 50);
        const int32_t columns = random.integer(1, 150);
        const Shape a = {random.coin() ? 1 : 2, 3, node.transposeA ? depth : rows,
                         node.transposeA ? rows : depth};
        const Shape b = {2, random.coin() ? 1 : 3, node.transposeB ? columns : depth,
                         node.transposeB ? depth : columns};
        const DataType type =
                round % 3 == 0 ? DataType::QUANT8_ASYMM : DataType::QUANT8_ASYMM_SIGNED;
        const TensorType ofA = randomType(random, type, a);
        TensorType ofB = randomType(random, type, b);
        if (round % 5 == 0) {
            ofB.quantization.zeroPoint = 0;
        }
        // From factors that saturate to those that leave nothing.
        const float scale = std::ldexp(random.real(0.5F, 1.0F), random.integer(-20, 20));
        const TensorType output = randomType(random, type, {}, scale);
        ASSERT_TRUE(agrees(node, {random.values(ofA), random.values(ofB)}, {output}))
                << toString(NodeDescriptor(node)) << ofA.toString() << ofB.toString()
                << output.toString();
    }
}

TEST(BatchMatmulAcc, LeavesVeryLongSumsToTheReference) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    const Values a = random.values(typeOf(DataType::FLOAT32, {1, 70000}));
    const Values b = random.values(typeOf(DataType::FLOAT32, {70000, 2}));
    ASSERT_TRUE(agrees(BatchMatmul(), {a, b}, {typeOf(DataType::FLOAT32, {})}, 0.0));
}

}  // namespace
}  // namespace halyard::engine::cpu_test
