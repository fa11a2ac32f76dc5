// SPDX-License-Identifier: Apache-2.0

#include "engine/base/budget.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

namespace halyard {
namespace {

TEST(Budget, CountsAReservationForAsLongAsItLives) {
    const auto budget = std::make_shared<Budget>(100);
    {
        const Result<Reservation> reservation = Reservation::create(budget, 60);
        ASSERT_TRUE(reservation.ok());
        EXPECT_EQ(reservation->count(), 60U);
        EXPECT_EQ(budget->reserved(), 60U);
    }
    EXPECT_EQ(budget->reserved(), 0U);
}

TEST(Budget, RefusesWhatDoesNotFitAndSaysHowMuchThereIs) {
    const auto budget = std::make_shared<Budget>(100);
    const Result<Reservation> first = Reservation::create(budget, 60);
    const Status refused = Reservation::create(budget, 41).status();
    EXPECT_EQ(refused.code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(refused.message(), "41 bytes, with 60 in use, are more than the limit of 100");
    EXPECT_FALSE(refused.persistent()) << "there may be room later";
    EXPECT_EQ(budget->reserved(), 60U);
    EXPECT_TRUE(Reservation::create(budget, 40).ok());
}

TEST(Budget, AdmitsAsMuchAsItsLimit) {
    const auto budget = std::make_shared<Budget>(100);
    const Result<Reservation> some = Reservation::create(budget, 1);
    EXPECT_TRUE(budget->admits(100).ok()) << "whatever is in use";
    const Status refused = budget->admits(101);
    EXPECT_EQ(refused.code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(refused.message(), "101 bytes are more than the limit of 100");
    EXPECT_TRUE(refused.persistent());
    EXPECT_FALSE(Reservation::create(budget, std::numeric_limits<size_t>::max()).ok())
            << "the sum would wrap";
}

TEST(Budget, FollowsAReservationThatMoves) {
    const auto budget = std::make_shared<Budget>(100);
    Reservation first = *Reservation::create(budget, 60);
    Reservation second = std::move(first);
    EXPECT_EQ(budget->reserved(), 60U);
    second = *Reservation::create(budget, 30);
    EXPECT_EQ(budget->reserved(), 30U);
    second = Reservation();
    EXPECT_EQ(budget->reserved(), 0U);
}

TEST(Budget, ReclaimsBeforeItRefuses) {
    std::vector<Reservation> spare;
    int reclaimed = 0;
    const auto budget = std::make_shared<Budget>(100, [&] {
        ++reclaimed;
        spare.clear();
    });
    spare.push_back(*Reservation::create(budget, 80));
    EXPECT_EQ(reclaimed, 0);
    const Result<Reservation> reservation = Reservation::create(budget, 50);
    EXPECT_TRUE(reservation.ok()) << reservation.status().toString();
    EXPECT_EQ(reclaimed, 1);
    EXPECT_FALSE(Reservation::create(budget, 51).ok());
    EXPECT_EQ(reclaimed, 2);
    EXPECT_FALSE(Reservation::create(budget, 101).ok());
    EXPECT_EQ(reclaimed, 2) << "nothing could make room for that";
}

TEST(Budget, GivesWithoutABudgetWhatIsAskedFor) {
    EXPECT_TRUE(Reservation::create(nullptr, std::numeric_limits<size_t>::max()).ok());
}

TEST(Budget, IsKeptByManyThreads) {
    constexpr size_t kLimit = 10;
    const auto budget = std::make_shared<Budget>(kLimit);
    std::atomic<size_t> held = 0;
    std::atomic<bool> exceeded = false;
    std::vector<std::thread> threads;
    for (size_t bytes = 1; bytes <= 4; ++bytes) {
        threads.emplace_back([&, bytes] {
            for (int round = 0; round < 2000; ++round) {
                const Result<Reservation> reservation = Reservation::create(budget, bytes);
                if (reservation.ok()) {
                    exceeded = exceeded || (held += bytes) > kLimit;
                    held -= bytes;
                }
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_FALSE(exceeded);
    EXPECT_EQ(budget->reserved(), 0U);
}

TEST(Budget, TakesOfTheWholeWhatIsTakenOfAPart) {
    const auto whole = std::make_shared<Budget>(100);
    const auto part = std::make_shared<Budget>(60, whole);
    const auto other = std::make_shared<Budget>(60, whole);
    {
        const Result<Reservation> taken = Reservation::create(part, 50);
        ASSERT_TRUE(taken.ok());
        EXPECT_EQ(part->reserved(), 50U);
        EXPECT_EQ(whole->reserved(), 50U);
        EXPECT_EQ(other->reserved(), 0U);
        EXPECT_EQ(Reservation::create(part, 11).status().code(), StatusCode::RESOURCE_EXHAUSTED)
                << "its own limit";
        EXPECT_EQ(Reservation::create(other, 51).status().code(), StatusCode::RESOURCE_EXHAUSTED)
                << "the whole's";
        EXPECT_EQ(other->reserved(), 0U) << "a refusal takes nothing";
        EXPECT_EQ(whole->reserved(), 50U);
        EXPECT_TRUE(Reservation::create(other, 50).ok());
    }
    EXPECT_EQ(part->reserved(), 0U);
    EXPECT_EQ(whole->reserved(), 0U);
    EXPECT_EQ(part->admits(61).code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(std::make_shared<Budget>(200, whole)->admits(101).code(),
              StatusCode::RESOURCE_EXHAUSTED);
}

TEST(Budget, MakesRoomWhereAPartOrTheWholeRunsShort) {
    Result<Reservation> idle = Status(StatusCode::UNAVAILABLE, "none");
    const auto drop = [&idle] { idle = Status(StatusCode::UNAVAILABLE, "none"); };
    const auto whole = std::make_shared<Budget>(100, drop);
    const auto part = std::make_shared<Budget>(60, whole);
    idle = Reservation::create(whole, 80);
    EXPECT_TRUE(Reservation::create(part, 40).ok()) << "the whole made room";
    const auto own = std::make_shared<Budget>(60, whole, drop);
    idle = Reservation::create(own, 60);
    EXPECT_TRUE(Reservation::create(own, 10).ok()) << "the part did";
}

TEST(Budget, CountsWhatItIsToldTo) {
    const auto models = std::make_shared<Budget>(1, nullptr, "models");
    const auto part = std::make_shared<Budget>(1, models);
    EXPECT_EQ(Reservation::create(part, 2).status().message(),
              "2 models are more than the limit of 1");
}

// As much as there is, one by one.
std::vector<Reservation> takeAll(const std::shared_ptr<Budget>& budget) {
    std::vector<Reservation> taken;
    for (;;) {
        Result<Reservation> one = Reservation::create(budget, 1);
        if (!one.ok()) {
            return taken;
        }
        taken.push_back(std::move(*one));
    }
}

// A whole of 100, of which 40 are for the minimums of four parts.
class ReserveOfABudget : public testing::Test {
  protected:
    std::shared_ptr<Budget> part() {
        return std::make_shared<Budget>(50, mWhole, nullptr, size_t{10});
    }
    const std::shared_ptr<Budget> mWhole =
            std::make_shared<Budget>(100, nullptr, "things", size_t{40});
};

TEST_F(ReserveOfABudget, LeavesANewcomerItsMinimumWhateverOthersHoard) {
    const std::vector<Reservation> first = takeAll(part());
    const std::vector<Reservation> second = takeAll(part());
    EXPECT_EQ(first.size(), 50U) << "its limit: 10 of the reserve, 40 of the 60 that are shared";
    EXPECT_EQ(second.size(), 30U) << "10 of the reserve, and what is left";
    EXPECT_EQ(takeAll(part()).size(), 10U);
    const std::vector<Reservation> third = takeAll(part());
    const std::vector<Reservation> fourth = takeAll(part());
    EXPECT_EQ(third.size(), 10U);
    EXPECT_EQ(fourth.size(), 10U);
    EXPECT_EQ(mWhole->reserved(), 100U);
    EXPECT_TRUE(takeAll(part()).empty()) << "it was for four";
}

TEST_F(ReserveOfABudget, IsNotForPartsWithoutAMinimum) {
    EXPECT_EQ(takeAll(std::make_shared<Budget>(100, mWhole)).size(), 60U);
}

TEST_F(ReserveOfABudget, IsNotHeldBackFromWhoHoldsTheWhole) {
    EXPECT_EQ(takeAll(mWhole).size(), 100U);
    EXPECT_EQ(mWhole->reserved(), 0U);
    const std::vector<Reservation> most =
            takeAll(std::make_shared<Budget>(90, std::make_shared<Budget>(90, mWhole)));
    EXPECT_EQ(most.size(), 60U);
    EXPECT_EQ(takeAll(mWhole).size(), 40U);
}

TEST_F(ReserveOfABudget, IsGivenBackLast) {
    const std::shared_ptr<Budget> greedy = part();
    std::vector<Reservation> first = takeAll(greedy);
    const std::vector<Reservation> second = takeAll(part());
    first.resize(20);
    // 30 are free again, and all of them are shared: the greedy part still has its own minimum.
    EXPECT_EQ(takeAll(std::make_shared<Budget>(100, mWhole)).size(), 30U);
    EXPECT_EQ(takeAll(greedy).size(), 30U);
    first.clear();
    EXPECT_EQ(takeAll(greedy).size(), 50U);
}

TEST_F(ReserveOfABudget, MayBeTakenTogetherWithWhatIsShared) {
    const std::shared_ptr<Budget> greedy = part();
    EXPECT_TRUE(Reservation::create(greedy, 50).ok());
    const Result<Reservation> most = Reservation::create(std::make_shared<Budget>(70, mWhole), 55);
    ASSERT_TRUE(most.ok());
    EXPECT_TRUE(Reservation::create(greedy, 15).ok());
    const Status refused = Reservation::create(greedy, 16).status();
    EXPECT_EQ(refused.code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(refused.message(), "6 things, with 55 in use, are more than the shared 60");
    EXPECT_EQ(greedy->reserved(), 0U);
}

TEST_F(ReserveOfABudget, BoundsWhatAPartCouldEverTake) {
    EXPECT_EQ(std::make_shared<Budget>(1000, mWhole, nullptr, size_t{10})->limit(), 70U);
    const auto alone = std::make_shared<Budget>(1000, mWhole);
    EXPECT_EQ(alone->admits(61).code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_TRUE(alone->admits(60).ok());
}

TEST_F(ReserveOfABudget, IsSharedByThePartsOfAPart) {
    const std::shared_ptr<Budget> user = part();
    const std::vector<Reservation> others = takeAll(std::make_shared<Budget>(100, mWhole));
    const auto first = std::make_shared<Budget>(50, user);
    const auto second = std::make_shared<Budget>(50, user);
    const std::vector<Reservation> some = takeAll(first);
    EXPECT_EQ(some.size(), 10U);
    EXPECT_TRUE(takeAll(second).empty()) << "the minimum is theirs together";
}

TEST_F(ReserveOfABudget, IsKeptByManyThreads) {
    const std::vector<Reservation> others = takeAll(std::make_shared<Budget>(55, mWhole));
    std::atomic<int> refused = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&, mine = part()] {
            for (int round = 0; round < 2000; ++round) {
                const auto process = std::make_shared<Budget>(50, mine);
                refused += Reservation::create(process, 10).ok() ? 0 : 1;
                static_cast<void>(Reservation::create(process, 13));
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(refused, 0) << "a part has its minimum";
    EXPECT_EQ(mWhole->reserved(), 55U);
}

}  // namespace
}  // namespace halyard
