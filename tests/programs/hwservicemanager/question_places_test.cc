// SPDX-License-Identifier: Apache-2.0

#include "harness/device/hwservicemanager/question_places.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>

namespace halyard::device {
namespace {

TEST(QuestionPlacesTest, AProcessHasOnePlace) {
    QuestionPlaces places(2);
    std::optional<Result<QuestionPlaces::Place>> first(places.take(1));
    EXPECT_TRUE(first->ok());
    EXPECT_EQ(places.take(1).status().code(), StatusCode::RESOURCE_EXHAUSTED);
    first.reset();
    EXPECT_TRUE(places.take(1).ok());
}

TEST(QuestionPlacesTest, ThereAreNoMoreThanSaid) {
    QuestionPlaces places(2);
    const Result<QuestionPlaces::Place> first = places.take(1);
    std::optional<Result<QuestionPlaces::Place>> second(places.take(2));
    ASSERT_TRUE(first.ok() && second->ok());
    EXPECT_EQ(places.take(3).status().code(), StatusCode::RESOURCE_EXHAUSTED);
    second.reset();
    EXPECT_TRUE(places.take(3).ok());
}

TEST(QuestionPlacesTest, AMovedPlaceIsHeldOnce) {
    QuestionPlaces places(1);
    QuestionPlaces::Place place = places.take(1).value();
    const QuestionPlaces::Place moved = std::move(place);
    EXPECT_FALSE(places.take(2).ok());
}

}  // namespace
}  // namespace halyard::device
