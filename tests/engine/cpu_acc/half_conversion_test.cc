// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/vectors/half_conversion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "engine/backends/cpu/vectors/instruction_set.h"
#include "tests/engine/base/boundary_floats.h"
#include "tests/engine/cpu_acc/guarded_memory.h"

namespace halyard::engine {
namespace {

using cpu::InstructionSet;

std::vector<uint16_t> bitsOf(const std::vector<Half>& values) {
    std::vector<uint16_t> bits;
    std::ranges::transform(values, std::back_inserter(bits), [](Half value) { return value.bits; });
    return bits;
}

// A signalling NaN may become quiet.
std::vector<uint32_t> quietBitsOf(const std::vector<float>& values) {
    std::vector<uint32_t> bits;
    std::ranges::transform(values, std::back_inserter(bits), [](float value) {
        return std::bit_cast<uint32_t>(value) | (std::isnan(value) ? 0x00400000 : 0);
    });
    return bits;
}

TEST(HalfConversion, IsExactOfEveryHalf) {
    std::vector<Half> halves;
    std::vector<float> expected;
    for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
        halves.push_back({static_cast<uint16_t>(bits)});
        expected.push_back(toFloat(halves.back()));
    }
    for (const InstructionSet set : cpu::availableInstructionSets()) {
        std::vector<float> actual(halves.size());
        cpu::halfConversion(set).toFloats(halves.data(), std::ssize(halves), actual.data());
        EXPECT_EQ(quietBitsOf(actual), quietBitsOf(expected)) << toString(set);
    }
}

TEST(HalfConversion, RoundsAsTheScalarOneDoes) {
    const std::vector<float> floats = boundaryFloats();
    std::vector<Half> expected;
    std::ranges::transform(floats, std::back_inserter(expected), toHalf);
    for (const InstructionSet set : cpu::availableInstructionSets()) {
        std::vector<Half> actual(floats.size());
        cpu::halfConversion(set).toHalves(floats.data(), std::ssize(floats), actual.data());
        const std::vector<uint16_t> a = bitsOf(actual);
        const std::vector<uint16_t> b = bitsOf(expected);
        const auto differs = std::ranges::mismatch(a, b).in1;
        EXPECT_TRUE(differs == a.end())
                << toString(set) << ": " << floats[static_cast<size_t>(differs - a.begin())];
    }
}

// Of any number of elements: memory behind them can't be accessed, and what lies before is kept.
TEST(HalfConversion, TouchesNothingElse) {
    constexpr int64_t kMost = 150;
    for (const InstructionSet set : cpu::availableInstructionSets()) {
        const cpu::HalfConversion& form = cpu::halfConversion(set);
        for (int64_t count = 0; count <= kMost; ++count) {
            SCOPED_TRACE(std::string(toString(set)) + ", count " + std::to_string(count));
            const GuardedMemory narrow((static_cast<size_t>(count) + 1) * sizeof(Half));
            const GuardedMemory wide((static_cast<size_t>(count) + 1) * sizeof(float));
            auto* const halves = reinterpret_cast<Half*>(narrow.bytes().data());
            auto* const floats = reinterpret_cast<float*>(wide.bytes().data());
            const float kept = -7.0F;
            *floats = kept;
            for (int64_t i = 0; i <= count; ++i) {
                halves[i] = toHalf(static_cast<float>(i) / 8);
            }
            form.toFloats(halves + 1, count, floats + 1);
            EXPECT_EQ(*floats, kept);
            for (int64_t i = 1; i <= count; ++i) {
                ASSERT_EQ(floats[i], static_cast<float>(i) / 8);
                floats[i] *= 2;
            }
            form.toHalves(floats + 1, count, halves + 1);
            EXPECT_EQ(toFloat(*halves), 0.0F);
            for (int64_t i = 1; i <= count; ++i) {
                ASSERT_EQ(toFloat(halves[i]), static_cast<float>(i) / 4);
            }
        }
    }
}

}  // namespace
}  // namespace halyard::engine
