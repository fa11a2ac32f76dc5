// SPDX-License-Identifier: Apache-2.0
//
// Executions that wait for fences, as IPreparedModel and IExecution have them. They are over when
// the call returns, and no fence comes back, as the contract allows.

#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "driver/execute/prepared_model.h"
#include "hal/aidl/answers.h"
#include "hal/aidl/parcel.h"
#include "hal/aidl/types.h"

namespace halyard::hal::aidl {

// The options of such an execution, with its own duplicates of the fences. INVALID_ARGUMENT names
// what is wrong.
Result<driver::ExecuteOptions> fencedOptions(const Result<driver::ExecuteOptions>& options,
                                             std::span<const BorrowedDescriptor> waitFor,
                                             int64_t duration, const Caller& caller);

// The answer of a method, once the execution is over.
Result<nn::FencedExecutionResult> executeFenced(const driver::PreparedModel& model,
                                                const driver::Request& request,
                                                const Result<driver::ExecuteOptions>& options,
                                                const Dialect& dialect);

template <typename Method>
Status answerFenced(AidlObject::Call& call, Result<nn::FencedExecutionResult> result) {
    return result.ok() ? call.answer(typename Method::Results{.result = *std::move(result)})
                       : refuse(call, result.status(), Method::kName);
}

}  // namespace halyard::hal::aidl
