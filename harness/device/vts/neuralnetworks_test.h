// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "harness/device/vts/fixture/check.h"

namespace halyard::vts {

// NeuralnetworksHidlTest and NeuralNetworksAidlTest: what a device says of itself.
Checks neuralnetworksTest();

}  // namespace halyard::vts
