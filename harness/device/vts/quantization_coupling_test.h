// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "harness/device/vts/fixture/check.h"

namespace halyard::vts {

// QuantizationCouplingTest: a model of QUANT8_ASYMM and its signed twin are both supported, or
// neither.
Checks quantizationCouplingTest();

}  // namespace halyard::vts
