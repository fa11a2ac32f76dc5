// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string>

#include "hal/aidl/release.h"
#include "hal/service/registration.h"

namespace halyard::hal::aidl {

// The name of `service` with servicemanager: "package.IInterface/instance".
std::unique_ptr<ServiceName> serviceName(const std::shared_ptr<BinderProcess>& process,
                                         std::string name, std::shared_ptr<LocalObject> service,
                                         const Release& release);

}  // namespace halyard::hal::aidl
