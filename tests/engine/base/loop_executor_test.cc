// SPDX-License-Identifier: Apache-2.0

#include "engine/base/loop_executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/log.h"
#include "engine/base/thread_pool.h"

namespace halyard {
namespace {

// Runs each task on a thread of its own, so many at once.
class ThreadsOfAHost : public LoopExecutor {
  public:
    static constexpr size_t kThreads = 3;

    size_t threads() const override { return kThreads; }
    void execute(Task task, void* data, size_t tasks) override {
        ++loops;
        std::atomic<size_t> next = 0;
        std::vector<std::thread> workers;
        for (size_t worker = 0; worker < kThreads; ++worker) {
            workers.emplace_back([&, worker] {
                for (size_t i = next++; i < tasks; i = next++) {
                    task(data, i, worker);
                }
            });
        }
        for (std::thread& worker : workers) {
            worker.join();
        }
    }

    std::atomic<int> loops = 0;
};

class ExecutorWithFault : public LoopExecutor {
  public:
    enum class Fault { LEAVES_ONE_OUT, CALLS_TWICE, NAMES_ANOTHER_WORKER, NAMES_ANOTHER_TASK };
    explicit ExecutorWithFault(Fault fault) : mFault(fault) {}

    size_t threads() const override { return 2; }
    void execute(Task task, void* data, size_t tasks) override {
        for (size_t i = mFault == Fault::LEAVES_ONE_OUT ? 1 : 0; i < tasks; ++i) {
            task(data, mFault == Fault::NAMES_ANOTHER_TASK ? i + tasks : i,
                 mFault == Fault::NAMES_ANOTHER_WORKER ? 2 : 0);
            if (mFault == Fault::CALLS_TWICE) {
                task(data, i, 1);
            }
        }
    }

  private:
    const Fault mFault;
};

TEST(LoopExecutor, CoversEachTileOnceInRangesOfTheGrain) {
    for (const int64_t tiles : {2, 7, 64, 1000, 100'001}) {
        for (const int64_t grain : {1, 3, 1000}) {
            auto host = std::make_unique<ThreadsOfAHost>();
            ThreadPool pool(std::move(host));
            EXPECT_EQ(pool.threadCount(), ThreadsOfAHost::kThreads);
            ThreadLease lease = ThreadLease::take(&pool);
            std::vector<std::atomic<int>> seen(static_cast<size_t>(tiles));
            std::atomic<int> odd = 0;
            const Status status =
                    lease.parallelFor(tiles, grain, [&](int64_t begin, int64_t end, size_t worker) {
                        const bool isShort = end - begin < grain && end != tiles;
                        odd += worker >= ThreadsOfAHost::kThreads || isShort ? 1 : 0;
                        for (int64_t i = begin; i < end; ++i) {
                            ++seen[static_cast<size_t>(i)];
                        }
                    });
            EXPECT_TRUE(status.ok());
            EXPECT_EQ(odd, 0);
            for (const std::atomic<int>& each : seen) {
                ASSERT_EQ(each, 1) << tiles << " by " << grain;
            }
        }
    }
}

TEST(LoopExecutor, RunsALoopInsideALoopOnItsOwnThread) {
    ThreadPool pool(std::make_unique<ThreadsOfAHost>());
    ThreadLease lease = ThreadLease::take(&pool);
    std::atomic<int> moved = 0;
    const Status status = lease.parallelFor(100, 1, [&](int64_t, int64_t, size_t worker) {
        const std::thread::id self = std::this_thread::get_id();
        return lease.parallelFor(10, 1, [&](int64_t begin, int64_t end, size_t inner) {
            moved += inner != worker || end - begin != 10 || std::this_thread::get_id() != self;
        });
    });
    EXPECT_TRUE(status.ok());
    EXPECT_EQ(moved, 0);
}

TEST(LoopExecutor, GivesTheFirstFailureAndSkipsTheRest) {
    ThreadPool pool(std::make_unique<ThreadsOfAHost>());
    ThreadLease lease = ThreadLease::take(&pool);
    const Status status = lease.parallelFor(
            64, 1, [](int64_t, int64_t, size_t) { return invalidArgument("no good"); });
    EXPECT_EQ(status.message(), "no good");
    EXPECT_TRUE(lease.parallelFor(64, 1, [](int64_t, int64_t, size_t) {}).ok());
}

TEST(LoopExecutor, SaysWhatAnExecutorDidWrong) {
    using Fault = ExecutorWithFault::Fault;
    const auto said = [](Fault fault) {
        ThreadPool pool(std::make_unique<ExecutorWithFault>(fault));
        ThreadLease lease = ThreadLease::take(&pool);
        const Status status = lease.parallelFor(8, 1, [](int64_t, int64_t, size_t) {});
        EXPECT_EQ(status.code(), StatusCode::INTERNAL);
        return std::string(status.message());
    };
    EXPECT_EQ(said(Fault::LEAVES_ONE_OUT), "the executor returned when 7 of 8 tasks had");
    EXPECT_EQ(said(Fault::CALLS_TWICE), "the executor calls task 0 twice");
    EXPECT_EQ(said(Fault::NAMES_ANOTHER_WORKER), "the executor calls a task as worker 2 of 2");
    EXPECT_EQ(said(Fault::NAMES_ANOTHER_TASK), "the executor calls task 8 of 8");
}

struct Counts {
    std::atomic<int> lines = 0;
    static void take(void* self, LogLevel /*level*/, std::string_view /*line*/) {
        ++static_cast<Counts*>(self)->lines;
    }
};

// Lines that the bodies log, on whatever threads, go where the holder's lines go.
void logFromBodies(ThreadPool& pool) {
    Counts counts;
    const LogTarget target = {.write = &Counts::take, .context = &counts};
    const LogScope scope(&target);
    ThreadLease lease = ThreadLease::take(&pool);
    std::atomic<int> logged = 0;
    for (int round = 0; round < 50; ++round) {
        const Status status = lease.parallelFor(1000, 1, [&](int64_t, int64_t, size_t) {
            ++logged;
            log(LogLevel::INFO, "a line");
        });
        EXPECT_TRUE(status.ok());
    }
    EXPECT_EQ(counts.lines, logged);
    EXPECT_GT(logged, 50);
}

TEST(LoopExecutor, HasLinesGoWhereTheHoldersGo) {
    ThreadPool pool(std::make_unique<ThreadsOfAHost>());
    logFromBodies(pool);
}

TEST(ThreadPoolLines, GoWhereTheHoldersGo) {
    ThreadPool pool(3);
    logFromBodies(pool);
}

TEST(LogScope, LiesInsideAnotherAndFiltersByItsOwnLevel) {
    Counts outer;
    Counts inner;
    const LogTarget verbose = {
            .write = &Counts::take, .context = &outer, .threshold = LogLevel::VERBOSE};
    const LogTarget quiet = {
            .write = &Counts::take, .context = &inner, .threshold = LogLevel::ERROR};
    const LogScope around(&verbose);
    log(LogLevel::VERBOSE, "details");
    {
        const LogScope scope(&quiet);
        EXPECT_FALSE(logEnabled(LogLevel::WARNING));
        log(LogLevel::WARNING, "news");
        log(LogLevel::ERROR, "trouble");
        std::thread([] { EXPECT_EQ(LogScope::current(), nullptr); }).join();
    }
    EXPECT_EQ(LogScope::current(), &verbose);
    EXPECT_EQ(outer.lines, 1);
    EXPECT_EQ(inner.lines, 1);
}

}  // namespace
}  // namespace halyard
