// SPDX-License-Identifier: Apache-2.0
//
// The callbacks that clients hand in, as the driver calls them. A client whose process has died is
// not missed.

#pragma once

#include <memory>
#include <string_view>

#include "driver/device/device.h"
#include "driver/execute/prepared_model.h"
#include "engine/base/status.h"
#include "hal/binder/object.h"
#include "hal/binder/process.h"

namespace halyard::hal::hidl {

// The status as clients of that version see it. A failure is logged; `what` names the call.
driver::ErrorStatus reportStatus(const Status& status, driver::HalVersion version,
                                 std::string_view what);

// Calls IPreparedModelCallback::notify, notify_1_2 or notify_1_3 of `callback`, as a client that
// prepared with a method of `version` expects, with an IPreparedModel for the model. The process
// is not kept alive.
driver::PrepareCallback preparedModelCallback(std::weak_ptr<BinderProcess> process,
                                              std::shared_ptr<RemoteObject> callback,
                                              driver::HalVersion version);

// The same for IExecutionCallback.
driver::ExecuteCallback executionCallback(std::weak_ptr<BinderProcess> process,
                                          std::shared_ptr<RemoteObject> callback,
                                          driver::HalVersion version);

// The callback among a call's arguments; null where there is none that could be called.
std::shared_ptr<RemoteObject> asCallback(const ObjectRef& object);

}  // namespace halyard::hal::hidl
