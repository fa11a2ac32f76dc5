// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "driver/device/device.h"
#include "hal/binder/object.h"
#include "hal/binder/process.h"

namespace halyard::hal::hidl {

// Calls IPreparedModelCallback::notify, notify_1_2 or notify_1_3 of `callback`, as a client that
// prepared with a method of `version` expects, with an IPreparedModel for the model. The process
// is not kept alive.
driver::PrepareCallback preparedModelCallback(std::weak_ptr<BinderProcess> process,
                                              std::shared_ptr<RemoteObject> callback,
                                              driver::HalVersion version);

}  // namespace halyard::hal::hidl
