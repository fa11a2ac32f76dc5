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

}  // namespace
}  // namespace halyard
