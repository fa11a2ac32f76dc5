// SPDX-License-Identifier: Apache-2.0

#include "engine/base/late_workers.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <initializer_list>

namespace halyard {
namespace {

using std::chrono::milliseconds;
using TimePoint = LateWorkers::TimePoint;

WorkerSet setOf(std::initializer_list<size_t> workers) {
    WorkerSet set;
    for (const size_t worker : workers) {
        set.add(worker);
    }
    return set;
}

// Leases of ten milliseconds one after another, in each of which workers lack their cores for a
// part.
class LateWorkersTest : public ::testing::Test {
  protected:
    static constexpr milliseconds kLease{10};

    // Computes until one of `workers` is left out, for at most `most`. Returns how long it took.
    milliseconds computeUntilOut(std::initializer_list<size_t> workers,
                                 std::chrono::nanoseconds lacked,
                                 milliseconds most = milliseconds(10'000)) {
        const TimePoint start = mNow;
        while ((mLate.leftOut().bits() & setOf(workers).bits()) == 0 && mNow - start < most) {
            compute(workers, lacked);
        }
        return std::chrono::duration_cast<milliseconds>(mNow - start);
    }

    // Computes without delay until `worker` is there again. Returns how long it took.
    milliseconds computeUntilBack(size_t worker) {
        const TimePoint start = mNow;
        while (mLate.leftOut().has(worker) && mNow - start < milliseconds(60'000)) {
            compute({}, {});
        }
        return std::chrono::duration_cast<milliseconds>(mNow - start);
    }

    void compute(std::initializer_list<size_t> workers, std::chrono::nanoseconds lacked,
                 milliseconds lackedByHolder = {}) {
        mLate.begin(mNow, mThreads);
        mNow += kLease;
        mLate.end(mNow, lackedByHolder);
        for (const size_t worker : workers) {
            mLate.charge(worker, lacked);
        }
    }

    TimePoint mNow = TimePoint(milliseconds(1'000'000));
    size_t mThreads = 16;
    LateWorkers mLate;
};

TEST_F(LateWorkersTest, LeavesOutWhoHasHalfACore) {
    EXPECT_LT(computeUntilOut({2}, milliseconds(5)), milliseconds(100));
    EXPECT_EQ(mLate.leftOut().bits(), setOf({2}).bits());
}

TEST_F(LateWorkersTest, KeepsWhoIsWorthMoreThanItCosts) {
    // Of a sixteenth of the work.
    computeUntilOut({2}, std::chrono::microseconds(300));
    EXPECT_TRUE(mLate.leftOut().empty());
    computeUntilOut({2}, milliseconds(1));
    EXPECT_FALSE(mLate.leftOut().empty());
}

TEST_F(LateWorkersTest, LeavesOutNoneOfTwoThatHasHalfACore) {
    mThreads = 2;
    computeUntilOut({1}, milliseconds(5));
    EXPECT_TRUE(mLate.leftOut().empty());
}

TEST_F(LateWorkersTest, ForgetsDelaysNowAndThen) {
    for (int i = 0; i < 100; ++i) {
        compute({1, 2, 3}, milliseconds(10));
        for (int j = 0; j < 50; ++j) {
            compute({}, {});
            EXPECT_TRUE(mLate.leftOut().empty()) << i;
        }
    }
}

TEST_F(LateWorkersTest, LeavesOutAllThatAreLate) {
    for (int i = 0; i < 50; ++i) {
        compute({1, 3, 8, 9, 10, 11, 12, 13}, milliseconds(5));
    }
    EXPECT_EQ(mLate.leftOut().bits(), setOf({1, 3, 8, 9, 10, 11, 12, 13}).bits());
}

TEST_F(LateWorkersTest, LeavesOutHalfAtMost) {
    for (int i = 0; i < 100; ++i) {
        compute({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, milliseconds(9));
        EXPECT_LE(mLate.leftOut().count(), 8U);
    }
    EXPECT_EQ(mLate.leftOut().count(), 8U);
}

TEST_F(LateWorkersTest, LeavesOutNoWorkerThatIsNoWorseThanTheHolder) {
    for (int i = 0; i < 1000; ++i) {
        compute({1, 2, 3}, milliseconds(3), milliseconds(3));
        EXPECT_TRUE(mLate.leftOut().empty());
    }
}

TEST_F(LateWorkersTest, LeavesOutForLongerEachTimeAndAtMostForAWhile) {
    for (const milliseconds expected :
         {milliseconds(200), milliseconds(800), milliseconds(3200), milliseconds(3200)}) {
        computeUntilOut({1}, milliseconds(5));
        const milliseconds absence = computeUntilBack(1);
        EXPECT_GE(absence, expected - kLease);
        EXPECT_LE(absence, expected + kLease);
    }
}

TEST_F(LateWorkersTest, ForgivesWhoIsLateNoLonger) {
    for (int i = 0; i < 3; ++i) {
        computeUntilOut({1}, milliseconds(5));
        computeUntilBack(1);
    }
    for (int i = 0; i < 100; ++i) {
        compute({}, {});
    }
    computeUntilOut({1}, milliseconds(5));
    EXPECT_LE(computeUntilBack(1), LateWorkers::kLeastAbsence + kLease);
}

TEST_F(LateWorkersTest, ForgivesNoWorkerForTimeThatNothingComputed) {
    computeUntilOut({1}, milliseconds(5));
    computeUntilBack(1);
    mNow += milliseconds(100'000);
    computeUntilOut({1}, milliseconds(5));
    EXPECT_GT(computeUntilBack(1), 2 * LateWorkers::kLeastAbsence);
}

TEST_F(LateWorkersTest, NeverLeavesOutTheHolderNorWorkersThatAreNotThere) {
    computeUntilOut({0, 16, 63, 64, 1000}, milliseconds(9));
    EXPECT_TRUE(mLate.leftOut().empty());
}

}  // namespace
}  // namespace halyard
