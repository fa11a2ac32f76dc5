// SPDX-License-Identifier: Apache-2.0
//
// The callback that clients hand in, as the driver calls it. A client whose process has died is not
// missed.

#pragma once

#include <memory>

#include "driver/device/device.h"
#include "hal/aidl/answers.h"
#include "hal/binder/object.h"
#include "hal/binder/process.h"

namespace halyard::hal::aidl {

// Calls IPreparedModelCallback::notify of `callback` with an IPreparedModel for the model. The
// process is not kept alive.
//
// The method is synchronous, but it is called as a oneway one: a client that takes its time over it
// then delays no other, and no answer is expected. The callee can't tell: the kernel alone keeps
// replies to oneway calls from going back.
driver::PrepareCallback preparedModelCallback(std::weak_ptr<BinderProcess> process,
                                              std::shared_ptr<RemoteObject> callback,
                                              const Dialect& dialect);

// The callback among a call's arguments; null where there is none that could be called.
std::shared_ptr<RemoteObject> asCallback(const ObjectRef& object);

}  // namespace halyard::hal::aidl
