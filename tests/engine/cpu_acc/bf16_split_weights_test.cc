// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/gemm/bf16_split_weights.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/backends/cpu/gemm/bf16_split_gemm.h"
#include "engine/backends/cpu/gemm/panel_columns.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "tests/engine/reference/random_values.h"

namespace halyard::engine::split_test {
namespace {

using cpu::kSplitDepth;
using cpu::kTileColumns;
using cpu::PanelColumns;

// The bits of the nearest bfloat16, the one farther from zero of two.
uint16_t nearest(float value) {
    return static_cast<uint16_t>((std::bit_cast<uint32_t>(value) + 0x8000U) >> 16U);
}
float valueOf(uint16_t bits) {
    return std::bit_cast<float>(uint32_t{bits} << 16U);
}

// A panel as bf16_split_gemm.h specifies it, element by element.
std::vector<uint16_t> panelOf(const PanelColumns<float>& columns, int parts) {
    const int64_t steps = (columns.depth + kSplitDepth - 1) / kSplitDepth;
    std::vector<uint16_t> panel;
    for (int64_t step = 0; step < steps; ++step) {
        for (int part = 0; part < parts; ++part) {
            for (int64_t row = 0; row < kSplitDepth / 2; ++row) {
                for (int64_t i = 0; i < kTileColumns * 2; ++i) {
                    const int64_t k = step * kSplitDepth + row + i % 2 * (kSplitDepth / 2);
                    const bool isThere = i / 2 < columns.count && k < columns.depth;
                    const float value = isThere ? columns.first[i / 2 * columns.apart + k] : 0.0F;
                    const uint16_t first = nearest(value);
                    panel.push_back(part == 0 ? first : nearest(value - valueOf(first)));
                }
            }
        }
    }
    return panel;
}

TEST(SplitColumns, AreTheirPartsWithEachInstructionSet) {
    ref_test::RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const int64_t depth : {1, 16, 31, 32, 33, 64, 100}) {
        for (const int64_t count : {int64_t{1}, int64_t{7}, kTileColumns}) {
            // Exactly as many, so that reading more is seen, by AddressSanitizer.
            const int64_t apart = depth + depth % 3;
            std::vector<float> weights(static_cast<size_t>((count - 1) * apart + depth));
            for (float& weight : weights) {
                weight = random.real(-2.0F, 2.0F);
            }
            weights.back() = 0x1.01p0F;  // between two of bfloat16
            for (const int parts : {1, 2}) {
                const PanelColumns<float> columns = {
                        .first = weights.data(), .count = count, .apart = apart, .depth = depth};
                const std::vector<uint16_t> expected = panelOf(columns, parts);
                for (const cpu::InstructionSet set : cpu::availableInstructionSets()) {
                    std::vector<uint16_t> panel(expected.size(), 0xFFFF);
                    cpu::splitColumns(columns, parts, set,
                                      reinterpret_cast<std::byte*>(panel.data()));
                    EXPECT_EQ(panel, expected) << toString(set) << ", " << count << " columns of "
                                               << depth << " in " << parts;
                }
            }
        }
    }
}

}  // namespace
}  // namespace halyard::engine::split_test
