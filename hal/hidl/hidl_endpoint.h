// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string>

#include "hal/service/endpoint.h"

namespace halyard::hal::hidl {

// android.hardware.neuralnetworks@1.3::IDevice and all versions before it, over the binder device
// at `path`, known to its hwservicemanager as `instance`. It stays known, also where the manager
// dies and comes back.
std::unique_ptr<Endpoint> makeEndpoint(std::string path, std::string instance);

}  // namespace halyard::hal::hidl
