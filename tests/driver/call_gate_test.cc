// SPDX-License-Identifier: Apache-2.0

#include "driver/call_gate.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace halyard::driver {
namespace {

// Enters as often as it is let in.
std::vector<CallGate::Permit> fill(CallGate::Share& share) {
    std::vector<CallGate::Permit> permits;
    for (;;) {
        Result<CallGate::Permit> permit = share.enter();
        if (!permit.ok()) {
            EXPECT_EQ(permit.status().code(), StatusCode::RESOURCE_EXHAUSTED);
            return permits;
        }
        permits.push_back(std::move(permit).value());
    }
}

TEST(CallGate, LetsNoClientTakeMoreThanItsPart) {
    CallGate gate({.perClient = 3, .shared = 100, .most = 100});
    const auto share = gate.makeShare();
    {
        const std::vector<CallGate::Permit> permits = fill(*share);
        EXPECT_EQ(permits.size(), 3U);
        EXPECT_EQ(share->inside(), 3U);
        EXPECT_TRUE(gate.makeShare()->enter().ok()) << "another client's part is its own";
    }
    EXPECT_EQ(share->inside(), 0U);
    EXPECT_EQ(fill(*share).size(), 3U) << "what is given back can be taken again";
}

TEST(CallGate, KeepsRoomForClientsThatHaveNothingInside) {
    CallGate gate({.perClient = 4, .shared = 6, .most = 8});
    const auto first = gate.makeShare();
    const auto second = gate.makeShare();
    const std::vector<CallGate::Permit> permits = fill(*first);
    const std::vector<CallGate::Permit> more = fill(*second);
    EXPECT_EQ(permits.size(), 4U);
    EXPECT_EQ(more.size(), 2U) << "six are shared";
    const auto third = gate.makeShare();
    const std::vector<CallGate::Permit> one = fill(*third);
    EXPECT_EQ(one.size(), 1U);
    const auto fourth = gate.makeShare();
    const std::vector<CallGate::Permit> another = fill(*fourth);
    EXPECT_EQ(another.size(), 1U);
    EXPECT_TRUE(fill(*gate.makeShare()).empty()) << "never more than eight";
}

}  // namespace
}  // namespace halyard::driver
