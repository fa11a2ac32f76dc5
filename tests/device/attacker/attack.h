// SPDX-License-Identifier: Apache-2.0
//
// The attacks, by name: clients that take what they can get, for tests that the others are served.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "driver/model/codes.h"
#include "engine/base/status.h"
#include "tests/device/attacker/link.h"

namespace halyard::attacker {

using driver::ErrorStatus;

struct Settings {
    std::string instance;
    int seconds = 10;                           // how long to go on
    int clients = 8;                            // threads, processes or models, as the attack says
    uint32_t seed = 0;                          // 0: one of its own, which it prints
    std::string against;                        // a variation of the attack
    std::chrono::milliseconds patience{30000};  // of an honest client, with each call
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
std::span<const NamedAttack> lastingAttacks();
std::span<const NamedAttack> waitingAttacks();
std::span<const NamedAttack> edgeAttacks();
std::span<const NamedAttack> crowdAttacks();
std::span<const NamedAttack> managerAttacks();
std::span<const NamedAttack> serviceManagerAttacks();
std::span<const NamedAttack> clientRuns();  // those that behave, and those that die

// How many of an attack's calls the service took, and what the last one was answered.
struct Tally {
    int taken = 0;
    std::string last;

    void add(const Status& answer);
    void add(const Result<ErrorStatus>& answer);
};

// When an attack that begins now is over.
Clock::time_point endOf(const Settings& settings);
// Keeps what it holds until the time is up, and serves what comes in.
void hold(Link& link, const Settings& settings);
// Runs `attack` in as many threads as the settings say, and waits for all. Each is told when to
// end, and says how many calls it made; the sum of these.
int inThreads(const Settings& settings, const std::function<int(Clock::time_point end)>& attack);

}  // namespace halyard::attacker
