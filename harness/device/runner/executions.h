// SPDX-License-Identifier: Apache-2.0
//
// Executions of one request, one after the other, in each of the ways that NNAPI has.

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "driver/device/device_interface.h"
#include "engine/base/status.h"
#include "harness/device/cases/messages.h"

namespace halyard::runner {

struct ExecuteSettings {
    pb::ExecutionMode mode = pb::EXECUTION_MODE_ASYNC;
    bool measureTiming = false;
    engine::TraceSink* trace = nullptr;
};

// Not thread-safe. The model and the request outlive it.
class Executions {
  public:
    // A burst or a reusable execution, where the mode needs one for all of them, is made here.
    // UNSUPPORTED where the model's version has no such way.
    static Result<Executions> create(driver::IPreparedModel& model, const driver::Request& request,
                                     const ExecuteSettings& settings);

    // Returns once it is over.
    driver::ExecutionResult run();

  private:
    Executions(driver::IPreparedModel& model, const driver::Request& request)
        : mModel(&model), mRequest(&request) {}

    driver::ExecutionResult runAsynchronously();

    driver::IPreparedModel* mModel;
    const driver::Request* mRequest;
    pb::ExecutionMode mMode = pb::EXECUTION_MODE_ASYNC;
    driver::ExecuteOptions mOptions;
    std::shared_ptr<driver::IBurst> mBurst;
    std::vector<int64_t> mPools;  // by which the burst knows the request's
    std::shared_ptr<driver::IExecution> mReusable;
};

}  // namespace halyard::runner
