// SPDX-License-Identifier: Apache-2.0

#include "engine/base/worker_set.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace halyard {
namespace {

TEST(WorkerSet, CountsThoseBefore) {
    WorkerSet set;
    for (const size_t worker : {1, 5, 63, 64, 100}) {
        set.add(worker);
    }
    EXPECT_EQ(set.count(), 3U) << "those from 64 on are in none";
    EXPECT_TRUE(set.has(63));
    EXPECT_FALSE(set.has(64));
    EXPECT_FALSE(set.has(6));
    EXPECT_EQ(set.countBefore(0), 0U);
    EXPECT_EQ(set.countBefore(1), 0U);
    EXPECT_EQ(set.countBefore(2), 1U);
    EXPECT_EQ(set.countBefore(63), 2U);
    EXPECT_EQ(set.countBefore(64), 3U);
    EXPECT_EQ(set.countBefore(1000), 3U);
    set.remove(5);
    set.remove(100);
    EXPECT_EQ(set.bits(), uint64_t{1} << 63 | 2);
}

}  // namespace
}  // namespace halyard
