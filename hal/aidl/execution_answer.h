// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string_view>

#include "driver/execute/prepared_model.h"
#include "hal/aidl/answers.h"
#include "hal/aidl/conversion.h"

namespace halyard::hal::aidl {

// Answers a method whose result is an ExecutionResult. Outputs that were too small are one, too;
// every other failure is an exception.
template <typename Method>
Status answerExecution(AidlObject::Call& call, const driver::ExecutionResult& result,
                       std::string_view what) {
    if (result.status.ok() || result.status.code() == StatusCode::OUTPUT_TOO_SMALL) {
        return call.answer(typename Method::Results{.result = encode(result)});
    }
    return refuse(call, result.status, what);
}

}  // namespace halyard::hal::aidl
