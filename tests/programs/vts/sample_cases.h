// SPDX-License-Identifier: Apache-2.0
//
// Cases as the host sends them.

#pragma once

#include "harness/device/cases/messages.h"

namespace halyard::vts::testing {

namespace pb = runner::pb;

// sum = a + a, of two elements that are 1 and 2.
pb::TestCase floatAddition();
// The same of QUANT8_ASYMM with scale 1 and zero point 0.
pb::TestCase quantizedAddition();
// The model does not say how large the sum is.
pb::TestCase openAddition();
// An IF, both of whose branches add quantized tensors, one of them to a constant.
pb::TestCase quantizedBranch();
// A WHILE whose condition is always true.
pb::TestCase endlessLoop();

}  // namespace halyard::vts::testing
