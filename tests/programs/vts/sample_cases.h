// SPDX-License-Identifier: Apache-2.0
//
// Cases as the host sends them.

#pragma once

#include "harness/device/runner/messages.h"

namespace halyard::vts::testing {

namespace pb = runner::pb;

// sum = a + a, of two elements that are 1 and 2.
pb::TestCase floatAddition();
// The same of QUANT8_ASYMM with scale 1 and zero point 0.
pb::TestCase quantizedAddition();
// A WHILE whose condition is always true.
pb::TestCase endlessLoop();

}  // namespace halyard::vts::testing
