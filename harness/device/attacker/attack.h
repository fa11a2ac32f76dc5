// SPDX-License-Identifier: Apache-2.0
//
// The attacks, by name: clients that take what they can get, for tests that the others are served.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/base/status.h"

namespace halyard::attacker {

struct Settings {
    std::string instance;
    int seconds = 10;     // how long to go on
    int clients = 8;      // threads, processes or models, as the attack says
    uint32_t seed = 0;    // 0: one of its own, which it prints
    std::string against;  // a variation of the attack
};

// OK: the attack was carried out, whatever became of it. A failure says why it could not be.
using Attack = Status (*)(const Settings&);

struct NamedAttack {
    std::string_view name;
    Attack attack;
    std::string_view what;  // one line
};

// Each of these is a file of this folder.
std::span<const NamedAttack> descriptorAttacks();
std::span<const NamedAttack> workAttacks();
std::span<const NamedAttack> memoryAttacks();
std::span<const NamedAttack> edgeAttacks();
std::span<const NamedAttack> clientRuns();  // those that behave, and those that die

// Keeps what it holds until the time is up, and serves what comes in.
class Link;
void hold(Link& link, const Settings& settings);

}  // namespace halyard::attacker
