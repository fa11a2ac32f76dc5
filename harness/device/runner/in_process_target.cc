// SPDX-License-Identifier: Apache-2.0

#include "harness/device/runner/in_process_target.h"

#include <unistd.h>

#include <future>
#include <set>
#include <span>
#include <utility>

#include "driver/device.h"
#include "driver/error_status.h"
#include "driver/execute/prepared_model.h"
#include "engine/plan/profile.h"
#include "harness/device/runner/process_memory.h"

namespace halyard::runner {

namespace {

Outcome outcomeOf(const Status& status, driver::HalVersion version) {
    return {.status = toErrorStatus(status, version),
            .message = status.ok() ? std::string() : status.toString()};
}

class InProcessModel : public PreparedTarget {
  public:
    InProcessModel(std::shared_ptr<driver::PreparedModel> model, driver::HalVersion version)
        : mModel(std::move(model)), mVersion(version) {}

    Answer<Execution> execute(const TargetRequest& request,
                              const ExecuteSettings& settings) override {
        return execute(request, settings, nullptr);
    }

    Answer<std::vector<ProfiledNode>> profile(const TargetRequest& request,
                                              const ExecuteSettings& settings,
                                              uint32_t runs) override {
        engine::Profile profile(mModel->program().shared_from_this());
        for (uint32_t run = 0; run < runs; ++run) {
            Answer<Execution> answer = execute(request, settings, &profile);
            if (!answer.outcome.ok()) {
                return {.outcome = std::move(answer.outcome)};
            }
            profile.endRun();
        }
        return {.outcome = {}, .value = namedNodes(profile)};
    }

    void startAndForget(const TargetRequest& request) override {
        static_cast<void>(mModel->executeAsync(request.request, mVersion, {},
                                               [](const driver::ExecutionResult&) {}));
    }

    std::string report() override { return mModel->report(); }

  private:
    Answer<Execution> execute(const TargetRequest& request, const ExecuteSettings& settings,
                              engine::TraceSink* trace) {
        driver::ExecuteOptions options;
        options.measureTiming = settings.measureTiming;
        options.trace = trace;
        driver::ExecutionResult result;
        if (settings.synchronous) {
            mModel->execute(request.request, mVersion, options, result);
        } else {
            std::promise<driver::ExecutionResult> done;
            // A failed launch is reported by the callback too.
            static_cast<void>(
                    mModel->executeAsync(request.request, mVersion, options,
                                         [&done](const driver::ExecutionResult& executed) {
                                             done.set_value(executed);
                                         }));
            result = done.get_future().get();
        }
        return {.outcome = outcomeOf(result.status, mVersion),
                .value = {.outputShapes = std::move(result.outputShapes), .timing = result.timing}};
    }

    std::vector<ProfiledNode> namedNodes(const engine::Profile& profile) const {
        const std::span<const engine::NodePlacement> placement = mModel->program().placement();
        std::vector<ProfiledNode> named;
        for (const engine::NodeProfile& node : profile.nodes()) {
            const engine::NodePlacement& first = placement[node.placement.front()];
            ProfiledNode& entry = named.emplace_back();
            entry = {
                    .operations = {},
                    .label = first.label,
                    .kind = first.kind,
                    .type = std::string(engine::toString(node.type)),
                    .backend = first.backend,
                    .kernel = std::string(node.kernel),
                    .piece = first.piece,
                    .nodes = node.placement.size(),
                    .medianNanoseconds = static_cast<uint64_t>(node.medianTime.count()),
                    .medianDeviceNanoseconds = static_cast<uint64_t>(node.medianDeviceTime.count()),
                    .bytes = node.bytes,
                    .multiplyAdds = node.multiplyAdds};
            std::set<uint32_t> operations;
            for (const size_t index : node.placement) {
                operations.insert(placement[index].sources.begin(), placement[index].sources.end());
            }
            entry.operations.assign(operations.begin(), operations.end());
        }
        for (const engine::CopyProfile& copy : profile.copies()) {
            ProfiledNode& entry = named.emplace_back();
            entry.label = "copies " + std::string(copy.name);
            entry.kind = "Copy";
            entry.backend = engine::kPlannerName;
            entry.kernel = copy.name;
            entry.nodes = copy.count;
            entry.medianNanoseconds = static_cast<uint64_t>(copy.medianTime.count());
            entry.bytes = copy.bytes;
        }
        return named;
    }

    const std::shared_ptr<driver::PreparedModel> mModel;
    const driver::HalVersion mVersion;
};

class InProcessTarget : public Target {
  public:
    InProcessTarget(std::unique_ptr<driver::Device> device, driver::HalVersion version)
        : mDevice(std::move(device)), mVersion(version) {}

    driver::HalVersion version() const override { return mVersion; }
    std::string versionString() override { return std::string(mDevice->versionString()); }

    Answer<std::vector<bool>> supportedOperations(const TargetModel& model) override {
        Result<std::vector<bool>> supported = mDevice->supportedOperations(model.model, mVersion);
        return {.outcome = outcomeOf(supported.status(), mVersion),
                .value = supported.ok() ? std::move(supported).value() : std::vector<bool>()};
    }

    Answer<std::unique_ptr<PreparedTarget>> prepare(const TargetModel& model,
                                                    const PrepareSettings& settings) override {
        std::shared_ptr<driver::Client> client;  // null: this process's
        if (settings.process != 0) {
            Result<std::shared_ptr<driver::Client>> account =
                    mDevice->client({.pid = settings.process, .uid = getuid()});
            if (!account.ok()) {
                return {.outcome = outcomeOf(account.status(), mVersion), .value = nullptr};
            }
            client = std::move(*account);
        }
        Result<std::shared_ptr<driver::PreparedModel>> prepared =
                mDevice->prepare(model.model, mVersion,
                                 {.preference = settings.preference,
                                  .priority = settings.priority,
                                  .deadline = {},
                                  .client = std::move(client)});
        if (!prepared.ok()) {
            return {.outcome = outcomeOf(prepared.status(), mVersion), .value = nullptr};
        }
        return {.outcome = {},
                .value = std::make_unique<InProcessModel>(std::move(prepared).value(), mVersion)};
    }

    bool isAlive() override { return true; }
    uint64_t peakRssBytes() override { return runner::peakRssBytes(getpid()); }

  private:
    const std::unique_ptr<driver::Device> mDevice;
    const driver::HalVersion mVersion;
};

}  // namespace

Result<std::unique_ptr<Target>> makeInProcessTarget(const driver::Options& options,
                                                    MakeDevice* makeDevice,
                                                    driver::HalVersion version) {
    HALYARD_ASSIGN_OR_RETURN(
            std::unique_ptr<driver::Device> device,
            makeDevice == nullptr ? driver::Device::create(options) : makeDevice(options));
    return std::unique_ptr<Target>(std::make_unique<InProcessTarget>(std::move(device), version));
}

}  // namespace halyard::runner
