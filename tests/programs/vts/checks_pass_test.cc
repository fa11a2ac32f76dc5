// SPDX-License-Identifier: Apache-2.0
//
// The driver passes the checks over every wire, and few are skipped.

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <tuple>

#include "engine/base/log.h"
#include "tests/programs/vts/checked_device.h"

namespace halyard::vts::testing {
namespace {

using driver::HalVersion;

struct Suite {
    std::string_view name;
    HalVersion since;
};

constexpr Suite kSuites[] = {
        {"GeneratedTest", HalVersion::V1_0},
        {"DynamicOutputShapeTest", HalVersion::V1_2},
        {"FencedComputeTest", HalVersion::V1_3},
        {"DeadlineTest", HalVersion::V1_3},
        {"ValidationTest", HalVersion::V1_0},
        {"CompilationCachingTest", HalVersion::V1_2},
        {"CompilationCachingSecurityTest", HalVersion::V1_2},
        {"MemoryDomainTest", HalVersion::V1_3},
        {"MemoryDomainAllocateTest", HalVersion::V1_3},
        {"MemoryDomainCopyTest", HalVersion::V1_3},
        {"MemoryDomainExecutionTest", HalVersion::V1_3},
};

// The checks that the example and this driver may skip, with the reason.
bool maySkip(std::string_view name, std::string_view variant) {
    return
            // A tensor of no rank is one of unknown rank, and the example has no other scalars.
            variant == "mutateOperandRankTest" ||
            // Floats have neither.
            ((name == "ConflictScale" || name == "ConflictZeroPoint") &&
             variant.starts_with("TENSOR_FLOAT")) ||
            // It has no activations that are inputs.
            name == "ConflictRankBetweenRoles" || name == "ConflictRankWithScalarRole" ||
            // It gives no buffers of sizes that are not known.
            name.ends_with("_DynamicShape");
}

class Checks : public ::testing::TestWithParam<std::tuple<HalVersion, Suite>> {
  protected:
    static void SetUpTestSuite() { setLogThreshold(LogLevel::ERROR); }
    static void TearDownTestSuite() { setLogThreshold(LogLevel::INFO); }
};

TEST_P(Checks, Pass) {
    const auto& [version, suite] = GetParam();
    const auto checks = checksOf(suite.name, version);
    EXPECT_EQ(checks.empty(), version < suite.since);
    CheckedDevice device(version);
    for (const Check* const check : checks) {
        if (check->scope == Scope::FAILING_CASE) {
            continue;
        }
        const Verdict verdict =
                runCheck(*device.device(), check->id(), device.withoutConfigs().get());
        EXPECT_NE(verdict.outcome, Verdict::Outcome::FAILED)
                << check->id() << ": " << verdict.reason;
        if (verdict.outcome == Verdict::Outcome::SKIPPED) {
            EXPECT_TRUE(maySkip(check->name, check->variant))
                    << check->id() << " is skipped: " << verdict.reason;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Wires, Checks,
                         ::testing::Combine(::testing::Values(HalVersion::V1_0, HalVersion::V1_1,
                                                              HalVersion::V1_2, HalVersion::V1_3,
                                                              HalVersion::AIDL_V1,
                                                              HalVersion::AIDL_V4),
                                            ::testing::ValuesIn(kSuites)));

}  // namespace
}  // namespace halyard::vts::testing
