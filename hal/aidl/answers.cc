// SPDX-License-Identifier: Apache-2.0

#include "hal/aidl/answers.h"

#include <string>

#include "driver/error_status.h"
#include "engine/base/log.h"

namespace halyard::hal::aidl {

Status refuse(AidlObject::Call& call, const Status& failure, std::string_view what) {
    log(LogLevel::WARNING, std::string(what) + ": " + failure.toString());
    // All of AIDL's versions know the same ones.
    const driver::ErrorStatus answer = driver::toErrorStatus(failure, driver::HalVersion::AIDL_V1);
    return call.raise({.code = Exception::kServiceSpecific,
                       .message = std::string(failure.message()),
                       .serviceSpecific = static_cast<int32_t>(answer)});
}

}  // namespace halyard::hal::aidl
