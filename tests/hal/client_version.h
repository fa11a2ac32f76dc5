// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "driver/model/versions.h"
#include "hal/hidl/client/version.h"

namespace halyard::hal::testing {

// How a client speaks to a HIDL service of that version; the oldest for another one.
inline const hidl::ClientVersion& clientOf(driver::HalVersion version) {
    for (const hidl::ClientVersion& client : hidl::clientVersions()) {
        if (client.version == version) {
            return client;
        }
    }
    return hidl::clientVersions().front();
}

}  // namespace halyard::hal::testing
