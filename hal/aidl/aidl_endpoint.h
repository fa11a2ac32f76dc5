// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string>

#include "hal/service/endpoint.h"

namespace halyard::hal::aidl {

// android.hardware.neuralnetworks.IDevice, of the newest version, over the binder device at `path`,
// known to its servicemanager as `instance`, which the VINTF manifest has to declare. It stays
// known, also where the manager dies and comes back.
std::unique_ptr<Endpoint> makeEndpoint(std::string path, std::string instance);

}  // namespace halyard::hal::aidl
