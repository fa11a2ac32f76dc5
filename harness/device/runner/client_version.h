// SPDX-License-Identifier: Apache-2.0
//
// The table of HAL versions as a client sees them: interfaces and methods. What the parcels hold is
// in hal/hidl's table.

#pragma once

#include <cstdint>
#include <span>

#include "driver/model/versions.h"
#include "hal/hidl/layout.h"

namespace halyard::runner {

struct ClientVersion {
    driver::HalVersion version;
    const hal::hidl::InterfaceLayout& (*device)();
    const hal::hidl::InterfaceLayout& (*preparedModel)();
    const hal::hidl::InterfaceLayout& (*preparedModelCallback)();
    const hal::hidl::InterfaceLayout& (*executionCallback)();
    uint32_t getCapabilities;
    uint32_t getSupportedOperations;
    uint32_t prepareModel;
    uint32_t execute;
    uint32_t executeSynchronously;  // 0: none
};

// Newest first.
std::span<const ClientVersion> clientVersions();

}  // namespace halyard::runner
