// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/workspace_plan.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "engine/plan/backend.h"

namespace halyard::engine {
namespace {

constexpr size_t kMostBytes = std::numeric_limits<size_t>::max();

// Of steps without tensors between them.
Result<WorkspacePlan> planOf(const std::vector<KernelBytes>& bytes, size_t threads) {
    PartitionLayout layout;
    layout.steps.resize(bytes.size());
    return planWorkspace(layout, {}, std::vector<bool>(bytes.size(), false), bytes, threads);
}

TEST(WorkspacePlan, GivesAThreadOneSetOfBytesForAllKernels) {
    const std::vector<KernelBytes> bytes = {
            {.ofThread = 100}, {.workspace = 64, .ofThread = 5000}, {.ofThread = 1}};
    const WorkspacePlan plan = planOf(bytes, 4).value();
    ASSERT_EQ(plan.kernels.size(), 3U);
    EXPECT_GE(plan.threadStride, 5000U) << "room for the largest";
    EXPECT_EQ(plan.threadStride % kTensorAlignment, 0U);
    for (const WorkspacePlan::KernelPlace& place : plan.kernels) {
        EXPECT_EQ(place.threads, plan.kernels[0].threads);
        EXPECT_LE(place.threads + 4 * plan.threadStride, plan.bytes);
    }
    const size_t shared = plan.kernels[1].workspace;
    EXPECT_TRUE(shared + 64 <= plan.kernels[0].threads ||
                shared >= plan.kernels[0].threads + 4 * plan.threadStride)
            << "what the threads share lies elsewhere";
}

TEST(WorkspacePlan, TakesNoMoreThanTheLargestKernelForOneThread) {
    const std::vector<KernelBytes> bytes = {
            {.workspace = 640}, {.ofThread = 1280}, {.workspace = 64, .ofThread = 64}};
    EXPECT_EQ(planOf(bytes, 1).value().bytes, 1280U);
}

TEST(WorkspacePlan, RefusesForGoodThreadsWhoseMemoryCannotBeCounted) {
    for (const size_t each : {kMostBytes / 4, kMostBytes}) {
        const Status status = planOf({{.ofThread = each}}, 8).status();
        ASSERT_EQ(status.code(), StatusCode::RESOURCE_EXHAUSTED);
        EXPECT_TRUE(status.persistent()) << "no other time is better";
    }
}

}  // namespace
}  // namespace halyard::engine
