// SPDX-License-Identifier: Apache-2.0

#include "nnapi/answer.h"

#include "engine/base/log.h"

namespace halyard::nnapi {

Answer Answer::withContext(std::string_view context) const {
    return ok() ? *this : Answer(mCode, std::string(context) + ": " + mReason);
}

Answer unexpectedNull(std::string_view name) {
    return {ANEURALNETWORKS_UNEXPECTED_NULL, std::string(name) + " is null"};
}

Answer badState(std::string reason) {
    return {ANEURALNETWORKS_BAD_STATE, std::move(reason)};
}

Answer badData(std::string reason) {
    return {ANEURALNETWORKS_BAD_DATA, std::move(reason)};
}

Answer answerOf(const Status& status, driver::IDevice* device) {
    const auto with = [&](int code) { return Answer(code, std::string(status.message())); };
    switch (status.code()) {
        case StatusCode::OK:
            return {};
        case StatusCode::INVALID_ARGUMENT:
            return with(ANEURALNETWORKS_BAD_DATA);
        case StatusCode::OUTPUT_TOO_SMALL:
            return with(ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE);
        case StatusCode::DEADLINE_EXCEEDED:
            return with(status.persistent() ? ANEURALNETWORKS_MISSED_DEADLINE_PERSISTENT
                                            : ANEURALNETWORKS_MISSED_DEADLINE_TRANSIENT);
        case StatusCode::RESOURCE_EXHAUSTED:
            return with(status.persistent() ? ANEURALNETWORKS_RESOURCE_EXHAUSTED_PERSISTENT
                                            : ANEURALNETWORKS_RESOURCE_EXHAUSTED_TRANSIENT);
        case StatusCode::UNAVAILABLE:
            return with(device != nullptr && !device->ping().ok()
                                ? ANEURALNETWORKS_DEAD_OBJECT
                                : ANEURALNETWORKS_UNAVAILABLE_DEVICE);
        case StatusCode::UNSUPPORTED:
        case StatusCode::INTERNAL:
            break;
    }
    return with(ANEURALNETWORKS_OP_FAILED);
}

int conclude(std::string_view function, const Answer& answer) {
    if (!answer.ok()) {
        log(LogLevel::ERROR, std::string(function) + ": " + answer.reason());
    }
    return answer.code();
}

}  // namespace halyard::nnapi
