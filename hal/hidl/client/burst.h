// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "driver/device_interface.h"
#include "hal/client/pending.h"
#include "hal/hidl/client/remote_interface.h"

namespace halyard::hal::hidl {

// A burst of the prepared model, with queues and memory of this process, by the contract of 1.2.
// Tokens, deadlines, priorities and limits of loops are not said to bursts.
Result<std::shared_ptr<driver::IBurst>> configureBurst(const RemoteInterface& model,
                                                       std::shared_ptr<Liveness> service);

}  // namespace halyard::hal::hidl
