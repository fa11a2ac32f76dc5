// SPDX-License-Identifier: Apache-2.0
//
// The client that keeps the rules.

#pragma once

#include "tests/device/attacker/attack.h"

namespace halyard::attacker {

// Calls everything that a client may call, over and over for `seconds`, and prints a line for each
// kind of call: its name, how many, median, 99th percentile and longest in microseconds. Fails when
// a call fails or takes longer than 30 s, or the kernel refuses one for longer than 5 s.
// Settings::against "essentials": only what needs none of the device's memory or time.
Status runSteadyClient(const Settings& settings);

}  // namespace halyard::attacker
