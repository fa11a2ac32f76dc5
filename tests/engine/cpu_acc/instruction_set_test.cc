// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/vectors/instruction_set.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "engine/base/log.h"

namespace halyard::engine::cpu {
namespace {

std::string gLine;  // the last one logged

class Tiles : public testing::Test {
  protected:
    Tiles() {
        gLine.clear();
        setLogSink([](LogLevel /*level*/, std::string_view line) { gLine = line; });
    }
    ~Tiles() override { setLogSink(nullptr); }

    const std::vector<InstructionSet> mVectors = {InstructionSet::PORTABLE, InstructionSet::SSE4,
                                                  InstructionSet::AVX2, InstructionSet::AVX512,
                                                  InstructionSet::AVX512_VNNI};
};

TEST_F(Tiles, AreThereOnceTheSystemPermitsThem) {
    const std::vector<InstructionSet> sets = withTiles(mVectors, true, [] { return 0; });
    ASSERT_EQ(sets.size(), mVectors.size() + 1);
    EXPECT_EQ(sets.back(), InstructionSet::AVX512_AMX);
    EXPECT_EQ(gLine, "");
}

TEST_F(Tiles, AreNotThereWhereTheSystemRefusesAndTheLogSaysSo) {
    EXPECT_EQ(withTiles(mVectors, true, [] { return EPERM; }), mVectors);
    EXPECT_EQ(gLine, "CpuAcc does without AMX, which the system refuses: Operation not permitted");
}

TEST_F(Tiles, AreNotAskedForWhereNothingCouldUseThem) {
    const auto unexpected = [] {
        ADD_FAILURE() << "was asked for";
        return 0;
    };
    EXPECT_EQ(withTiles(mVectors, false, unexpected), mVectors);
    const std::vector<InstructionSet> fewer = {InstructionSet::PORTABLE, InstructionSet::AVX2};
    EXPECT_EQ(withTiles(fewer, true, unexpected), fewer);
    EXPECT_EQ(gLine, "");
}

TEST(InstructionSets, AreFoundByTheirNames) {
    for (const InstructionSet set : availableInstructionSets()) {
        EXPECT_EQ(parseInstructionSet(toString(set)).value(), set);
    }
    EXPECT_EQ(toString(InstructionSet::AVX512_AMX), "avx512amx");
    const Status status = parseInstructionSet("mmx").status();
    EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_NE(status.message().find(toString(bestInstructionSet())), std::string::npos);
}

}  // namespace
}  // namespace halyard::engine::cpu
