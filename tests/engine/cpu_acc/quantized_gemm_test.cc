// SPDX-License-Identifier: Apache-2.0
//
// Micro-kernels of quantized_gemm.h alone, beside a loop over all products. Rows end where memory
// does, panels end with the last column's.

#include "engine/backends/cpu/gemm/quantized_gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "engine/backends/cpu/gemm/quantized_columns.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/numerics/requantize.h"
#include "tests/engine/cpu_acc/guarded_memory.h"
#include "tests/engine/reference/random_values.h"

namespace halyard::engine::quantized_gemm_test {
namespace {

using cpu::InstructionSet;
using cpu::QuantizedBlock;
using cpu::QuantizedGemm;
using ref_test::RandomValues;

constexpr int32_t kMost = std::numeric_limits<int32_t>::max();

struct Extents {
    int64_t lines = 1;
    int64_t rows = 1;
    int64_t columns = 1;
    int64_t depth = 1;  // of a run
    int64_t runs = 1;
};

// What is not random.
struct Numbers {
    int32_t least = -127;  // a weight
    int32_t most = 127;
    int32_t bias = 1000;
    float multiplier = 0.01F;  // at most
    bool allMultipliersAlike = false;
    int32_t zeroPoint = 3;
    QuantizedRange range = {.low = -128, .high = 127};
    int32_t weightsZero = 0;
    bool wantsSums = false;
};

// Matrices as the form reads them, and all that is made of them. Elements of the left one are what
// the form's type has, also where those are differences in 16 bits.
class Product {
  public:
    Product(const QuantizedGemm& form, const Extents& extents, const Numbers& numbers)
        : mForm(form),
          mExtents(extents),
          mNumbers(numbers),
          mRun(cpu::paddedDepth(form, extents.depth)),
          mRow(mRun * extents.runs),
          mA(static_cast<size_t>(extents.lines * extents.rows * mRow) * elementBytes()) {
        RandomValues random;
        mSeed = random.seedText();
        fillRows(random);
        fillPanels(random);
    }

    std::string text() const {
        return mSeed + ": " + std::to_string(mExtents.lines) + " lines of " +
               std::to_string(mExtents.rows) + " rows, " + std::to_string(mExtents.runs) +
               " runs of " + std::to_string(mExtents.depth) + ", " +
               std::to_string(mExtents.columns) + " columns";
    }

    std::vector<int32_t> computed() const {
        std::vector<int32_t> rowSums(static_cast<size_t>(mExtents.lines * mExtents.rows));
        std::vector<ptrdiff_t> runs;
        for (int64_t run = 0; run < mExtents.runs; ++run) {
            runs.push_back(run * mRun);
        }
        const auto count = static_cast<size_t>(mExtents.lines * mExtents.rows * mExtents.columns);
        const GuardedMemory bytes(count);
        const GuardedMemory sums(count * sizeof(int32_t));
        QuantizedBlock block;
        block.a = mA.bytes().data();
        block.aLine = mRow * mExtents.rows;
        block.aRow = mRow;
        block.runs = runs;
        block.runLength = mRun;
        block.lines = mExtents.lines;
        block.rows = mExtents.rows;
        block.panels = mPanels;
        block.columns = mExtents.columns;
        block.c = bytes.bytes().data();
        block.cLine = mExtents.rows * mExtents.columns;
        block.cRow = mExtents.columns;
        block.zeroPoint = mNumbers.zeroPoint;
        block.low = mNumbers.range.low;
        block.high = mNumbers.range.high;
        block.hasSmallWeights = mNumbers.least > -128;
        if (mNumbers.wantsSums) {
            block.sums = reinterpret_cast<int32_t*>(sums.bytes().data());
        }
        if (mNumbers.weightsZero != 0 && mForm.bytes) {
            block.weightsZero = mNumbers.weightsZero;
            block.rowSums = rowSums.data();
        }
        mForm.compute(block);
        std::vector<int32_t> all(count);
        for (size_t i = 0; i < count; ++i) {
            all[i] = mNumbers.wantsSums       ? block.sums[i]
                     : mNumbers.range.low < 0 ? int32_t{static_cast<int8_t>(block.c[i])}
                                              : int32_t{block.c[i]};
        }
        return all;
    }

    std::vector<int32_t> expected() const {
        std::vector<int32_t> all;
        const int32_t weightsZero = mForm.bytes ? mNumbers.weightsZero : 0;
        for (int64_t row = 0; row < mExtents.lines * mExtents.rows; ++row) {
            for (int64_t column = 0; column < mExtents.columns; ++column) {
                auto sum = static_cast<uint32_t>(mBiases[static_cast<size_t>(column)]);
                for (int64_t k = 0; k < mRow; ++k) {
                    sum += static_cast<uint32_t>(element(row * mRow + k) *
                                                 (weight(column, k) - weightsZero));
                }
                const auto whole = static_cast<int32_t>(sum);
                all.push_back(
                        mNumbers.wantsSums
                                ? whole
                                : roundAndClamp(static_cast<float>(whole) *
                                                        mMultipliers[static_cast<size_t>(column)],
                                                mNumbers.zeroPoint, mNumbers.range));
            }
        }
        return all;
    }

  private:
    size_t elementBytes() const { return cpu::rowElementBytes(mForm); }
    int32_t weight(int64_t column, int64_t k) const {
        return mWeights[static_cast<size_t>(column * mRow + k)];
    }
    int32_t element(int64_t i) const {
        const uint8_t* const from = mA.bytes().data() + i * static_cast<int64_t>(elementBytes());
        if (!mForm.bytes) {
            int16_t value = 0;
            std::memcpy(&value, from, sizeof(value));
            return value;
        }
        return mForm.signedLeft ? int32_t{static_cast<int8_t>(*from)} : int32_t{*from};
    }

    void fillRows(RandomValues& random) {
        for (int64_t i = 0; i < mExtents.lines * mExtents.rows * mRow; ++i) {
            uint8_t* const to = mA.bytes().data() + i * static_cast<int64_t>(elementBytes());
            // The ends of the type often, where sums in 16 bits would overflow.
            const int32_t value = random.coin() ? random.integer(-128, 127) : -128;
            if (mForm.bytes) {
                *to = static_cast<uint8_t>(value);
            } else {
                const auto difference = static_cast<int16_t>(value);
                std::memcpy(to, &difference, sizeof(difference));
            }
        }
    }

    void fillPanels(RandomValues& random) {
        cpu::ByteColumns bytes;
        bytes.columnsAreSigned = true;
        const int64_t panelBytes = mForm.panelBytes(mRow);
        constexpr size_t kAlignment = 64;
        const auto size = static_cast<size_t>(mForm.panels(mExtents.columns) * panelBytes);
        mPanelMemory.resize(size + kAlignment);
        size_t room = mPanelMemory.size();
        void* panels = mPanelMemory.data();
        mPanels = static_cast<std::byte*>(std::align(kAlignment, size, panels, room));
        mWeights.resize(static_cast<size_t>(mExtents.columns * mRow));
        for (int8_t& weight : mWeights) {
            weight = static_cast<int8_t>(
                    random.coin() ? random.integer(mNumbers.least, mNumbers.most) : mNumbers.least);
        }
        for (int64_t column = 0; column < mExtents.columns; ++column) {
            mBiases.push_back(random.integer(-mNumbers.bias, mNumbers.bias));
            const float least = mNumbers.multiplier / (mNumbers.allMultipliersAlike ? 1 : 4);
            mMultipliers.push_back(random.real(least, mNumbers.multiplier));
            std::byte* const panel = mPanels + column / mForm.lanes * panelBytes;
            const int64_t lane = column % mForm.lanes;
            packRuns(bytes, column, panel, lane);
            auto* const biases = reinterpret_cast<int32_t*>(panel);
            biases[lane] = mBiases.back();
            reinterpret_cast<float*>(biases + mForm.lanes)[lane] = mMultipliers.back();
        }
    }

    // Each run is packed as if it were a panel's only one, without the head.
    void packRuns(const cpu::ByteColumns& bytes, int64_t column, std::byte* panel, int64_t lane) {
        const int64_t head = mForm.panelBytes(0);
        std::vector<std::byte> one(static_cast<size_t>(mForm.panelBytes(mRun)));
        for (int64_t run = 0; run < mExtents.runs; ++run) {
            const int64_t at = run * (mForm.panelBytes(mRun) - head);
            std::copy_n(panel + head + at, one.size() - static_cast<size_t>(head),
                        one.data() + head);
            const cpu::ColumnPart part = {
                    .first = reinterpret_cast<const uint8_t*>(mWeights.data()) + column * mRow +
                             run * mRun,
                    .step = 1,
                    .depth = mRun};
            cpu::packColumn(mForm, bytes, {&part, 1}, 0, one.data(), lane);
            std::copy_n(one.data() + head, one.size() - static_cast<size_t>(head),
                        panel + head + at);
        }
    }

    const QuantizedGemm& mForm;
    const Extents mExtents;
    const Numbers mNumbers;
    const int64_t mRun;
    const int64_t mRow;
    const GuardedMemory mA;
    std::string mSeed;
    std::vector<int8_t> mWeights;  // [column][k]
    std::vector<int32_t> mBiases;
    std::vector<float> mMultipliers;
    std::vector<std::byte> mPanelMemory;
    std::byte* mPanels = nullptr;
};

void expectExact(const Extents& extents, const Numbers& numbers) {
    for (const InstructionSet set : cpu::availableInstructionSets()) {
        const Product product(cpu::quantizedGemm(set), extents, numbers);
        ASSERT_EQ(product.computed(), product.expected())
                << cpu::toString(set) << ", " << product.text();
    }
}

TEST(QuantizedGemm, IsExactForEveryNumberOfRowsAndColumns) {
    for (int64_t rows = 1; rows <= 17; ++rows) {
        for (const int64_t columns : {1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 40, 65}) {
            expectExact({.rows = rows, .columns = columns, .depth = 24}, {});
        }
    }
}

TEST(QuantizedGemm, IsExactForEveryDepth) {
    for (int64_t depth = 0; depth <= 70; ++depth) {
        for (const int64_t rows : {1, 2, 3, 8}) {
            for (const int64_t columns : {5, 21, 32}) {
                expectExact({.rows = rows, .columns = columns, .depth = depth}, {});
            }
        }
    }
}

TEST(QuantizedGemm, IsExactForRunsAndLines) {
    for (const int64_t depth : {3, 8, 12, 16, 40}) {
        for (const int64_t rows : {1, 5, 9}) {
            expectExact({.lines = 3, .rows = rows, .columns = 27, .depth = depth, .runs = 3}, {});
        }
    }
}

TEST(QuantizedGemm, IsExactWithTheLeastWeights) {
    for (const int64_t depth : {8, 16, 24, 64, 200}) {
        for (const int64_t rows : {1, 2, 7}) {
            expectExact({.rows = rows, .columns = 19, .depth = depth, .runs = 2},
                        {.least = -128, .multiplier = 0.001F});
        }
    }
}

TEST(QuantizedGemm, TakesTheZeroPointOfWeightsIntoAccount) {
    for (const int64_t depth : {4, 24, 100}) {
        for (const int64_t rows : {1, 2, 3, 11}) {
            for (const bool wantsSums : {false, true}) {
                expectExact({.lines = 2, .rows = rows, .columns = 21, .depth = depth, .runs = 2},
                            {.least = -128, .weightsZero = -77, .wantsSums = wantsSums});
            }
        }
    }
}

TEST(QuantizedGemm, GivesSumsWhereThoseAreWanted) {
    for (int64_t rows = 1; rows <= 9; ++rows) {
        for (const int64_t columns : {1, 6, 8, 13, 16, 30, 33}) {
            expectExact({.rows = rows, .columns = columns, .depth = 40}, {.wantsSums = true});
        }
    }
}

TEST(QuantizedGemm, KeepsBytesWithinTheirBounds) {
    const QuantizedRange ranges[] = {{-128, 127}, {-100, 90}, {-5, 127}, {-128, -3},
                                     {0, 255},    {0, 127},   {12, 200}, {7, 127}};
    for (const QuantizedRange range : ranges) {
        for (const int32_t zeroPoint : {range.low, (range.low + range.high) / 2, range.high}) {
            // From a little to far beyond the bounds, and beyond 16 and 32 bits.
            for (const float multiplier : {0.002F, 0.05F, 3.0F, 1e6F, 1e30F}) {
                expectExact({.rows = 5, .columns = 29, .depth = 36},
                            {.multiplier = multiplier, .zeroPoint = zeroPoint, .range = range});
            }
        }
    }
}

TEST(QuantizedGemm, RoundsHalvesToEven) {
    // Biases alone.
    expectExact(
            {.rows = 4, .columns = 64, .depth = 4},
            {.least = 0, .most = 0, .bias = 200, .multiplier = 0.5F, .allMultipliersAlike = true});
}

TEST(QuantizedGemm, WrapsLikeIntegers) {
    expectExact({.rows = 3, .columns = 9, .depth = 32}, {.bias = kMost, .wantsSums = true});
    expectExact({.rows = 3, .columns = 9, .depth = 32}, {.bias = kMost, .multiplier = 1e-7F});
}

}  // namespace
}  // namespace halyard::engine::quantized_gemm_test
