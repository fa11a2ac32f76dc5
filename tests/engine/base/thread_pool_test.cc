// SPDX-License-Identifier: Apache-2.0

#include "engine/base/thread_pool.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/engine/allocation_count.h"

namespace halyard {
namespace {

using Range = std::pair<int64_t, int64_t>;

std::set<Range> rangesOf(ThreadLease& lease, int64_t tiles, int64_t grain) {
    std::mutex mutex;
    std::set<Range> ranges;
    const Status status =
            lease.parallelFor(tiles, grain, [&](int64_t begin, int64_t end, size_t worker) {
                const std::lock_guard lock(mutex);
                EXPECT_LT(worker, lease.threadCount());
                EXPECT_TRUE(ranges.emplace(begin, end).second) << begin << " came twice";
            });
    EXPECT_TRUE(status.ok());
    return ranges;
}

// Returns once `threads` threads have called it, so a loop of as many tiles ends only if all come.
class Meeting {
  public:
    explicit Meeting(int threads) : mMissing(threads) {}
    void attend() {
        --mMissing;
        while (mMissing > 0) {
            std::this_thread::yield();
        }
    }

  private:
    std::atomic<int> mMissing;
};

// A holder on a slow core leaves units to a faster worker, but not for good.
TEST(ThreadPool, DoesWhatFasterWorkersDoNotComeTo) {
    for (const std::vector<uint32_t>& capacities :
         {std::vector<uint32_t>{1024, 100}, std::vector<uint32_t>{100, 1024}}) {
        ThreadPool pool(2, std::nullopt, CoreCapacities(capacities));
        ThreadLease lease = ThreadLease::take(&pool);
        for (int round = 0; round < 50; ++round) {
            constexpr int64_t kTiles = 8;
            std::atomic<int64_t> done = 0;
            std::atomic<int64_t> held = 0;
            const Status status =
                    lease.parallelFor(kTiles, 1, [&](int64_t begin, int64_t end, size_t worker) {
                        held += worker == 0 ? 0 : end - begin;
                        // Until all others are done, or this worker is the only one that is left.
                        while (worker != 0 && done + held < kTiles) {
                            std::this_thread::yield();
                        }
                        done += worker == 0 ? end - begin : 0;
                    });
            ASSERT_TRUE(status.ok());
            ASSERT_EQ(done + held, kTiles);
        }
    }
}

TEST(ThreadPool, CoversEveryTileOnceOnCoresThatDiffer) {
    for (const std::vector<uint32_t>& capacities :
         {std::vector<uint32_t>{1024, 200}, std::vector<uint32_t>{200, 1024},
          std::vector<uint32_t>{300, 1024, 300, 1024}}) {
        for (const size_t threads : {2, 4}) {
            ThreadPool pool(threads, std::nullopt, CoreCapacities(capacities));
            for (int lease = 0; lease < 3; ++lease) {
                ThreadLease threadsOf = ThreadLease::take(&pool);
                for (int64_t tiles = 2; tiles < 300; tiles += 7) {
                    std::atomic<int64_t> done = 0;
                    std::atomic<int64_t> sum = 0;
                    const Status status = threadsOf.parallelFor(
                            tiles, 1, [&](int64_t begin, int64_t end, size_t /*worker*/) {
                                done += end - begin;
                                for (int64_t i = begin; i < end; ++i) {
                                    sum += i;
                                }
                            });
                    ASSERT_TRUE(status.ok());
                    ASSERT_EQ(done, tiles);
                    ASSERT_EQ(sum, tiles * (tiles - 1) / 2);
                }
            }
        }
    }
}

TEST(ThreadPool, CoversEveryTileOnceInRangesOfAtLeastTheGrain) {
    for (const size_t threads : {1, 2, 5}) {
        ThreadPool pool(threads);
        EXPECT_EQ(pool.threadCount(), threads);
        ThreadLease lease = ThreadLease::take(&pool);
        EXPECT_EQ(lease.threadCount(), threads);
        for (const int64_t tiles : {1, 2, 7, 64, 1000, 1001, 100'000}) {
            for (const int64_t grain : {1, 3, 64, 5000}) {
                int64_t next = 0;
                for (const auto& [begin, end] : rangesOf(lease, tiles, grain)) {
                    EXPECT_EQ(begin, next);
                    EXPECT_TRUE(end - begin >= grain || end == tiles)
                            << begin << ".." << end << " of " << tiles << " by " << grain;
                    next = end;
                }
                EXPECT_EQ(next, tiles);
            }
        }
    }
}

TEST(ThreadPool, DoesNothingForAnEmptyLoop) {
    ThreadPool pool(3);
    ThreadLease lease = ThreadLease::take(&pool);
    EXPECT_TRUE(rangesOf(lease, 0, 1).empty());
    EXPECT_TRUE(rangesOf(lease, -5, 1).empty());
}

TEST(ThreadPool, SplitsTheLargestLoopWithoutOverflow) {
    ThreadPool pool(3);
    ThreadLease lease = ThreadLease::take(&pool);
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
    for (const int64_t grain : {int64_t{-1}, int64_t{0}, kMost / 2, kMost - 1}) {
        int64_t next = 0;
        for (const auto& [begin, end] : rangesOf(lease, kMost, grain)) {
            EXPECT_EQ(begin, next);
            EXPECT_GT(end, begin);
            next = end;
        }
        EXPECT_EQ(next, kMost);
    }
    EXPECT_EQ(rangesOf(lease, 10, kMost), (std::set<Range>{{0, 10}}));
}

TEST(ThreadPool, TakesOneThreadPerUsableCoreWhenAskedForNone) {
    cpu_set_t all;
    ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    EXPECT_EQ(ThreadPool(0).threadCount(), static_cast<size_t>(CPU_COUNT(&all)));
    std::thread([&] {
        int core = 0;
        while (!CPU_ISSET(core, &all)) {
            ++core;
        }
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(core, &one);
        ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
        EXPECT_EQ(ThreadPool(0).threadCount(), 1U);
    }).join();
}

TEST(ThreadPool, SpreadsALoopOverItsThreads) {
    for (const int threads : {2, 4}) {
        ThreadPool pool(static_cast<size_t>(threads));
        for (int round = 0; round < 20; ++round) {
            ThreadLease lease = ThreadLease::take(&pool);
            Meeting meeting(threads);
            std::mutex mutex;
            std::set<size_t> seen;
            const Status status = lease.parallelFor(
                    threads, 1, [&](int64_t /*begin*/, int64_t /*end*/, size_t worker) {
                        meeting.attend();
                        const std::lock_guard lock(mutex);
                        seen.insert(worker);
                    });
            EXPECT_TRUE(status.ok());
            EXPECT_EQ(seen.size(), static_cast<size_t>(threads));
        }
    }
}

TEST(ThreadPool, EndsAPhaseWithoutAThreadThatIsHeldUp) {
    // The other threads hold a tile of theirs until all the rest is done, which then somebody else
    // must have done, though the tiles began as theirs.
    ThreadPool pool(2);
    ThreadLease lease = ThreadLease::take(&pool);
    constexpr int64_t kTiles = 100;
    std::atomic<int64_t> done = 0;
    std::atomic<int64_t> held = 0;
    const Status status =
            lease.parallelFor(kTiles, 1, [&](int64_t begin, int64_t end, size_t worker) {
                if (worker != 0) {
                    held += end - begin;
                    while (done + held < kTiles) {
                        std::this_thread::yield();
                    }
                }
                done += end - begin;
            });
    EXPECT_TRUE(status.ok());
    EXPECT_EQ(done, kTiles);
}

// One that sleeps in a body is like one whose core others have.
TEST(ThreadPool, LeavesOutAWorkerThatLacksItsCoreForAWhile) {
    using namespace std::chrono_literals;
    cpu_set_t cores;
    ASSERT_EQ(sched_getaffinity(0, sizeof cores, &cores), 0);
    if (CPU_COUNT(&cores) < 2) {
        GTEST_SKIP() << "takes two cores: on one no thread looks out for the others";
    }
    ThreadPool pool(2, LateWorkers(20ms));
    // Whether the worker came in a phase that gave it a millisecond to do so.
    const auto comes = [&](ThreadLease& lease, std::chrono::milliseconds pause) {
        std::atomic<bool> came = false;
        const auto last = std::chrono::steady_clock::now() + 1ms;
        const Status status = lease.parallelFor(2, 1, [&](int64_t, int64_t, size_t worker) {
            if (worker == 1) {
                came = true;
                std::this_thread::sleep_for(pause);
            }
            while (!came && std::chrono::steady_clock::now() < last) {
            }
        });
        EXPECT_TRUE(status.ok());
        return came.load();
    };
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    int absences = 0;  // one after the other
    while (absences < 10 && std::chrono::steady_clock::now() < deadline) {
        ThreadLease lease = ThreadLease::take(&pool);
        absences = comes(lease, 3ms) ? 0 : absences + 1;
        // All of a loop is done all the same.
        int64_t next = 0;
        for (const auto& [begin, end] : rangesOf(lease, 100, 1)) {
            EXPECT_EQ(begin, next);
            next = end;
        }
        EXPECT_EQ(next, 100);
    }
    EXPECT_EQ(absences, 10);
    bool isBack = false;
    while (!isBack && std::chrono::steady_clock::now() < deadline) {
        ThreadLease lease = ThreadLease::take(&pool);
        isBack = comes(lease, 0ms);
    }
    EXPECT_TRUE(isBack);
}

TEST(ThreadPool, LeasesToOneAndLetsTheOthersRunInline) {
    ThreadPool pool(3);
    std::optional<ThreadLease> first(ThreadLease::take(&pool));
    EXPECT_EQ(first->threadCount(), 3U);
    ThreadLease second = ThreadLease::take(&pool);
    EXPECT_EQ(second.threadCount(), 1U);
    EXPECT_EQ(rangesOf(second, 100, 1), (std::set<Range>{{0, 100}}));
    first.reset();
    EXPECT_EQ(ThreadLease::take(&pool).threadCount(), 3U);
    EXPECT_EQ(ThreadLease::take(nullptr).threadCount(), 1U);
}

TEST(ThreadPool, LeavesItsThreadsAloneWhileThereAreLeasesForAll) {
    ThreadPool pool(2);
    ThreadLease lease = ThreadLease::take(&pool);
    // Two ranges that wait for each other, for as long as it takes unless they never meet.
    const auto runsOnBoth = [&] {
        std::set<size_t> workers;
        std::mutex mutex;
        std::condition_variable came;
        EXPECT_TRUE(lease.parallelFor(2, 1, [&](int64_t begin, int64_t end, size_t worker) {
                             std::unique_lock lock(mutex);
                             workers.insert(worker);
                             came.notify_all();
                             if (end - begin == 1) {
                                 came.wait_for(lock, std::chrono::seconds(60),
                                               [&] { return workers.size() == 2; });
                             }
                         }).ok());
        return workers.size() == 2;
    };
    EXPECT_TRUE(runsOnBoth());
    {
        const ThreadLease second = ThreadLease::take(&pool);
        EXPECT_FALSE(runsOnBoth());
    }
    EXPECT_TRUE(runsOnBoth());
    // One that moved away is no lease any more.
    ThreadLease third = ThreadLease::take(&pool);
    std::optional<ThreadLease> moved(std::move(third));
    EXPECT_FALSE(runsOnBoth());
    moved.reset();
    EXPECT_TRUE(runsOnBoth());
}

TEST(ThreadPool, MovesALeaseWithoutReturningThePool) {
    ThreadPool pool(2);
    ThreadLease first = ThreadLease::take(&pool);
    ThreadLease second = std::move(first);
    EXPECT_EQ(first.threadCount(), 1U);  // NOLINT(bugprone-use-after-move)
    EXPECT_EQ(second.threadCount(), 2U);
    EXPECT_EQ(ThreadLease::take(&pool).threadCount(), 1U);
}

TEST(ThreadPool, IsTakenWhenALoopAsks) {
    ThreadPool pool(3);
    const auto left = [&] { return ThreadLease::take(&pool).threadCount(); };
    ThreadLease lease = ThreadLease::whenAsked(&pool);
    EXPECT_EQ(left(), 3U);
    EXPECT_EQ(rangesOf(lease, 5, 5), (std::set<Range>{{0, 5}}));
    EXPECT_EQ(left(), 3U) << "nothing to share";
    rangesOf(lease, 100, 1);
    EXPECT_EQ(left(), 1U);
    EXPECT_EQ(lease.threadCount(), 3U);
}

TEST(ThreadPool, IsGivenBackUntilTheNextLoop) {
    ThreadPool pool(3);
    const auto left = [&] { return ThreadLease::take(&pool).threadCount(); };
    ThreadLease lease = ThreadLease::take(&pool);
    for (int round = 0; round < 3; ++round) {
        rangesOf(lease, 100, 1);
        EXPECT_EQ(left(), 1U);
        lease.giveBack();
        EXPECT_EQ(left(), 3U);
        lease.giveBack();
    }
    {
        const ThreadLease other = ThreadLease::take(&pool);
        EXPECT_EQ(rangesOf(lease, 100, 1), (std::set<Range>{{0, 100}})) << "too late";
    }
    EXPECT_EQ(rangesOf(lease, 100, 1), (std::set<Range>{{0, 100}})) << "until it is given back";
    lease.giveBack();
    rangesOf(lease, 100, 1);
    EXPECT_EQ(lease.threadCount(), 3U);
}

TEST(ThreadPool, GivesTheFirstFailureAndSkipsWhatHasNotBegun) {
    for (const size_t threads : {2, 3}) {
        ThreadPool pool(threads);
        ThreadLease lease = ThreadLease::take(&pool);
        std::atomic<int64_t> called = 0;
        const Status status =
                lease.parallelFor(4000, 1, [&](int64_t begin, int64_t end, size_t /*worker*/) {
                    called += end - begin;
                    return begin == 0 ? unsupported("tile 0") : Status();
                });
        EXPECT_EQ(status.message(), "tile 0");
        EXPECT_GT(called, 0);
        // All fail, so no thread may begin a second range after its first.
        called = 0;
        std::atomic<size_t> failures = 0;
        const Status all =
                lease.parallelFor(4000, 1, [&](int64_t /*begin*/, int64_t, size_t /*worker*/) {
                    ++failures;
                    return invalidArgument("every tile");
                });
        EXPECT_EQ(all.code(), StatusCode::INVALID_ARGUMENT);
        EXPECT_LE(failures, threads);
        // And nothing of it is left for the next phase.
        EXPECT_EQ(rangesOf(lease, 10, 10).size(), 1U);
        EXPECT_GE(rangesOf(lease, 10, 1).size(), 2U);
    }
}

TEST(ThreadPool, RunsALoopWithinALoopInline) {
    ThreadPool pool(3);
    ThreadLease lease = ThreadLease::take(&pool);
    std::atomic<int64_t> sum = 0;
    const Status status =
            lease.parallelFor(30, 1, [&](int64_t outer, int64_t outerEnd, size_t outerWorker) {
                EXPECT_EQ(ThreadLease::take(&pool).threadCount(), 1U);
                return lease.parallelFor(20, 1, [&](int64_t begin, int64_t end, size_t worker) {
                    EXPECT_EQ(begin, 0);
                    EXPECT_EQ(end, 20);
                    EXPECT_EQ(worker, outerWorker);
                    sum += (outerEnd - outer) * (end - begin);
                });
            });
    EXPECT_TRUE(status.ok());
    EXPECT_EQ(sum, 600);
}

TEST(ThreadPool, GivesEachWorkerItsOwnIndex) {
    ThreadPool pool(4);
    ThreadLease lease = ThreadLease::take(&pool);
    std::vector<std::atomic<bool>> inside(4);
    for (int round = 0; round < 300; ++round) {
        const Status status =
                lease.parallelFor(64, 1, [&](int64_t /*begin*/, int64_t /*end*/, size_t worker) {
                    EXPECT_FALSE(inside[worker].exchange(true));
                    inside[worker] = false;
                });
        EXPECT_TRUE(status.ok());
    }
}

TEST(ThreadPool, AllocatesNothing) {
    ThreadPool pool(2);
    std::atomic<size_t> allocated = 0;
    const size_t before = engine::allocationCount();
    for (int lap = 0; lap < 10; ++lap) {
        ThreadLease lease = ThreadLease::take(&pool);
        for (int phase = 0; phase < 100; ++phase) {
            const Status status = lease.parallelFor(16, 1, [&](int64_t, int64_t, size_t worker) {
                if (worker != 0) {
                    allocated = std::max<size_t>(allocated, engine::allocationCount());
                }
            });
            if (!status.ok()) {
                return;
            }
        }
    }
    EXPECT_EQ(engine::allocationCount() - before, 0U);
    EXPECT_EQ(allocated, 0U);  // the workers never have, since they started
}

TEST(ThreadPool, WorksWhereItHasFewerCoresThanThreads) {
    std::thread([] {
        cpu_set_t cores;
        ASSERT_EQ(sched_getaffinity(0, sizeof cores, &cores), 0);
        for (int core = 0, kept = 0; core < CPU_SETSIZE; ++core) {
            if (CPU_ISSET(core, &cores) && ++kept > 1) {
                CPU_CLR(core, &cores);
            }
        }
        ASSERT_EQ(sched_setaffinity(0, sizeof cores, &cores), 0);
        ThreadPool pool(4);
        for (int round = 0; round < 50; ++round) {
            ThreadLease lease = ThreadLease::take(&pool);
            Meeting meeting(4);
            const Status status =
                    lease.parallelFor(4, 1, [&](int64_t, int64_t, size_t) { meeting.attend(); });
            EXPECT_TRUE(status.ok());
            EXPECT_FALSE(rangesOf(lease, 50, 1).empty());
        }
    }).join();
}

// In each phase the worker may use every core that the lease's thread may, but for the one that
// thread is on; it may move meanwhile, but hardly in half of the phases.
TEST(ThreadPool, KeepsWorkersOffTheCoreOfTheLease) {
    cpu_set_t all;
    ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    if (CPU_COUNT(&all) < 2) {
        GTEST_SKIP() << "one core";
    }
    constexpr int kLeases = 50;
    constexpr int kPhases = 2;
    int apart = 0;
    std::set<int> left;
    ThreadPool pool(2);
    std::thread([&] {
        for (int round = 0; round < kLeases; ++round) {
            // All cores, or two.
            cpu_set_t cores = all;
            for (int core = 0; round % 2 == 1 && CPU_COUNT(&cores) > 2; ++core) {
                CPU_CLR(core, &cores);
            }
            ASSERT_EQ(sched_setaffinity(0, sizeof cores, &cores), 0);
            ThreadLease lease = ThreadLease::take(&pool);
            for (int phase = 0; phase < kPhases; ++phase) {
                const int core = sched_getcpu();
                left.insert(core);
                cpu_set_t expected = cores;
                CPU_CLR(core, &expected);
                Meeting meeting(2);
                const Status status = lease.parallelFor(2, 1, [&](int64_t, int64_t, size_t worker) {
                    cpu_set_t mine;
                    if (worker == 1 && sched_getaffinity(0, sizeof mine, &mine) == 0 &&
                        CPU_EQUAL(&mine, &expected)) {
                        ++apart;
                    }
                    meeting.attend();
                });
                ASSERT_TRUE(status.ok());
                if (phase + 1 == kPhases) {
                    break;
                }
                // Away from here, and back to having the choice.
                ASSERT_EQ(sched_setaffinity(0, sizeof expected, &expected), 0);
                ASSERT_EQ(sched_setaffinity(0, sizeof cores, &cores), 0);
            }
        }
    }).join();
    EXPECT_GE(apart, kLeases * kPhases * 4 / 5);
    EXPECT_GE(left.size(), 2U);
}

// Many short leases and phases by several callers at once, some of which fail, nest or pause for
// longer than workers spin. Each phase's body lives on its caller's stack and checks that it is
// called while the phase is open, for tiles of that phase.
TEST(ThreadPool, KeepsPhasesApartUnderLoad) {
    const unsigned seed = std::random_device()();
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (const size_t threads : {2, 3, 8}) {
        ThreadPool pool(threads);
        std::atomic<int> shared = 0;
        const auto call = [&](unsigned caller) {
            std::mt19937 random(seed + caller);
            std::vector<std::atomic<uint8_t>> times(300);
            for (int round = 0; round < 400; ++round) {
                ThreadLease lease = ThreadLease::take(&pool);
                shared += lease.threadCount() > 1 ? 1 : 0;
                const unsigned phases = random() % 20;
                for (unsigned phase = 0; phase < phases; ++phase) {
                    const int64_t tiles = random() % (random() % 2 == 0 ? 5 : 300);
                    const auto grain = static_cast<int64_t>(random() % 4);
                    const int64_t failing = random() % 4 == 0 ? random() % 300 : -1;
                    const bool nests = random() % 8 == 0;
                    std::ranges::for_each(times, [](auto& time) { time = 0; });
                    std::atomic<bool> open = true;
                    const Status status = lease.parallelFor(
                            tiles, grain, [&](int64_t begin, int64_t end, size_t worker) {
                                EXPECT_TRUE(open);
                                EXPECT_LT(worker, lease.threadCount());
                                for (int64_t tile = begin; tile < end; ++tile) {
                                    ++times[static_cast<size_t>(tile)];
                                }
                                if (nests) {
                                    EXPECT_TRUE(
                                            lease.parallelFor(9, 1, [](int64_t, int64_t, size_t) {
                                                 }).ok());
                                }
                                return begin <= failing && failing < end ? internalError("planned")
                                                                         : Status();
                            });
                    open = false;
                    const bool fails = failing >= 0 && failing < tiles;
                    ASSERT_EQ(status.ok(), !fails);
                    for (int64_t tile = 0; tile < tiles; ++tile) {
                        const int count = times[static_cast<size_t>(tile)];
                        ASSERT_TRUE(count == 1 || (fails && count == 0)) << tile << ": " << count;
                    }
                }
                if (random() % 16 == 0) {
                    std::this_thread::sleep_for(std::chrono::microseconds(random() % 60));
                }
            }
        };
        std::vector<std::thread> callers;
        for (unsigned caller = 0; caller < 3; ++caller) {
            callers.emplace_back(call, caller);
        }
        std::ranges::for_each(callers, [](std::thread& caller) { caller.join(); });
        EXPECT_GT(shared, 0);
    }
}

TEST(ThreadPool, WakesItsWorkersAfterEveryPause) {
    // A wake-up that is lost leaves the meeting, and the test, waiting.
    ThreadPool pool(2);
    const unsigned seed = std::random_device()();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    for (int round = 0; round < 300; ++round) {
        ThreadLease lease = ThreadLease::take(&pool);
        for (int phase = 0; phase < 4; ++phase) {
            Meeting meeting(2);
            const Status status =
                    lease.parallelFor(2, 1, [&](int64_t, int64_t, size_t) { meeting.attend(); });
            EXPECT_TRUE(status.ok());
            const auto pause = std::chrono::microseconds(random() % 40);
            const auto end = std::chrono::steady_clock::now() + pause;
            while (std::chrono::steady_clock::now() < end) {
            }
        }
    }
}

TEST(ThreadPool, EndsWithItsWorkersAsleepAwakeOrNeverUsed) {
    for (int round = 0; round < 100; ++round) {
        ThreadPool pool(3);
        if (round % 2 == 0) {
            ThreadLease lease = ThreadLease::take(&pool);
            EXPECT_FALSE(rangesOf(lease, 30, 1).empty());
        }
    }
}

}  // namespace
}  // namespace halyard
