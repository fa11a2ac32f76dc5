// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "harness/device/vts/fixture/check.h"

namespace halyard::vts {

// DynamicOutputShapeTest: the model leaves its outputs' dimensions open, and the device tells them.
Checks dynamicOutputShapeTest();

}  // namespace halyard::vts
