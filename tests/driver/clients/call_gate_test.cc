// SPDX-License-Identifier: Apache-2.0

#include "driver/clients/call_gate.h"

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
    CallGate gate({.perClient = 3, .perGroup = 100, .shared = 100, .most = 100});
    const auto share = gate.makeGroup()->makeShare();
    {
        const std::vector<CallGate::Permit> permits = fill(*share);
        EXPECT_EQ(permits.size(), 3U);
        EXPECT_EQ(share->inside(), 3U);
        EXPECT_TRUE(gate.makeGroup()->makeShare()->enter().ok())
                << "another client's part is its own";
    }
    EXPECT_EQ(share->inside(), 0U);
    EXPECT_EQ(fill(*share).size(), 3U) << "what is given back can be taken again";
}

TEST(CallGate, KeepsRoomForClientsThatHaveNothingInside) {
    CallGate gate({.perClient = 4, .perGroup = 4, .shared = 6, .most = 8});
    const auto first = gate.makeGroup()->makeShare();
    const auto second = gate.makeGroup()->makeShare();
    const std::vector<CallGate::Permit> permits = fill(*first);
    const std::vector<CallGate::Permit> more = fill(*second);
    EXPECT_EQ(permits.size(), 4U);
    EXPECT_EQ(more.size(), 2U) << "six are shared";
    const auto third = gate.makeGroup()->makeShare();
    const std::vector<CallGate::Permit> one = fill(*third);
    EXPECT_EQ(one.size(), 1U);
    const auto fourth = gate.makeGroup()->makeShare();
    const std::vector<CallGate::Permit> another = fill(*fourth);
    EXPECT_EQ(another.size(), 1U);
    EXPECT_TRUE(fill(*gate.makeGroup()->makeShare()).empty()) << "never more than eight";
}

TEST(CallGate, KeepsTheClientsOfOneUserToTheUsersPart) {
    CallGate gate({.perClient = 3, .perGroup = 5, .shared = 8, .most = 10});
    const auto user = gate.makeGroup();
    const std::vector<CallGate::Permit> first = fill(*user->makeShare());
    const std::vector<CallGate::Permit> second = fill(*user->makeShare());
    EXPECT_EQ(first.size(), 3U);
    EXPECT_EQ(second.size(), 2U);
    EXPECT_TRUE(fill(*user->makeShare()).empty()) << "however many processes it has";
    EXPECT_EQ(user->inside(), 5U);
    const std::vector<CallGate::Permit> other = fill(*gate.makeGroup()->makeShare());
    EXPECT_EQ(other.size(), 3U) << "another user finds its own part";
    const auto newcomer = gate.makeGroup();
    const std::vector<CallGate::Permit> one = fill(*newcomer->makeShare());
    EXPECT_EQ(one.size(), 1U) << "and one that has nothing inside finds room when all is shared";
    EXPECT_TRUE(fill(*newcomer->makeShare()).empty()) << "but for one of its processes alone";
}

}  // namespace
}  // namespace halyard::driver
