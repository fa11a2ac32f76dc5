// SPDX-License-Identifier: Apache-2.0

#include "harness/device/ndk/prepared_model.h"

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/base/checkpoint.h"
#include "harness/device/ndk/execution.h"

namespace halyard::ndk {
namespace {

using driver::ExecuteOptions;
using driver::ExecutionResult;

ExecutionResult failed(Status status) {
    ExecutionResult result;
    result.status = std::move(status);
    return result;
}

// Returns once the execution is over, as the library may use what the caller lends.
Result<driver::FencedExecution> computeBehind(const CompiledModel& compiled,
                                              const Execution& execution,
                                              const driver::Fences& waitFor,
                                              const driver::Duration& after) {
    const Library& library = compiled->library();
    std::vector<std::unique_ptr<Owned<ANeuralNetworksEvent>>> owned;
    std::vector<const ANeuralNetworksEvent*> dependencies;
    for (const auto& fence : waitFor) {
        auto& event = owned.emplace_back(std::make_unique<Owned<ANeuralNetworksEvent>>(
                compiled->model->library, library.ANeuralNetworksEvent_free));
        HALYARD_RETURN_IF_ERROR(statusOf(
                library.ANeuralNetworksEvent_createFromSyncFenceFd(fence->get(), event->out()),
                "createFromSyncFenceFd"));
        dependencies.push_back(event->get());
    }
    Owned<ANeuralNetworksEvent> event(compiled->model->library, library.ANeuralNetworksEvent_free);
    HALYARD_RETURN_IF_ERROR(statusOf(
            library.ANeuralNetworksExecution_startComputeWithDependencies(
                    execution.get(), dependencies.data(),
                    static_cast<uint32_t>(dependencies.size()),
                    after.has_value() ? static_cast<uint64_t>(after->count()) : 0, event.out()),
            "startComputeWithDependencies"));
    const Status status = statusOf(library.ANeuralNetworksEvent_wait(event.get()), "wait");
    HALYARD_RETURN_IF_ERROR(status);
    return driver::FencedExecution{.done = nullptr, .info = [result = execution.result(status)] {
                                       return driver::FencedExecution::Info{
                                               .status = result.status,
                                               .launched = result.timing,
                                               .fenced = result.timing};
                                   }};
}

class NdkBurst final : public driver::IBurst {
  public:
    explicit NdkBurst(CompiledModel compiled)
        : mCompiled(std::move(compiled)),
          mObject(mCompiled->model->library, mCompiled->library().ANeuralNetworksBurst_free) {}

    Status open() {
        return statusOf(mCompiled->library().ANeuralNetworksBurst_create(mCompiled->object.get(),
                                                                         mObject.out()),
                        "Burst_create");
    }
    ExecutionResult execute(const driver::Request& request, std::span<const int64_t> /*known*/,
                            const ExecuteOptions& options) override {
        Execution execution(mCompiled);
        if (Status status = execution.prepare(request, options, false); !status.ok()) {
            return failed(std::move(status));
        }
        return execution.result(statusOf(mCompiled->library().ANeuralNetworksExecution_burstCompute(
                                                 execution.get(), mObject.get()),
                                         "burstCompute"));
    }
    // The library knows its memories by their objects.
    Status releaseMemory(int64_t /*identifier*/) override { return {}; }

  private:
    const CompiledModel mCompiled;
    Owned<ANeuralNetworksBurst> mObject;
};

class NdkExecution final : public driver::IExecution {
  public:
    explicit NdkExecution(CompiledModel compiled)
        : mCompiled(compiled), mExecution(std::move(compiled)) {}

    Status open(const driver::Request& request, const ExecuteOptions& options) {
        return mExecution.prepare(request, options, true);
    }
    ExecutionResult execute(const Deadline& deadline) override {
        if (Status status = checkInTime(deadline); !status.ok()) {
            return failed(std::move(status));
        }
        return mExecution.result(
                statusOf(mCompiled->library().ANeuralNetworksExecution_compute(mExecution.get()),
                         "compute"));
    }
    Result<driver::FencedExecution> executeFenced(const driver::Fences& waitFor,
                                                  const Deadline& deadline,
                                                  const driver::Duration& after) override {
        HALYARD_RETURN_IF_ERROR(checkInTime(deadline));
        return computeBehind(mCompiled, mExecution, waitFor, after);
    }

  private:
    // A timeout is set before the first computation, and for all of them: one that ends sooner is
    // met only where it is over already.
    static Status checkInTime(const Deadline& deadline) {
        return Checkpoint(deadline, nullptr).check("before the computation");
    }

    const CompiledModel mCompiled;
    Execution mExecution;
};

class NdkPreparedModel final : public driver::IPreparedModel {
  public:
    explicit NdkPreparedModel(CompiledModel compiled) : mCompiled(std::move(compiled)) {}

    ExecutionResult execute(const driver::Request& request,
                            const ExecuteOptions& options) override {
        Execution execution(mCompiled);
        if (Status status = execution.prepare(request, options, false); !status.ok()) {
            return failed(std::move(status));
        }
        return execution.result(statusOf(
                mCompiled->library().ANeuralNetworksExecution_compute(execution.get()), "compute"));
    }

    // The callback runs before this returns. A support library has no startCompute.
    Status executeAsync(driver::Request request, const ExecuteOptions& options,
                        driver::ExecuteCallback callback) override {
        const Library& library = mCompiled->library();
        Execution execution(mCompiled);
        Status status = execution.prepare(request, options, false);
        Owned<ANeuralNetworksEvent> event(mCompiled->model->library,
                                          library.ANeuralNetworksEvent_free);
        if (status.ok() && library.ANeuralNetworksExecution_startCompute == nullptr) {
            status = statusOf(library.ANeuralNetworksExecution_compute(execution.get()), "compute");
        } else if (status.ok()) {
            status = statusOf(
                    library.ANeuralNetworksExecution_startCompute(execution.get(), event.out()),
                    "startCompute");
            if (status.ok()) {
                status = statusOf(library.ANeuralNetworksEvent_wait(event.get()), "Event_wait");
            }
        }
        const bool isInvalid = status.code() == StatusCode::INVALID_ARGUMENT;
        callback(execution.result(status));
        return isInvalid ? status : Status();
    }

    Result<driver::FencedExecution> executeFenced(const driver::Request& request,
                                                  const ExecuteOptions& options) override {
        Execution execution(mCompiled);
        HALYARD_RETURN_IF_ERROR(execution.prepare(request, options, false));
        return computeBehind(mCompiled, execution, options.waitFor, options.durationAfterFences);
    }

    Result<std::shared_ptr<driver::IBurst>> makeBurst() override {
        auto burst = std::make_shared<NdkBurst>(mCompiled);
        HALYARD_RETURN_IF_ERROR(burst->open());
        return std::shared_ptr<driver::IBurst>(std::move(burst));
    }

    Result<std::shared_ptr<driver::IExecution>> makeExecution(
            const driver::Request& request, const ExecuteOptions& options) override {
        auto execution = std::make_shared<NdkExecution>(mCompiled);
        HALYARD_RETURN_IF_ERROR(execution->open(request, options));
        return std::shared_ptr<driver::IExecution>(std::move(execution));
    }

    std::string report() override { return ""; }

  private:
    const CompiledModel mCompiled;
};

}  // namespace

std::shared_ptr<driver::IPreparedModel> makePreparedModel(CompiledModel compiled) {
    return std::make_shared<NdkPreparedModel>(std::move(compiled));
}

}  // namespace halyard::ndk
