// SPDX-License-Identifier: Apache-2.0
//
// IExecution: a request of a prepared model, computed as often as the client likes, one computation
// at a time.

#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "driver/execute/prepared_model.h"
#include "hal/aidl/answers.h"
#include "hal/aidl/kept_memory.h"
#include "hal/aidl/types.h"

namespace halyard::hal::aidl {

class ExecutionObject : public AidlObject {
  public:
    // The request and what it names are kept, and charged to the model's client. INVALID_ARGUMENT
    // as decode(), or where it has not as many arguments as the model; whether each of them fits
    // the model is found out by each computation. RESOURCE_EXHAUSTED: the account has no room, or
    // the client has too many calls in progress.
    static Result<std::shared_ptr<ExecutionObject>> create(
            std::shared_ptr<const driver::PreparedModel> model, const nn::Request& request,
            driver::ExecuteOptions options, const Dialect& dialect);

  protected:
    Status serve(uint32_t code, Call& call) override;

  private:
    ExecutionObject(std::shared_ptr<const driver::PreparedModel> model,
                    driver::ExecuteOptions options, const Dialect& dialect);
    Status executeSynchronously(Call& call);
    Status executeFenced(Call& call);

    const std::shared_ptr<const driver::PreparedModel> mModel;
    const driver::ExecuteOptions mOptions;
    const Dialect mDialect;
    driver::Request mRequest;
    std::vector<KeptMemory> mMemory;
    Reservation mHeld;  // of the object and of the request
    std::atomic<bool> mComputing = false;
    driver::ExecutionResult mResult;  // of the execution in progress
};

}  // namespace halyard::hal::aidl
