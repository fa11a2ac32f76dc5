// SPDX-License-Identifier: Apache-2.0

#include "driver/local_device.h"

#include <utility>

namespace halyard::driver {
namespace {

class LocalPreparedModel : public IPreparedModel {
  public:
    LocalPreparedModel(std::shared_ptr<PreparedModel> model, HalVersion version)
        : mModel(std::move(model)), mVersion(version) {}

    ExecutionResult execute(const Request& request, const ExecuteOptions& options) override {
        return mModel->execute(request, mVersion, options);
    }

    Status executeAsync(Request request, const ExecuteOptions& options,
                        ExecuteCallback callback) override {
        return mModel->executeAsync(std::move(request), mVersion, options, std::move(callback));
    }

    Result<FencedExecution> executeFenced(const Request& request,
                                          const ExecuteOptions& /*options*/) override {
        HALYARD_RETURN_IF_ERROR(mModel->validateFenced(request, mVersion));
        return unsupported("executeFenced: the driver has no fences");
    }

    Result<std::shared_ptr<IBurst>> makeBurst() override {
        return unsupported("makeBurst: the driver has no bursts");
    }

    std::string report() override { return mModel->report(); }
    const engine::Program* program() const override { return &mModel->program(); }

  private:
    const std::shared_ptr<PreparedModel> mModel;
    const HalVersion mVersion;
};

class LocalDevice : public IDevice {
  public:
    LocalDevice(std::shared_ptr<const Device> device, HalVersion version)
        : mDevice(std::move(device)), mVersion(version) {}

    HalVersion version() const override { return mVersion; }
    Result<std::string> versionString() override { return std::string(mDevice->versionString()); }
    Result<DeviceType> type() override { return mDevice->type(); }
    Result<Capabilities> capabilities() override { return mDevice->capabilities(); }

    Result<std::vector<bool>> supportedOperations(const Model& model) override {
        return mDevice->supportedOperations(model, mVersion);
    }

    Result<std::shared_ptr<IPreparedModel>> prepare(const Model& model,
                                                    const PrepareOptions& options) override {
        HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<PreparedModel> prepared,
                                 mDevice->prepare(model, mVersion, options));
        return asInterface(std::move(prepared));
    }

    Status prepareAsync(Model model, const PrepareOptions& options,
                        PreparedCallback callback) override {
        return mDevice->prepareAsync(std::move(model), mVersion, options,
                                     asInterface(std::move(callback)));
    }

    Result<NumberOfCacheFiles> numberOfCacheFiles() override {
        return mDevice->numberOfCacheFiles();
    }

    Result<std::shared_ptr<IPreparedModel>> prepareFromCache(
            const PrepareOptions& options) override {
        HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<PreparedModel> prepared,
                                 mDevice->prepareFromCache(options));
        return asInterface(std::move(prepared));
    }

    Status prepareFromCacheAsync(const PrepareOptions& options,
                                 PreparedCallback callback) override {
        return mDevice->prepareFromCacheAsync(options, asInterface(std::move(callback)));
    }

    Result<std::shared_ptr<IBuffer>> allocate(const BufferDescription& /*description*/) override {
        return unsupported("allocate: the driver has no memory of its own");
    }

    Status ping() override { return {}; }
    Result<std::string> report() override { return mDevice->report(); }

  private:
    std::shared_ptr<IPreparedModel> asInterface(std::shared_ptr<PreparedModel> prepared) const {
        return std::make_shared<LocalPreparedModel>(std::move(prepared), mVersion);
    }

    PrepareCallback asInterface(PreparedCallback callback) const {
        if (callback == nullptr) {
            return nullptr;
        }
        return [callback = std::move(callback), version = mVersion](
                       const Status& status, std::shared_ptr<PreparedModel> prepared) {
            callback(status, prepared == nullptr ? nullptr
                                                 : std::make_shared<LocalPreparedModel>(
                                                           std::move(prepared), version));
        };
    }

    const std::shared_ptr<const Device> mDevice;
    const HalVersion mVersion;
};

}  // namespace

std::shared_ptr<IDevice> makeLocalDevice(std::shared_ptr<const Device> device, HalVersion version) {
    return std::make_shared<LocalDevice>(std::move(device), version);
}

}  // namespace halyard::driver
