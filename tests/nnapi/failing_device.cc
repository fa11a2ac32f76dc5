// SPDX-License-Identifier: Apache-2.0

#include "tests/nnapi/failing_device.h"

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "driver/device/device.h"
#include "driver/device/local_device.h"

namespace halyard::nnapi_test {
namespace {

using driver::ExecuteOptions;
using driver::ExecutionResult;

ExecutionResult failed(Status status) {
    ExecutionResult result;
    result.status = std::move(status);
    return result;
}

// As a fault has it before the call is made.
template <typename Call>
ExecutionResult unlessFailed(Faults& faults, const Call& call) {
    Status status = faults.next();
    return status.ok() ? call() : failed(std::move(status));
}

class FailingBurst final : public driver::IBurst {
  public:
    FailingBurst(std::shared_ptr<driver::IBurst> burst, std::shared_ptr<Faults> faults)
        : mBurst(std::move(burst)), mFaults(std::move(faults)) {}

    ExecutionResult execute(const driver::Request& request, std::span<const int64_t> identifiers,
                            const ExecuteOptions& options) override {
        return unlessFailed(*mFaults,
                            [&] { return mBurst->execute(request, identifiers, options); });
    }
    Status releaseMemory(int64_t identifier) override { return mBurst->releaseMemory(identifier); }

  private:
    const std::shared_ptr<driver::IBurst> mBurst;
    const std::shared_ptr<Faults> mFaults;
};

class FailingExecution final : public driver::IExecution {
  public:
    FailingExecution(std::shared_ptr<driver::IExecution> execution, std::shared_ptr<Faults> faults)
        : mExecution(std::move(execution)), mFaults(std::move(faults)) {}

    ExecutionResult execute(const Deadline& deadline) override {
        return unlessFailed(*mFaults, [&] { return mExecution->execute(deadline); });
    }
    Result<driver::FencedExecution> executeFenced(const driver::Fences& waitFor,
                                                  const Deadline& deadline,
                                                  const driver::Duration& after) override {
        HALYARD_RETURN_IF_ERROR(mFaults->next());
        return mExecution->executeFenced(waitFor, deadline, after);
    }

  private:
    const std::shared_ptr<driver::IExecution> mExecution;
    const std::shared_ptr<Faults> mFaults;
};

class FailingModel final : public driver::IPreparedModel {
  public:
    FailingModel(std::shared_ptr<driver::IPreparedModel> model, std::shared_ptr<Faults> faults)
        : mModel(std::move(model)), mFaults(std::move(faults)) {}

    ExecutionResult execute(const driver::Request& request,
                            const ExecuteOptions& options) override {
        mFaults->look(request);
        return unlessFailed(*mFaults, [&] { return mModel->execute(request, options); });
    }
    Status executeAsync(driver::Request request, const ExecuteOptions& options,
                        driver::ExecuteCallback callback) override {
        HALYARD_RETURN_IF_ERROR(mFaults->next());
        return mModel->executeAsync(std::move(request), options, std::move(callback));
    }
    Result<driver::FencedExecution> executeFenced(const driver::Request& request,
                                                  const ExecuteOptions& options) override {
        HALYARD_RETURN_IF_ERROR(mFaults->next());
        return mModel->executeFenced(request, options);
    }
    Result<std::shared_ptr<driver::IBurst>> makeBurst() override {
        HALYARD_RETURN_IF_ERROR(mFaults->next());
        HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<driver::IBurst> burst, mModel->makeBurst());
        return std::shared_ptr<driver::IBurst>(
                std::make_shared<FailingBurst>(std::move(burst), mFaults));
    }
    Result<std::shared_ptr<driver::IExecution>> makeExecution(
            const driver::Request& request, const ExecuteOptions& options) override {
        mFaults->look(request);
        HALYARD_RETURN_IF_ERROR(mFaults->next());
        HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<driver::IExecution> execution,
                                 mModel->makeExecution(request, options));
        return std::shared_ptr<driver::IExecution>(
                std::make_shared<FailingExecution>(std::move(execution), mFaults));
    }
    std::string report() override { return mModel->report(); }
    const void* as(const void* kind) const override { return mModel->as(kind); }

  private:
    const std::shared_ptr<driver::IPreparedModel> mModel;
    const std::shared_ptr<Faults> mFaults;
};

class FailingDevice final : public driver::IDevice {
  public:
    FailingDevice(std::shared_ptr<driver::IDevice> device, std::shared_ptr<Faults> faults)
        : mDevice(std::move(device)), mFaults(std::move(faults)) {}

    driver::HalVersion version() const override {
        return mFaults->version.value_or(mDevice->version());
    }
    Result<std::string> versionString() override { return mDevice->versionString(); }
    Result<driver::DeviceStatus> status() override { return mDevice->status(); }
    Result<driver::DeviceType> type() override { return mDevice->type(); }
    Result<driver::Capabilities> capabilities() override {
        HALYARD_ASSIGN_OR_RETURN(driver::Capabilities told, mDevice->capabilities());
        if (mFaults->performance.has_value()) {
            told.relaxedFloat32toFloat16PerformanceScalar = *mFaults->performance;
            told.relaxedFloat32toFloat16PerformanceTensor = *mFaults->performance;
            told.ifPerformance = *mFaults->performance;
            told.whilePerformance = *mFaults->performance;
            for (driver::OperandPerformance& each : told.operandPerformance) {
                each.info = *mFaults->performance;
            }
        }
        return told;
    }
    Result<std::vector<driver::Extension>> extensions() override { return mDevice->extensions(); }
    Result<driver::NumberOfCacheFiles> numberOfCacheFiles() override {
        return mDevice->numberOfCacheFiles();
    }
    Result<std::vector<bool>> supportedOperations(const driver::Model& model) override {
        HALYARD_RETURN_IF_ERROR(mFaults->next());
        if (mFaults->asked != nullptr) {
            mFaults->asked(model);
        }
        HALYARD_ASSIGN_OR_RETURN(std::vector<bool> supported, mDevice->supportedOperations(model));
        for (size_t i = 0; i < supported.size() && mFaults->takes != nullptr; ++i) {
            supported[i] = supported[i] && mFaults->takes(i);
        }
        return supported;
    }
    Result<std::shared_ptr<driver::IPreparedModel>> prepare(
            const driver::Model& model, const driver::PrepareOptions& options) override {
        HALYARD_RETURN_IF_ERROR(mFaults->next());
        ++mFaults->prepared;
        return wrapped(mDevice->prepare(model, options));
    }
    Status prepareAsync(driver::Model model, const driver::PrepareOptions& options,
                        driver::PreparedCallback callback) override {
        HALYARD_RETURN_IF_ERROR(mFaults->next());
        return mDevice->prepareAsync(std::move(model), options, std::move(callback));
    }
    Result<std::shared_ptr<driver::IPreparedModel>> prepareFromCache(
            const driver::PrepareOptions& options) override {
        HALYARD_RETURN_IF_ERROR(mFaults->next());
        return wrapped(mDevice->prepareFromCache(options));
    }
    Status prepareFromCacheAsync(const driver::PrepareOptions& options,
                                 driver::PreparedCallback callback) override {
        HALYARD_RETURN_IF_ERROR(mFaults->next());
        return mDevice->prepareFromCacheAsync(options, std::move(callback));
    }
    Result<std::shared_ptr<driver::IBuffer>> allocate(
            const driver::BufferDescription& description) override {
        HALYARD_RETURN_IF_ERROR(mFaults->next());
        return mDevice->allocate(description);
    }
    Status ping() override { return mDevice->ping(); }
    Result<std::string> report() override { return mDevice->report(); }

  private:
    Result<std::shared_ptr<driver::IPreparedModel>> wrapped(
            Result<std::shared_ptr<driver::IPreparedModel>> prepared) const {
        HALYARD_RETURN_IF_ERROR(prepared.status());
        return std::shared_ptr<driver::IPreparedModel>(
                std::make_shared<FailingModel>(*std::move(prepared), mFaults));
    }

    const std::shared_ptr<driver::IDevice> mDevice;
    const std::shared_ptr<Faults> mFaults;
};

}  // namespace

std::shared_ptr<driver::IDevice> makeFailingDevice(std::shared_ptr<driver::IDevice> device,
                                                   std::shared_ptr<Faults> faults) {
    return std::make_shared<FailingDevice>(std::move(device), std::move(faults));
}

std::shared_ptr<driver::IDevice> localDevice(std::string_view backend) {
    driver::Options options;
    options.backends = {std::string(backend)};
    options.threads = 1;
    Result<std::unique_ptr<driver::Device>> device = driver::Device::create(std::move(options));
    EXPECT_TRUE(device.ok()) << device.status().toString();
    return makeLocalDevice(std::shared_ptr<const driver::Device>(*std::move(device)),
                           driver::kNewestVersion);
}

std::unique_ptr<ANeuralNetworksDevice> runtimeDevice(std::string name,
                                                     nnapi::RuntimeDevice::Place place,
                                                     std::shared_ptr<driver::IDevice> device) {
    Result<std::unique_ptr<ANeuralNetworksDevice>> made = nnapi::RuntimeDevice::of(
            std::move(name), place, std::move(device), driver::kNewestVersion);
    EXPECT_TRUE(made.ok()) << made.status().toString();
    return *std::move(made);
}

}  // namespace halyard::nnapi_test
