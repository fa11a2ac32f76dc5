// SPDX-License-Identifier: Apache-2.0

#include "engine/compile/backends.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace halyard::engine {
namespace {

std::vector<std::string> namesOf(const std::vector<BackendChoice>& choices) {
    const OwnedBackends backends = openBackends(choices).value();
    std::vector<std::string> names;
    for (const Backend* backend : listOf(backends)) {
        names.emplace_back(backend->name());
    }
    return names;
}

Status refusalOf(const std::vector<BackendChoice>& choices) {
    return openBackends(choices).status();
}

using Names = std::vector<std::string>;

TEST(OpenBackends, FollowsTheOrderAndEndsWithTheReference) {
    EXPECT_EQ(namesOf({{.name = "CpuAcc"}}), (Names{"CpuAcc", "CpuRef"}));
    EXPECT_EQ(namesOf({{.name = "CpuRef"}, {.name = "CpuAcc"}}), (Names{"CpuRef", "CpuAcc"}));
    EXPECT_EQ(namesOf({}), (Names{"CpuRef"}));
}

TEST(OpenBackends, TakesEachOnceAndLeavesOutWhatTheMachineLacks) {
    EXPECT_EQ(namesOf({{.name = "GpuAcc",
                        .options = {{.name = "library", .value = "/nowhere/libOpenCL.so"}}},
                       {.name = "CpuAcc"},
                       {.name = "CpuAcc"}}),
              (Names{"CpuAcc", "CpuRef"}));
}

TEST(OpenBackends, GivesABackendItsOptions) {
    EXPECT_EQ(namesOf({{.name = "CpuAcc", .options = {{.name = "features", .value = "portable"}}}}),
              (Names{"CpuAcc", "CpuRef"}));
    const Status status =
            refusalOf({{.name = "CpuAcc", .options = {{.name = "features", .value = "mmx"}}}});
    EXPECT_EQ(status.code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_NE(status.message().find("mmx"), std::string::npos) << status.message();
}

TEST(OpenBackends, RefusesOptionsThatABackendDoesNotTake) {
    EXPECT_EQ(refusalOf({{.name = "CpuAcc", .options = {{.name = "tuning", .value = "rapid"}}}})
                      .message(),
              "backend CpuAcc has no option tuning; it takes features");
    EXPECT_EQ(refusalOf({{.name = "GpuAcc", .options = {{.name = "features", .value = "avx2"}}}})
                      .message(),
              "backend GpuAcc has no option features; it takes "
              "command-buffer,compiler,cuda,device,kind,library,profiling,tuning-file,tuning-level,"
              "tuning-mode");
    EXPECT_EQ(refusalOf({{.name = "GpuAcc", .options = {{.name = "profiling", .value = "yes"}}}})
                      .message(),
              "GpuAcc's profiling is \"on\" or \"off\", not \"yes\"");
    EXPECT_EQ(refusalOf({{.name = "CpuRef", .options = {{.name = "features", .value = "avx2"}}}})
                      .message(),
              "backend CpuRef has no option features; it takes none");
}

TEST(OpenBackends, RefusesValuesThatGpuAccDoesNotTake) {
    const auto refusal = [](const std::string& name, const std::string& value) {
        return std::string(
                refusalOf({{.name = "GpuAcc", .options = {{.name = name, .value = value}}}})
                        .message());
    };
    EXPECT_EQ(refusal("compiler", "outside"),
              "GpuAcc's compiler is one of apart, inside, not \"outside\"");
    EXPECT_EQ(refusal("tuning-mode", "Update"),
              "GpuAcc's tuning-mode is one of use, update, not \"Update\"");
    EXPECT_EQ(refusal("tuning-level", "slow"),
              "GpuAcc's tuning-level is one of rapid, normal, exhaustive, not \"slow\"");
    EXPECT_EQ(refusal("tuning-mode", "update"), "GpuAcc's tuning-mode=update needs a tuning-file");
    // Whatever machine this is, its library is not there.
    EXPECT_EQ(namesOf({{.name = "GpuAcc",
                        .options = {{.name = "library", .value = "/nowhere/libOpenCL.so"},
                                    {.name = "tuning-file", .value = "/nowhere/tuning"},
                                    {.name = "tuning-mode", .value = "update"},
                                    {.name = "tuning-level", .value = "exhaustive"}}}}),
              (Names{"CpuRef"}));
}

TEST(OpenBackends, RefusesTwoChoicesOfOneBackendThatDiffer) {
    EXPECT_EQ(
            refusalOf({{.name = "CpuAcc"},
                       {.name = "CpuAcc", .options = {{.name = "features", .value = "portable"}}}})
                    .message(),
            "backend CpuAcc is chosen twice, with different options");
}

TEST(OpenBackends, ListsTheKnownOnes) {
    EXPECT_EQ(refusalOf({{.name = "Fast"}}).message(),
              "there is no backend \"Fast\"; the known ones are CpuRef, CpuAcc, GpuAcc");
}

}  // namespace
}  // namespace halyard::engine
