// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "hal/service/registration.h"

namespace halyard::hal::hidl {

// The name of `service` with hwservicemanager, for every interface of `chain` (leaf first), of
// which there is at least one.
std::unique_ptr<ServiceName> serviceName(const std::shared_ptr<BinderProcess>& process,
                                         std::string_view instance,
                                         std::shared_ptr<LocalObject> service,
                                         std::span<const std::string_view> chain);

}  // namespace halyard::hal::hidl
