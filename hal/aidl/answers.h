// SPDX-License-Identifier: Apache-2.0
//
// How the objects of the service say what went wrong.

#pragma once

#include <string_view>

#include "driver/model/versions.h"
#include "engine/base/status.h"
#include "hal/aidl/aidl_object.h"

namespace halyard::hal::aidl {

// Dialect: what a service speaks: the version of android.hardware.neuralnetworks, and the release
// of Android that its wire is of. All objects that it gives out have them in common.
struct Dialect {
    Release release = Release();
    driver::HalVersion version = driver::kNewestVersion;

    // As interfaces count: AIDL_V1 is 1.
    int32_t number() const {
        return static_cast<int32_t>(version) - static_cast<int32_t>(driver::HalVersion::AIDL_V1) +
               1;
    }
};

// Answers the failure as an exception with the ErrorStatus that it is and the beginning of its
// message, and logs it. `what`: the method.
Status refuse(AidlObject::Call& call, const Status& failure, std::string_view what);

}  // namespace halyard::hal::aidl
