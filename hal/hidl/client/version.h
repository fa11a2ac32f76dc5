// SPDX-License-Identifier: Apache-2.0
//
// The table of HAL versions as a client sees them: interfaces and methods. What the parcels hold is
// in hal/hidl's table.

#pragma once

#include <cstdint>
#include <span>

#include "driver/model/versions.h"
#include "hal/hidl/layout.h"

namespace halyard::hal::hidl {

struct ClientVersion {
    driver::HalVersion version;
    const InterfaceLayout& (*device)();
    const InterfaceLayout& (*preparedModel)();
    const InterfaceLayout& (*preparedModelCallback)();
    const InterfaceLayout& (*executionCallback)();
    uint32_t getCapabilities;
    uint32_t getSupportedOperations;
    uint32_t prepareModel;
    uint32_t prepareModelFromCache;  // 0: none
    uint32_t execute;
    uint32_t executeSynchronously;  // 0: none
};

// Newest first.
std::span<const ClientVersion> clientVersions();

}  // namespace halyard::hal::hidl
