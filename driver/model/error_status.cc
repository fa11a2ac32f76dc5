// SPDX-License-Identifier: Apache-2.0

#include "driver/model/error_status.h"

#include <utility>

namespace halyard::driver {

ErrorStatus toErrorStatus(const Status& status, HalVersion version) {
    const bool knowsReasons = version >= HalVersion::V1_3;
    switch (status.code()) {
        case StatusCode::OK:
            return ErrorStatus::NONE;
        case StatusCode::INVALID_ARGUMENT:
            return ErrorStatus::INVALID_ARGUMENT;
        case StatusCode::OUTPUT_TOO_SMALL:
            return ErrorStatus::OUTPUT_INSUFFICIENT_SIZE;
        case StatusCode::UNAVAILABLE:
            return ErrorStatus::DEVICE_UNAVAILABLE;
        case StatusCode::DEADLINE_EXCEEDED:
            if (!knowsReasons) {
                return ErrorStatus::GENERAL_FAILURE;
            }
            return status.persistent() ? ErrorStatus::MISSED_DEADLINE_PERSISTENT
                                       : ErrorStatus::MISSED_DEADLINE_TRANSIENT;
        case StatusCode::RESOURCE_EXHAUSTED:
            if (!knowsReasons) {
                return ErrorStatus::GENERAL_FAILURE;
            }
            return status.persistent() ? ErrorStatus::RESOURCE_EXHAUSTED_PERSISTENT
                                       : ErrorStatus::RESOURCE_EXHAUSTED_TRANSIENT;
        case StatusCode::UNSUPPORTED:
        case StatusCode::INTERNAL:
            return ErrorStatus::GENERAL_FAILURE;
    }
    return ErrorStatus::GENERAL_FAILURE;
}

Status toStatus(ErrorStatus answer, std::string message) {
    switch (answer) {
        case ErrorStatus::NONE:
            return {};
        case ErrorStatus::INVALID_ARGUMENT:
            return invalidArgument(std::move(message));
        case ErrorStatus::OUTPUT_INSUFFICIENT_SIZE:
            return {StatusCode::OUTPUT_TOO_SMALL, std::move(message)};
        case ErrorStatus::DEVICE_UNAVAILABLE:
            return {StatusCode::UNAVAILABLE, std::move(message)};
        case ErrorStatus::MISSED_DEADLINE_TRANSIENT:
            return {StatusCode::DEADLINE_EXCEEDED, std::move(message)};
        case ErrorStatus::MISSED_DEADLINE_PERSISTENT:
            return Status(StatusCode::DEADLINE_EXCEEDED, std::move(message)).asPersistent();
        case ErrorStatus::RESOURCE_EXHAUSTED_TRANSIENT:
            return {StatusCode::RESOURCE_EXHAUSTED, std::move(message)};
        case ErrorStatus::RESOURCE_EXHAUSTED_PERSISTENT:
            return Status(StatusCode::RESOURCE_EXHAUSTED, std::move(message)).asPersistent();
        case ErrorStatus::GENERAL_FAILURE:
            break;
    }
    return internalError(std::move(message));
}

Status deadlineHadPassed() {
    return Status(StatusCode::DEADLINE_EXCEEDED, "the deadline had passed before the start")
            .asPersistent();
}

}  // namespace halyard::driver
