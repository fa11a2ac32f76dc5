// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/version_delta.h"

#include "hal/hidl/v1_0.h"
#include "hal/hidl/v1_1.h"
#include "hal/hidl/v1_2.h"
#include "hal/hidl/v1_3.h"

namespace halyard::hal::hidl {

const VersionDelta& versionDelta(driver::HalVersion version) {
    switch (version) {
        case driver::HalVersion::V1_0:
            return nn::v1_0::kDelta;
        case driver::HalVersion::V1_1:
            return nn::v1_1::kDelta;
        case driver::HalVersion::V1_2:
            return nn::v1_2::kDelta;
        case driver::HalVersion::V1_3:
        // HIDL ends with 1.3: no object of it is given another.
        case driver::HalVersion::AIDL_V1:
        case driver::HalVersion::AIDL_V2:
        case driver::HalVersion::AIDL_V3:
        case driver::HalVersion::AIDL_V4:
            break;
    }
    return nn::v1_3::kDelta;
}

}  // namespace halyard::hal::hidl
