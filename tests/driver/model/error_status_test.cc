// SPDX-License-Identifier: Apache-2.0

#include "driver/model/error_status.h"

#include <gtest/gtest.h>

#include "tests/driver/device_fixture.h"

namespace halyard::driver {
namespace {

TEST(ErrorStatus, TellsReasonsOnlyFrom1_3) {
    const Status missed(StatusCode::DEADLINE_EXCEEDED, "late");
    const Status exhausted(StatusCode::RESOURCE_EXHAUSTED, "full");
    EXPECT_EQ(toErrorStatus(missed, HalVersion::V1_3), ErrorStatus::MISSED_DEADLINE_TRANSIENT);
    EXPECT_EQ(toErrorStatus(exhausted, HalVersion::V1_3),
              ErrorStatus::RESOURCE_EXHAUSTED_TRANSIENT);
    for (const HalVersion version : {HalVersion::V1_0, HalVersion::V1_1, HalVersion::V1_2}) {
        EXPECT_EQ(toErrorStatus(missed, version), ErrorStatus::GENERAL_FAILURE);
        EXPECT_EQ(toErrorStatus(exhausted, version), ErrorStatus::GENERAL_FAILURE);
    }
}

TEST(ErrorStatus, TellsWhatNoLaterTryWillMend) {
    const Status missed = Status(StatusCode::DEADLINE_EXCEEDED, "late").asPersistent();
    const Status exhausted = outOfReach("full").withContext("pool 1");
    EXPECT_EQ(toErrorStatus(missed, HalVersion::V1_3), ErrorStatus::MISSED_DEADLINE_PERSISTENT);
    EXPECT_EQ(toErrorStatus(exhausted, HalVersion::AIDL_V4),
              ErrorStatus::RESOURCE_EXHAUSTED_PERSISTENT);
    for (const HalVersion version : {HalVersion::V1_0, HalVersion::V1_1, HalVersion::V1_2}) {
        EXPECT_EQ(toErrorStatus(missed, version), ErrorStatus::GENERAL_FAILURE);
        EXPECT_EQ(toErrorStatus(exhausted, version), ErrorStatus::GENERAL_FAILURE);
    }
}

TEST(ErrorStatus, IsTheSameInEveryVersionOtherwise) {
    for (const HalVersion version : kVersions) {
        EXPECT_EQ(toErrorStatus(Status(), version), ErrorStatus::NONE);
        EXPECT_EQ(toErrorStatus(invalidArgument("x"), version), ErrorStatus::INVALID_ARGUMENT);
        EXPECT_EQ(toErrorStatus(unsupported("x"), version), ErrorStatus::GENERAL_FAILURE);
        EXPECT_EQ(toErrorStatus(internalError("x"), version), ErrorStatus::GENERAL_FAILURE);
        EXPECT_EQ(toErrorStatus(Status(StatusCode::UNAVAILABLE, "x"), version),
                  ErrorStatus::DEVICE_UNAVAILABLE);
        EXPECT_EQ(toErrorStatus(Status(StatusCode::OUTPUT_TOO_SMALL, "x"), version),
                  ErrorStatus::OUTPUT_INSUFFICIENT_SIZE);
    }
}

TEST(ErrorStatus, ComesBackFromAStatusAsItWas) {
    for (const ErrorStatus answer :
         {ErrorStatus::NONE, ErrorStatus::DEVICE_UNAVAILABLE, ErrorStatus::GENERAL_FAILURE,
          ErrorStatus::OUTPUT_INSUFFICIENT_SIZE, ErrorStatus::INVALID_ARGUMENT,
          ErrorStatus::MISSED_DEADLINE_TRANSIENT, ErrorStatus::MISSED_DEADLINE_PERSISTENT,
          ErrorStatus::RESOURCE_EXHAUSTED_TRANSIENT, ErrorStatus::RESOURCE_EXHAUSTED_PERSISTENT}) {
        EXPECT_EQ(toErrorStatus(toStatus(answer, "x"), HalVersion::V1_3), answer);
    }
}

}  // namespace
}  // namespace halyard::driver
