// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/gemm/float_gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "engine/backends/cpu/gemm/panel_columns.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/base/half.h"
#include "tests/engine/cpu_acc/guarded_memory.h"
#include "tests/engine/reference/random_values.h"

namespace halyard::engine::float_gemm_test {
namespace {

using cpu::FloatBlock;
using cpu::FloatGemm;
using cpu::InstructionSet;

constexpr float kUntouched = -7777.0F;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Extents {
    int64_t lines = 1;
    int64_t rows = 1;
    int64_t columns = 1;
    int64_t runs = 1;
    int64_t runLength = 1;

    int64_t depth() const { return runs * runLength; }
};

std::span<float> floatsOf(const GuardedMemory& memory) {
    return {reinterpret_cast<float*>(memory.bytes().data()), memory.bytes().size() / sizeof(float)};
}

// Rows whose runs have a gap of an element between them, weights and biases. Nothing lies behind
// the last element of either, nor behind the last one of the result.
class Product {
  public:
    // `of(random)` makes each element.
    template <typename Of>
    Product(const FloatGemm& form, InstructionSet set, const Extents& extents, bool bfloats,
            ref_test::RandomValues& random, Of of)
        : mForm(form),
          mExtents(extents),
          mBfloats(bfloats),
          mRow(extents.runs * (extents.runLength + 1) + 2),
          mLine(extents.rows * mRow + 3),
          mA(static_cast<size_t>((extents.lines - 1) * mLine + extents.rows * mRow - 3) *
             sizeof(float)),
          mPanels(static_cast<size_t>(form.panels(extents.columns) *
                                      form.panelLength(extents.depth(), bfloats)) *
                  sizeof(float)) {
        for (int64_t run = 0; run < extents.runs; ++run) {
            mRuns.push_back(run * (extents.runLength + 1));
        }
        std::ranges::generate(floatsOf(mA), [&] { return of(random); });
        mBias.resize(static_cast<size_t>(extents.columns));
        std::ranges::generate(mBias, [&] { return of(random); });
        // [column][k]
        mWeights.resize(static_cast<size_t>(extents.columns * extents.depth()));
        std::ranges::generate(mWeights, [&] {
            const float weight = of(random);
            return bfloats ? toFloat(toBFloat16(weight)) : weight;
        });
        float* to = floatsOf(mPanels).data();
        for (int64_t column = 0; column < extents.columns; column += form.lanes) {
            const int64_t count = std::min(form.lanes, extents.columns - column);
            std::fill(std::copy_n(mBias.data() + column, count, to), to + form.lanes, 0.0F);
            cpu::layPanel<float>({.first = mWeights.data() + column * extents.depth(),
                                  .count = count,
                                  .apart = extents.depth(),
                                  .depth = extents.depth()},
                                 bfloats, set, form.lanes, to + form.lanes);
            to += form.panelLength(extents.depth(), bfloats);
        }
    }

    // [line][row][column], with a gap of so many elements between rows.
    std::vector<float> compute(float low, float high, int64_t gap) const {
        const Extents& e = mExtents;
        const GuardedMemory c(static_cast<size_t>(e.lines * e.rows * (e.columns + gap) - gap) *
                              sizeof(float));
        std::ranges::fill(floatsOf(c), kUntouched);
        FloatBlock block;
        block.a = floatsOf(mA).data();
        block.aLine = mLine;
        block.aRow = mRow;
        block.runs = mRuns;
        block.runLength = e.runLength;
        block.lines = e.lines;
        block.rows = e.rows;
        block.panels = floatsOf(mPanels).data();
        block.columns = e.columns;
        block.low = low;
        block.high = high;
        block.c = floatsOf(c).data();
        block.cRow = e.columns + gap;
        block.cLine = e.rows * block.cRow;
        (mBfloats ? mForm.computeBfloats : mForm.compute)(block);
        return {floatsOf(c).begin(), floatsOf(c).end()};
    }

    // An element, where `add(a, weight, sum)` adds a product to the sum.
    template <typename T, typename Add>
    T sum(int64_t line, int64_t row, int64_t column, Add add) const {
        const float* const from = floatsOf(mA).data() + line * mLine + row * mRow;
        T sum = mBias[static_cast<size_t>(column)];
        for (int64_t k = 0; k < mExtents.depth(); ++k) {
            const ptrdiff_t run = mRuns[static_cast<size_t>(k / mExtents.runLength)];
            sum = add(T{from[run + k % mExtents.runLength]},
                      T{mWeights[static_cast<size_t>(column * mExtents.depth() + k)]}, sum);
        }
        return sum;
    }

  private:
    const FloatGemm& mForm;
    const Extents mExtents;
    const bool mBfloats;
    const int64_t mRow;
    const int64_t mLine;
    std::vector<ptrdiff_t> mRuns;
    const GuardedMemory mA;
    std::vector<float> mWeights;
    std::vector<float> mBias;
    const GuardedMemory mPanels;
};

// All numbers of rows that a tile has, and of the columns of the widest one.
template <typename Check>
void forEachProduct(Check check) {
    for (const InstructionSet set : cpu::availableInstructionSets()) {
        const FloatGemm& form = cpu::floatGemm(set);
        const std::array<int64_t, 6> columns = {1,
                                                form.lanes - 1,
                                                form.lanes + 2,
                                                2 * form.lanes,
                                                4 * form.lanes,
                                                4 * form.lanes + 3};
        for (int64_t rows = 1; rows <= form.tileRows + 1; ++rows) {
            for (const int64_t width : columns) {
                if (width > 0) {
                    SCOPED_TRACE(testing::Message() << toString(set) << ": " << rows << " rows, "
                                                    << width << " columns");
                    check(form, set, rows, width);
                }
            }
        }
    }
}

// Columns that leave most of a vector unused, and rows for several vectors and between them.
template <typename Check>
void forEachProductOfFewColumns(Check check) {
    for (const InstructionSet set : cpu::availableInstructionSets()) {
        const FloatGemm& form = cpu::floatGemm(set);
        for (const int64_t rows : {form.lanes - 1, form.lanes, form.lanes + 1, 2 * form.lanes,
                                   2 * form.lanes + 1, 3 * form.lanes, 5 * form.lanes + 3}) {
            for (int64_t columns = 1; columns <= 5 && rows > 0; ++columns) {
                SCOPED_TRACE(testing::Message() << toString(set) << ": " << rows << " rows, "
                                                << columns << " columns");
                check(form, set, rows, columns);
            }
        }
    }
}

// Small enough for all sums to be exact, in any order.
float wholeNumber(ref_test::RandomValues& random) {
    return static_cast<float>(random.integer(-8, 8));
}
float realNumber(ref_test::RandomValues& random) {
    return random.real(-2.0F, 2.0F);
}

void expectSums(const Product& product, const Extents& extents, float low, float high,
                int64_t gap = 3) {
    const std::vector<float> result = product.compute(low, high, gap);
    std::vector<float> expected;
    for (int64_t line = 0; line < extents.lines; ++line) {
        for (int64_t row = 0; row < extents.rows; ++row) {
            for (int64_t column = 0; column < extents.columns; ++column) {
                const double sum = product.sum<double>(
                        line, row, column,
                        [](double a, double weight, double terms) { return a * weight + terms; });
                expected.push_back(std::clamp(static_cast<float>(sum), low, high));
            }
            expected.insert(expected.end(), static_cast<size_t>(gap), kUntouched);
        }
    }
    expected.resize(result.size());
    EXPECT_EQ(result, expected);
}

TEST(FloatGemm, ReadsAndWritesNothingBehindRowsOfAnyDepth) {
    ref_test::RandomValues random;
    SCOPED_TRACE(random.seedText());
    forEachProduct([&](const FloatGemm& form, InstructionSet set, int64_t rows, int64_t columns) {
        for (const int64_t depth : {1, 2, 3, 4, 5, 6, 7, 8, 19}) {
            const Extents extents = {.rows = rows, .columns = columns, .runLength = depth};
            expectSums(Product(form, set, extents, false, random, wholeNumber), extents, -kInfinity,
                       kInfinity);
        }
    });
}

TEST(FloatGemm, MultipliesRowsOfSeveralRunsInSeveralLines) {
    ref_test::RandomValues random;
    SCOPED_TRACE(random.seedText());
    forEachProduct([&](const FloatGemm& form, InstructionSet set, int64_t rows, int64_t columns) {
        for (const int64_t length : {1, 3, 4, 6, 9}) {
            const Extents extents = {
                    .lines = 3, .rows = rows, .columns = columns, .runs = 3, .runLength = length};
            expectSums(Product(form, set, extents, false, random, wholeNumber), extents, -40.0F,
                       60.0F);
        }
    });
}

TEST(FloatGemm, MultipliesManyRowsWithAFewColumns) {
    ref_test::RandomValues random;
    SCOPED_TRACE(random.seedText());
    forEachProductOfFewColumns([&](const FloatGemm& form, InstructionSet set, int64_t rows,
                                   int64_t columns) {
        for (const int64_t length : {1, 4, 7, 12}) {
            const Extents extents = {
                    .lines = 2, .rows = rows, .columns = columns, .runs = 2, .runLength = length};
            const Product product(form, set, extents, false, random, wholeNumber);
            for (const int64_t gap : {0, 3}) {
                expectSums(product, extents, -40.0F, 60.0F, gap);
            }
        }
    });
}

TEST(FloatGemm, MultipliesWeightsOfBfloats) {
    ref_test::RandomValues random;
    SCOPED_TRACE(random.seedText());
    forEachProduct([&](const FloatGemm& form, InstructionSet set, int64_t rows, int64_t columns) {
        if (rows > form.fewRows) {
            return;
        }
        for (const int64_t depth : {1, 2, 3, 4, 7, 18}) {
            const Extents extents = {.rows = rows, .columns = columns, .runLength = depth};
            expectSums(Product(form, set, extents, true, random, wholeNumber), extents, -kInfinity,
                       kInfinity);
        }
    });
}

// To the bit: products are rounded on some processors before they are added, and not on others.
TEST(FloatGemm, AddsProductsInOrderOfDepthInEachTile) {
    ref_test::RandomValues random;
    SCOPED_TRACE(random.seedText());
    const auto check = [&](const FloatGemm& form, InstructionSet set, int64_t rows,
                           int64_t columns) {
        const Extents extents = {.rows = rows, .columns = columns, .runs = 2, .runLength = 23};
        const Product product(form, set, extents, false, random, realNumber);
        const std::vector<float> result = product.compute(-kInfinity, kInfinity, 0);
        std::vector<float> fused, rounded;
        for (int64_t row = 0; row < rows; ++row) {
            for (int64_t column = 0; column < columns; ++column) {
                const auto fusedAdd = [](float a, float b, float sum) {
                    return std::fma(a, b, sum);
                };
                const auto add = [](float a, float b, float sum) { return a * b + sum; };
                fused.push_back(product.sum<float>(0, row, column, fusedAdd));
                rounded.push_back(product.sum<float>(0, row, column, add));
            }
        }
        EXPECT_TRUE(result == fused || result == rounded);
    };
    forEachProduct(check);
    forEachProductOfFewColumns(check);
}

TEST(FloatGemm, KeepsWhatIsNoNumber) {
    for (const InstructionSet set : cpu::availableInstructionSets()) {
        SCOPED_TRACE(toString(set));
        ref_test::RandomValues random;
        const Extents extents = {.rows = 2, .columns = 3, .runLength = 5};
        const Product product(cpu::floatGemm(set), set, extents, false, random,
                              [](ref_test::RandomValues& /*random*/) {
                                  return std::numeric_limits<float>::quiet_NaN();
                              });
        for (const float value : product.compute(0.0F, 6.0F, 0)) {
            EXPECT_NE(value, value);
        }
    }
}

}  // namespace
}  // namespace halyard::engine::float_gemm_test
