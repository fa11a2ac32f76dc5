// SPDX-License-Identifier: Apache-2.0

#include "hal/client/answers.h"

#include <string>

#include "driver/model/error_status.h"

namespace halyard::hal {

Status serviceDied(std::string_view method) {
    return {StatusCode::UNAVAILABLE, std::string(method) + ": the service died"};
}

Status callFailed(std::string_view method, const Status& status) {
    return status.code() == StatusCode::UNAVAILABLE
                   ? serviceDied(method)
                   : internalError(std::string(method) + ": " + status.toString());
}

Status answered(std::string_view method, driver::ErrorStatus answer) {
    if (answer == driver::ErrorStatus::NONE) {
        return {};
    }
    const std::string_view name = driver::nameOf(answer);
    return driver::toStatus(answer,
                            std::string(method) + ": the service answers " +
                                    (name.empty() ? std::to_string(static_cast<int32_t>(answer))
                                                  : std::string(name)));
}

}  // namespace halyard::hal
