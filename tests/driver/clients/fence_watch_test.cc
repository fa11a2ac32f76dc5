// SPDX-License-Identifier: Apache-2.0

#include "driver/clients/fence_watch.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "tests/driver/awaited.h"

namespace halyard::driver {
namespace {

using Clock = std::chrono::steady_clock;
using Fence = std::shared_ptr<const FileDescriptor>;

Fence pending() {
    return std::make_shared<const FileDescriptor>(eventfd(0, EFD_CLOEXEC));
}

void happen(const Fence& fence) {
    const uint64_t one = 1;
    EXPECT_EQ(write(fence->get(), &one, sizeof(one)), static_cast<ssize_t>(sizeof(one)));
}

size_t threadsOfThisProcess() {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return static_cast<size_t>(std::distance(begin(tasks), end(tasks)));
}

class Fenced : public ::testing::Test {
  protected:
    Awaited<Status> await(Fences fences, const Deadline& deadline = std::nullopt,
                          FenceWatch::Share* share = nullptr) {
        const Awaited<Status> told;
        const Status waits = (share == nullptr ? mShare.get() : share)
                                     ->await(std::move(fences), deadline,
                                             [told](const Status& status) { told.set(status); });
        EXPECT_TRUE(waits.ok()) << waits.toString();
        return told;
    }

    std::optional<FenceWatch> mWatch{std::in_place};
    const std::shared_ptr<FenceWatch::Share> mShare = mWatch->makeShare();
};

TEST_F(Fenced, WaitsUntilAllHaveHappened) {
    const std::vector<Fence> fences = {pending(), pending(), pending()};
    const Awaited<Status> all = await({fences[0], fences[1], fences[2]});
    const Awaited<Status> first = await({fences[0]});
    happen(fences[2]);
    happen(fences[0]);
    EXPECT_TRUE(first.get().ok());
    EXPECT_EQ(all.count(), 0) << "one of them is still to happen";
    EXPECT_EQ(mShare->waiting(), 1U);
    happen(fences[1]);
    EXPECT_TRUE(all.get().ok());
    EXPECT_EQ(all.count(), 1);
    EXPECT_EQ(mWatch->waiting(), 0U);
}

TEST_F(Fenced, RemembersAFenceThatHasHappenedOnce) {
    const std::vector<Fence> fences = {pending(), pending()};
    const Awaited<Status> both = await({fences[0], fences[1]});
    const Awaited<Status> first = await({fences[0]});
    happen(fences[0]);
    EXPECT_TRUE(first.get().ok());
    const Awaited<Status> again = await({fences[0]});
    EXPECT_TRUE(again.get().ok());
    uint64_t count = 0;  // it is pending again from here on, for who asks now
    EXPECT_EQ(read(fences[0]->get(), &count, sizeof(count)), static_cast<ssize_t>(sizeof(count)));
    happen(fences[1]);
    EXPECT_TRUE(both.get().ok());
}

TEST_F(Fenced, IsToldAtOnceWhereThereIsNothingToWaitFor) {
    const Fence fence = pending();
    happen(fence);
    EXPECT_TRUE(await({fence}).get().ok());
    EXPECT_TRUE(await({}).get().ok());
}

TEST_F(Fenced, EndsWithTheDeadline) {
    const Awaited<Status> late = await({pending()}, Clock::now() + std::chrono::milliseconds(20));
    const Awaited<Status> passed = await({pending()}, Clock::time_point());
    const Awaited<Status> patient = await({pending()});
    EXPECT_EQ(late.get().code(), StatusCode::DEADLINE_EXCEEDED);
    EXPECT_EQ(passed.get().code(), StatusCode::DEADLINE_EXCEEDED);
    EXPECT_FALSE(late.get().persistent());
    EXPECT_EQ(patient.count(), 0);
}

TEST_F(Fenced, FailsWhereAFenceNeverWillHappen) {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    const Fence reading = std::make_shared<const FileDescriptor>(ends[0]);
    const Awaited<Status> told = await({pending(), reading});
    EXPECT_EQ(told.count(), 0);
    close(ends[1]);
    EXPECT_EQ(told.get().code(), StatusCode::INTERNAL);
    EXPECT_NE(told.get().message().find("fence"), std::string_view::npos);
}

TEST_F(Fenced, RejectsWhatIsNoDescriptor) {
    bool called = false;
    const auto then = [&](const Status&) { called = true; };
    EXPECT_EQ(mShare->await({pending(), nullptr}, std::nullopt, then).code(),
              StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(mShare->await({std::make_shared<const FileDescriptor>()}, std::nullopt, then).code(),
              StatusCode::INVALID_ARGUMENT);
    EXPECT_FALSE(called);
}

TEST_F(Fenced, WaitsForAFenceThatIsThereTwice) {
    const Fence fence = pending();
    const Awaited<Status> twice = await({fence, fence});
    const Awaited<Status> more = await({fence, pending(), fence});
    EXPECT_EQ(twice.count(), 0);
    happen(fence);
    EXPECT_TRUE(twice.get().ok());
    EXPECT_EQ(more.count(), 0);
    EXPECT_EQ(mWatch->waiting(), 1U);
}

TEST_F(Fenced, TakesAFileForWhatHasHappened) {
    const Fence file =
            std::make_shared<const FileDescriptor>(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    EXPECT_TRUE(await({file}).get().ok());
    const Fence fence = pending();
    const Awaited<Status> both = await({file, fence});
    EXPECT_EQ(both.count(), 0);
    happen(fence);
    EXPECT_TRUE(both.get().ok());
}

// Each is told once, and in its own time, whatever becomes of the others in which order.
TEST_F(Fenced, TellsEachOfManyOfItsOwn) {
    constexpr size_t kMany = 300;
    std::vector<Fence> fences;
    std::vector<Awaited<Status>> told;
    for (size_t i = 0; i < kMany; ++i) {
        fences.push_back(pending());
        told.push_back(await({fences.back()}, Clock::now() + std::chrono::hours(1)));
    }
    std::vector<size_t> order(kMany);
    std::iota(order.begin(), order.end(), 0);
    std::ranges::shuffle(order, std::mt19937(1));
    for (size_t i = 0; i < kMany; ++i) {
        happen(fences[order[i]]);
        EXPECT_TRUE(told[order[i]].get().ok());
        if (i + 1 < kMany) {
            EXPECT_EQ(told[order[i + 1]].count(), 0);
        }
    }
    for (const Awaited<Status>& each : told) {
        EXPECT_EQ(each.count(), 1);
    }
    EXPECT_EQ(mWatch->waiting(), 0U);
}

// The client has its fences open as well: one whose waiting has ended is looked at no more, and
// keeps no thread busy.
TEST_F(Fenced, LooksAtNoFenceThatIsNoLongerWaitedFor) {
    const Fence mine = pending();
    auto dup = std::make_shared<const FileDescriptor>(fcntl(mine->get(), F_DUPFD_CLOEXEC, 0));
    const Awaited<Status> late =
            await({std::move(dup)}, Clock::now() + std::chrono::milliseconds(5));
    EXPECT_EQ(late.get().code(), StatusCode::DEADLINE_EXCEEDED);
    happen(mine);
    const auto processorTime = [] {
        timespec time = {};
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
        return time.tv_sec * 1'000'000'000 + time.tv_nsec;
    };
    const auto before = processorTime();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT_LT(processorTime() - before, 100'000'000) << "of 200 ms";
}

TEST_F(Fenced, TakesOneThreadForAll) {
    const Fence last = pending();
    const Awaited<Status> first = await({last});
    const size_t threads = threadsOfThisProcess();
    std::vector<Awaited<Status>> waiting;
    for (int i = 0; i < 300; ++i) {
        waiting.push_back(await({pending(), last}, Clock::now() + std::chrono::hours(1)));
    }
    EXPECT_EQ(threadsOfThisProcess(), threads);
    EXPECT_EQ(mWatch->waiting(), 301U);
    happen(last);
    EXPECT_TRUE(first.get().ok());
    EXPECT_EQ(mWatch->waiting(), 300U) << "the others wait for another one";
    mShare->refuseWaiting(Status(StatusCode::UNAVAILABLE, "enough"));
    for (const Awaited<Status>& told : waiting) {
        EXPECT_EQ(told.get().code(), StatusCode::UNAVAILABLE);
        EXPECT_EQ(told.count(), 1);
    }
}

TEST_F(Fenced, RefusesOnlyWhatIsTheSharesOwn) {
    const std::shared_ptr<FenceWatch::Share> other = mWatch->makeShare();
    const Fence fence = pending();
    const std::weak_ptr<const FileDescriptor> dropped = pending();
    Fence kept = pending();
    const std::weak_ptr<const FileDescriptor> weak = kept;
    const Awaited<Status> mine = await({std::move(kept)});
    const Awaited<Status> others = await({fence}, std::nullopt, other.get());
    mShare->refuseWaiting(Status(StatusCode::UNAVAILABLE, "the client's process has died"));
    EXPECT_EQ(mine.get().code(), StatusCode::UNAVAILABLE);
    EXPECT_EQ(others.count(), 0);
    happen(fence);
    EXPECT_TRUE(others.get().ok());
    EXPECT_TRUE(weak.expired()) << "its descriptor is closed";
}

// The thread has been told of a fence while somebody is busy taking out, one after the other, what
// waits: the last of these is gone when the thread gets to look.
TEST_F(Fenced, IsToldOnceWhereItIsTakenOutAsItHappens) {
    const Fence never = pending();
    for (int round = 0; round < 20; ++round) {
        const Fence fence = pending();
        std::vector<Awaited<Status>> told;
        for (int i = 0; i < 300; ++i) {
            told.push_back(await({std::make_shared<const FileDescriptor>(
                    fcntl(never->get(), F_DUPFD_CLOEXEC, 0))}));
        }
        told.push_back(await({fence}));
        happen(fence);
        mShare->refuseWaiting(internalError("no more"));
        for (const Awaited<Status>& each : told) {
            static_cast<void>(each.get());
        }
        EXPECT_EQ(mWatch->waiting(), 0U);
        EXPECT_EQ(told.back().count(), 1);
    }
}

TEST_F(Fenced, IsToldOfTheEndOfTheWatch) {
    const Awaited<Status> told = await({pending()});
    mWatch.reset();
    EXPECT_EQ(told.get().code(), StatusCode::UNAVAILABLE);
    EXPECT_EQ(told.count(), 1);
}

TEST_F(Fenced, MayEndTheWatchFromWhatItIsTold) {
    const Fence fence = pending();
    const Awaited<bool> ended;
    ASSERT_TRUE(mShare->await({fence}, std::nullopt, [&](const Status&) {
                          mWatch.reset();
                          ended.set(true);
                      }).ok());
    happen(fence);
    EXPECT_TRUE(ended.get());
}

}  // namespace
}  // namespace halyard::driver
