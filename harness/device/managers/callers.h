// SPDX-License-Identifier: Apache-2.0
//
// Who calls a manager, what that may register, and what is told of it.

#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "engine/base/status.h"
#include "hal/binder/object.h"
#include "harness/device/managers/registry.h"

namespace halyard::device {

Owner ownerOf(const hal::Caller& caller);

// root and Android's system, whom init starts the services as that the manifest declares.
bool isOfTheDevice(uid_t uid);

// A name in the log: a client's may be as long as a parcel.
std::string shown(std::string_view name);

// As `manager`: "refused" what, and why. Nothing if it is OK.
void logIfRefused(std::string_view manager, const std::string& what, const Status& status);

}  // namespace halyard::device
