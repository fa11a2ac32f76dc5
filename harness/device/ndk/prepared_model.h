// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "driver/device/device_interface.h"
#include "harness/device/ndk/compiled.h"

namespace halyard::ndk {

// A finished compilation as driver::IPreparedModel. Asynchronous and fenced executions are over
// when a call returns.
std::shared_ptr<driver::IPreparedModel> makePreparedModel(CompiledModel compiled);

}  // namespace halyard::ndk
