// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/gemm/panel_columns.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/backends/cpu/gemm/conv_gemm_definition.h"
#include "engine/backends/cpu/gemm/float_gemm.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/base/half.h"
#include "tests/engine/reference/random_values.h"

namespace halyard::engine::panel_test {
namespace {

using cpu::InstructionSet;
using cpu::PanelColumns;

constexpr float kUntouched = -7.0F;

// [k][lane]
std::vector<float> panelOf(const PanelColumns<float>& columns, int64_t lanes) {
    std::vector<float> panel;
    for (int64_t k = 0; k < columns.depth; ++k) {
        for (int64_t lane = 0; lane < lanes; ++lane) {
            panel.push_back(lane < columns.count ? columns.first[lane * columns.apart + k] : 0.0F);
        }
    }
    return panel;
}

// All columns of a matrix whose rows are longer than they, by `columns` in each set's panels.
template <typename Check>
void forEachPanel(Check check) {
    ref_test::RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const InstructionSet set : cpu::availableInstructionSets()) {
        const int64_t lanes = cpu::floatGemm(set).lanes;
        for (const int64_t depth : {1, 3, 15, 16, 17, 37, 64}) {
            for (const int64_t count : {int64_t{1}, lanes / 2 + 1, lanes}) {
                for (const int64_t gap : {0, 5}) {
                    // Nothing lies behind them, which AddressSanitizer sees.
                    std::vector<float> weights(static_cast<size_t>(count * (depth + gap) - gap));
                    for (float& weight : weights) {
                        weight = random.real(-2.0F, 2.0F);
                    }
                    SCOPED_TRACE(testing::Message() << toString(set) << ": " << count
                                                    << " columns of " << depth << ", " << gap);
                    check(PanelColumns<float>{.first = weights.data(),
                                              .count = count,
                                              .apart = depth + gap,
                                              .depth = depth},
                          set, lanes);
                }
            }
        }
    }
}

TEST(PanelColumns, LieNextToEachOtherWithEachInstructionSet) {
    forEachPanel([](const PanelColumns<float>& columns, InstructionSet set, int64_t lanes) {
        std::vector<float> expected = panelOf(columns, lanes);
        expected.push_back(kUntouched);
        std::vector<float> panel(expected.size(), kUntouched);
        cpu::layPanel(columns, false, set, lanes, panel.data());
        EXPECT_EQ(panel, expected);
    });
}

TEST(PanelColumns, MayBeBfloats) {
    forEachPanel([](const PanelColumns<float>& columns, InstructionSet set, int64_t lanes) {
        std::vector<uint16_t> expected;
        for (const float value : panelOf(columns, lanes)) {
            expected.push_back(toBFloat16(value).bits);
        }
        // A vector has two elements of the depth.
        expected.resize(static_cast<size_t>((columns.depth + 1) / 2 * 2 * lanes));
        std::vector<uint16_t> panel(expected.size(), 0xFFFF);
        cpu::layPanel(columns, true, set, lanes, reinterpret_cast<float*>(panel.data()));
        EXPECT_EQ(panel, expected);
    });
}

TEST(PanelColumns, OfHalvesAreWidened) {
    forEachPanel([](const PanelColumns<float>& columns, InstructionSet set, int64_t lanes) {
        std::vector<Half> weights;
        std::vector<float> rounded;
        for (int64_t i = 0; i < (columns.count - 1) * columns.apart + columns.depth; ++i) {
            weights.push_back(toHalf(columns.first[i]));
            rounded.push_back(toFloat(weights.back()));
        }
        PanelColumns<float> expected = columns;
        expected.first = rounded.data();
        std::vector<float> panel(static_cast<size_t>(columns.depth * lanes), kUntouched);
        cpu::layPanel(PanelColumns<Half>{.first = weights.data(),
                                         .count = columns.count,
                                         .apart = columns.apart,
                                         .depth = columns.depth},
                      false, set, lanes, panel.data());
        EXPECT_EQ(panel, panelOf(expected, lanes));
    });
}

TEST(PanelColumns, MayBeHalves) {
    constexpr int64_t kLanes = 8;
    for (const int64_t depth : {1, 7, 8, 31, 32, 33, 100}) {
        for (const int64_t count : {1, 5, 8}) {
            const int64_t apart = depth + 3;
            // Nothing lies behind them, which AddressSanitizer sees.
            std::vector<Half> weights(static_cast<size_t>((count - 1) * apart + depth));
            for (size_t i = 0; i < weights.size(); ++i) {
                weights[i].bits = static_cast<uint16_t>(i + 1);
            }
            std::vector<Half> panel(static_cast<size_t>(depth * kLanes), Half{0xFFFF});
            cpu::layHalves(
                    {.first = weights.data(), .count = count, .apart = apart, .depth = depth},
                    kLanes, panel.data());
            for (int64_t k = 0; k < depth; ++k) {
                for (int64_t lane = 0; lane < kLanes; ++lane) {
                    const int64_t expected = lane < count ? lane * apart + k + 1 : 0;
                    ASSERT_EQ(panel[static_cast<size_t>(k * kLanes + lane)].bits, expected)
                            << count << " columns of " << depth << ": " << k << ", " << lane;
                }
            }
        }
    }
}

TEST(PanelChannels, EndWithTheirGroup) {
    const cpu::ConvGemmFilter filter = {.channels = 20, .groups = 2};
    const auto channels = [&](int64_t panel) {
        const cpu::PanelChannels of = cpu::panelChannels(filter, 8, panel);
        return std::pair(of.first, of.count);
    };
    EXPECT_EQ(channels(0), std::pair(int64_t{0}, int64_t{8}));
    EXPECT_EQ(channels(1), std::pair(int64_t{8}, int64_t{2}));
    EXPECT_EQ(channels(2), std::pair(int64_t{10}, int64_t{8}));
    EXPECT_EQ(channels(3), std::pair(int64_t{18}, int64_t{2}));
}

}  // namespace
}  // namespace halyard::engine::panel_test
