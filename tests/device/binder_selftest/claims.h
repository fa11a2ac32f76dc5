// SPDX-License-Identifier: Apache-2.0
//
// Claims about the transport, and whether they held.

#pragma once

#include <chrono>
#include <functional>

namespace halyard::hal::selftest {

constexpr std::chrono::seconds kPatience{20};

// Prints the claim and whether it holds, which it gives back.
bool claim(bool holds, const char* text);
// Of all claims so far.
bool allHold();

// True as soon as `condition` is, false if it takes too long.
bool eventually(const std::function<bool()>& condition);

}  // namespace halyard::hal::selftest
