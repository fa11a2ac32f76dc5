// SPDX-License-Identifier: Apache-2.0
//
// The callbacks that clients hand in, as the driver calls them. A client whose process has died is
// not missed.

#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "driver/execute/execution_result.h"
#include "driver/model/codes.h"
#include "engine/base/status.h"
#include "hal/binder/object.h"
#include "hal/binder/parcel.h"
#include "hal/binder/process.h"
#include "hal/hidl/layout.h"

namespace halyard::hal::hidl {

// The status as clients of that version see it. A failure is logged; `what` names the call.
driver::ErrorStatus reportStatus(const Status& status, driver::HalVersion version,
                                 std::string_view what);

// Calls a oneway method of `callback`, whose interface is `interface`, with arguments that begin
// with the request's head. A failure is logged, unless the client has died.
void notify(const std::weak_ptr<BinderProcess>& process,
            const std::shared_ptr<RemoteObject>& callback, const InterfaceLayout& interface,
            uint32_t code, const ParcelWriter& arguments);

// Calls IExecutionCallback::notify, notify_1_2 or notify_1_3 of `callback`, as a client that
// executes with a method of `version` expects. The process is not kept alive.
driver::ExecuteCallback executionCallback(std::weak_ptr<BinderProcess> process,
                                          std::shared_ptr<RemoteObject> callback,
                                          driver::HalVersion version);

// The callback among a call's arguments; null where there is none that could be called.
std::shared_ptr<RemoteObject> asCallback(const ObjectRef& object);

}  // namespace halyard::hal::hidl
