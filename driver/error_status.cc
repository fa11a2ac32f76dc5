// SPDX-License-Identifier: Apache-2.0

#include "driver/error_status.h"

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
        // Transient, both of them: the next try may find a later deadline or more memory.
        case StatusCode::DEADLINE_EXCEEDED:
            return knowsReasons ? ErrorStatus::MISSED_DEADLINE_TRANSIENT
                                : ErrorStatus::GENERAL_FAILURE;
        case StatusCode::RESOURCE_EXHAUSTED:
            return knowsReasons ? ErrorStatus::RESOURCE_EXHAUSTED_TRANSIENT
                                : ErrorStatus::GENERAL_FAILURE;
        case StatusCode::UNSUPPORTED:
        case StatusCode::INTERNAL:
            return ErrorStatus::GENERAL_FAILURE;
    }
    return ErrorStatus::GENERAL_FAILURE;
}

}  // namespace halyard::driver
