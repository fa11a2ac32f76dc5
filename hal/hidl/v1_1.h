// SPDX-License-Identifier: Apache-2.0
//
// android.hardware.neuralnetworks@1.1: models may be computed in float16 range, execution
// preferences, nine operations.

#pragma once

#include "hal/hidl/v1_0.h"

namespace halyard::hal::hidl::nn::v1_1 {

driver::Model decode(const Model& wire);

extern const VersionDelta kDelta;

}  // namespace halyard::hal::hidl::nn::v1_1
