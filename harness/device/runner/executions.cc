// SPDX-License-Identifier: Apache-2.0

#include "harness/device/runner/executions.h"

#include <future>
#include <numeric>
#include <utility>

namespace halyard::runner {

Result<Executions> Executions::create(driver::IPreparedModel& model, const driver::Request& request,
                                      const ExecuteSettings& settings) {
    Executions executions(model, request);
    executions.mMode = settings.mode;
    executions.mOptions.measureTiming = settings.measureTiming;
    executions.mOptions.trace = settings.trace;
    if (settings.mode == pb::EXECUTION_MODE_BURST) {
        HALYARD_ASSIGN_OR_RETURN(executions.mBurst, model.makeBurst());
        executions.mPools.resize(request.pools.size());
        std::iota(executions.mPools.begin(), executions.mPools.end(), int64_t{1});
    } else if (settings.mode == pb::EXECUTION_MODE_REUSABLE) {
        HALYARD_ASSIGN_OR_RETURN(executions.mReusable,
                                 model.makeExecution(request, executions.mOptions));
    }
    return executions;
}

driver::ExecutionResult Executions::run() {
    if (mBurst != nullptr) {
        return mBurst->execute(*mRequest, mPools, mOptions);
    }
    if (mReusable != nullptr) {
        return mReusable->execute({});
    }
    return mMode == pb::EXECUTION_MODE_SYNC ? mModel->execute(*mRequest, mOptions)
                                            : runAsynchronously();
}

driver::ExecutionResult Executions::runAsynchronously() {
    std::promise<driver::ExecutionResult> done;
    // A failed launch is reported by the callback too.
    static_cast<void>(mModel->executeAsync(
            *mRequest, mOptions,
            [&done](const driver::ExecutionResult& executed) { done.set_value(executed); }));
    return done.get_future().get();
}

}  // namespace halyard::runner
