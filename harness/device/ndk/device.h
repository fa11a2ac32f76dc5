// SPDX-License-Identifier: Apache-2.0
//
// A library of NNAPI's C functions as driver::IDevice: what programs get through it is put to the
// same tests as a driver.

#pragma once

#include <memory>
#include <string>

#include "driver/device/device_interface.h"
#include "engine/base/status.h"

namespace halyard::ndk {

// Where the library lies, and what is asked of it.
struct LibraryAddress {
    std::string path;
    bool isSupportLibrary = false;
    // The device that models are compiled for; empty: those that the library chooses, or of a
    // support library the first.
    std::string device;
};

// UNAVAILABLE: it can't be loaded, or has no such device. Arguments lie where requests have them:
// memory with a descriptor is given by that, other memory by pointer. What the functions can't say
// is UNSUPPORTED: the device's status and files of a cache; capabilities are none.
Result<std::shared_ptr<driver::IDevice>> openLibrary(const LibraryAddress& address);

}  // namespace halyard::ndk
