// SPDX-License-Identifier: Apache-2.0

#include "engine/base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace halyard {
namespace {

using Range = std::pair<int64_t, int64_t>;

std::set<Range> rangesOf(ThreadPool& pool, int64_t count, int64_t grain) {
    std::mutex mutex;
    std::set<Range> ranges;
    pool.parallelFor(count, grain, [&](int64_t begin, int64_t end) {
        const std::lock_guard lock(mutex);
        EXPECT_TRUE(ranges.emplace(begin, end).second) << begin << ".." << end << " came twice";
    });
    return ranges;
}

TEST(ThreadPool, CoversEveryIndexOnceInRangesOfAtLeastTheGrain) {
    for (const size_t threads : {1, 2, 5}) {
        ThreadPool pool(threads);
        EXPECT_EQ(pool.threadCount(), threads);
        for (const int64_t count : {1, 2, 7, 64, 1000, 1001}) {
            for (const int64_t grain : {1, 3, 64, 5000}) {
                int64_t next = 0;
                for (const auto& [begin, end] : rangesOf(pool, count, grain)) {
                    EXPECT_EQ(begin, next);
                    EXPECT_TRUE(end - begin >= grain || end == count)
                            << begin << ".." << end << " of " << count << " by " << grain;
                    next = end;
                }
                EXPECT_EQ(next, count);
            }
        }
    }
}

TEST(ThreadPool, DoesNothingForAnEmptyLoop) {
    ThreadPool pool(3);
    EXPECT_TRUE(rangesOf(pool, 0, 1).empty());
    EXPECT_TRUE(rangesOf(pool, -5, 1).empty());
}

TEST(ThreadPool, SplitsTheLargestLoopWithoutOverflow) {
    ThreadPool pool(3);
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
    int64_t next = 0;
    for (const auto& [begin, end] : rangesOf(pool, kMost, 0)) {
        EXPECT_EQ(begin, next);
        EXPECT_GT(end, begin);
        next = end;
    }
    EXPECT_EQ(next, kMost);
    EXPECT_EQ(rangesOf(pool, 10, kMost), (std::set<Range>{{0, 10}}));
}

TEST(ThreadPool, TakesOneThreadPerCoreWhenAskedForNone) {
    EXPECT_GE(ThreadPool(0).threadCount(), 1U);
}

TEST(ThreadPool, ServesCallersOnSeveralThreads) {
    ThreadPool pool(3);
    std::vector<std::thread> callers;
    std::atomic<int64_t> sum = 0;
    for (int caller = 0; caller < 4; ++caller) {
        callers.emplace_back([&] {
            for (int round = 0; round < 200; ++round) {
                std::vector<int64_t> squares(100);
                pool.parallelFor(100, 1, [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i) {
                        squares[static_cast<size_t>(i)] = i * i;
                    }
                });
                for (const int64_t square : squares) {
                    sum += square;
                }
            }
        });
    }
    for (std::thread& caller : callers) {
        caller.join();
    }
    EXPECT_EQ(sum, int64_t{4} * 200 * 328350);
}

TEST(ThreadPool, SpreadsALoopOverItsThreads) {
    // Each range waits until another thread has come, so the loop ends only if two do.
    ThreadPool pool(2);
    std::mutex mutex;
    std::set<std::thread::id> seen;
    pool.parallelFor(2, 1, [&](int64_t, int64_t) {
        {
            const std::lock_guard lock(mutex);
            seen.insert(std::this_thread::get_id());
        }
        while (true) {
            const std::lock_guard lock(mutex);
            if (seen.size() == 2) {
                break;
            }
        }
    });
    EXPECT_EQ(seen.size(), 2U);
}

}  // namespace
}  // namespace halyard
