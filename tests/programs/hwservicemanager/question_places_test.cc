// SPDX-License-Identifier: Apache-2.0

#include "harness/device/hwservicemanager/question_places.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>

namespace halyard::device {
namespace {

// Each of a user of its own.
constexpr Owner kFirst = {.pid = 1, .uid = 1};
constexpr Owner kSecond = {.pid = 2, .uid = 2};
constexpr Owner kThird = {.pid = 3, .uid = 3};

TEST(QuestionPlacesTest, AProcessHasOnePlace) {
    QuestionPlaces places(2);
    std::optional<Result<QuestionPlaces::Place>> first(places.take(kFirst));
    EXPECT_TRUE(first->ok());
    EXPECT_EQ(places.take(kFirst).status().code(), StatusCode::RESOURCE_EXHAUSTED);
    first.reset();
    EXPECT_TRUE(places.take(kFirst).ok());
}

TEST(QuestionPlacesTest, ThereAreNoMoreThanSaid) {
    QuestionPlaces places(2);
    const Result<QuestionPlaces::Place> first = places.take(kFirst);
    std::optional<Result<QuestionPlaces::Place>> second(places.take(kSecond));
    ASSERT_TRUE(first.ok() && second->ok());
    EXPECT_EQ(places.take(kThird).status().code(), StatusCode::RESOURCE_EXHAUSTED);
    second.reset();
    EXPECT_TRUE(places.take(kThird).ok());
}

TEST(QuestionPlacesTest, AUserHasHalfOfThem) {
    QuestionPlaces places(4);
    const Result<QuestionPlaces::Place> first = places.take({.pid = 1, .uid = 1});
    const Result<QuestionPlaces::Place> second = places.take({.pid = 2, .uid = 1});
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_EQ(places.take({.pid = 3, .uid = 1}).status().code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_TRUE(places.take({.pid = 4, .uid = 2}).ok());
}

TEST(QuestionPlacesTest, AMovedPlaceIsHeldOnce) {
    QuestionPlaces places(1);
    QuestionPlaces::Place place = places.take(kFirst).value();
    const QuestionPlaces::Place moved = std::move(place);
    EXPECT_FALSE(places.take(kSecond).ok());
}

}  // namespace
}  // namespace halyard::device
