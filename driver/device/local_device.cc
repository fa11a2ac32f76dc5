// SPDX-License-Identifier: Apache-2.0

#include "driver/device/local_device.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace halyard::driver {
namespace {

Status checkHas(HalVersion version, std::string_view method, HalVersion since) {
    return version >= since ? Status()
                            : unsupported("HAL " + std::string(toString(version)) + " has no " +
                                          std::string(method));
}

const char kLocalModel = 0;  // its address tells one

FencedExecution fencedExecution(ExecutionResult result) {
    return {.done = nullptr, .info = [result = std::move(result)] {
                return FencedExecution::Info{.status = result.status,
                                             .launched = result.timing,
                                             .fenced = result.timingFenced};
            }};
}

class LocalBurst : public IBurst {
  public:
    LocalBurst(std::shared_ptr<PreparedModel> model, HalVersion version)
        : mModel(std::move(model)), mVersion(version) {}

    ExecutionResult execute(const Request& request, std::span<const int64_t> identifiers,
                            const ExecuteOptions& options) override {
        if (identifiers.size() != request.pools.size() ||
            std::ranges::any_of(identifiers, [](int64_t each) { return each < -1; })) {
            return {.status = invalidArgument(
                            "a burst wants one identifier for each pool, of -1 or more"),
                    .outputShapes = {},
                    .timing = {}};
        }
        return mModel->execute(request, mVersion, options);
    }
    // None is kept: here a memory takes no time to be known again.
    Status releaseMemory(int64_t identifier) override {
        return identifier < -1 ? invalidArgument("a memory's identifier is -1 or more") : Status();
    }

  private:
    const std::shared_ptr<PreparedModel> mModel;
    const HalVersion mVersion;
};

class LocalExecution : public IExecution {
  public:
    LocalExecution(std::shared_ptr<PreparedModel> model, HalVersion version, Request request,
                   ExecuteOptions options)
        : mModel(std::move(model)),
          mVersion(version),
          mRequest(std::move(request)),
          mOptions(std::move(options)) {}

    ExecutionResult execute(const Deadline& deadline) override {
        ExecutionResult result;
        executeInto(deadline, result);
        return result;
    }

    void executeInto(const Deadline& deadline, ExecutionResult& result) override {
        ExecuteOptions options = mOptions;
        options.deadline = deadline;
        mModel->execute(mRequest, mVersion, options, result);
    }

    Result<FencedExecution> executeFenced(const Fences& waitFor, const Deadline& deadline,
                                          const Duration& durationAfterFences) override {
        ExecuteOptions options = mOptions;
        options.waitFor = waitFor;
        options.deadline = deadline;
        options.durationAfterFences = durationAfterFences;
        ExecutionResult result = mModel->executeFenced(mRequest, mVersion, options);
        HALYARD_RETURN_IF_ERROR(result.status);
        return fencedExecution(std::move(result));
    }

  private:
    const std::shared_ptr<PreparedModel> mModel;
    const HalVersion mVersion;
    const Request mRequest;
    const ExecuteOptions mOptions;
};

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
                                          const ExecuteOptions& options) override {
        HALYARD_RETURN_IF_ERROR(checkHas(mVersion, "executeFenced", HalVersion::V1_3));
        ExecutionResult result = mModel->executeFenced(request, mVersion, options);
        HALYARD_RETURN_IF_ERROR(result.status);
        return fencedExecution(std::move(result));
    }

    Result<std::shared_ptr<IBurst>> makeBurst() override {
        HALYARD_RETURN_IF_ERROR(checkHas(mVersion, "bursts", HalVersion::V1_2));
        return std::shared_ptr<IBurst>(std::make_shared<LocalBurst>(mModel, mVersion));
    }

    Result<std::shared_ptr<IExecution>> makeExecution(const Request& request,
                                                      const ExecuteOptions& options) override {
        HALYARD_RETURN_IF_ERROR(checkHas(mVersion, "reusable executions", HalVersion::AIDL_V4));
        return std::shared_ptr<IExecution>(
                std::make_shared<LocalExecution>(mModel, mVersion, request, options));
    }

    std::string report() override { return mModel->report(); }
    const engine::Program* program() const override { return &mModel->program(); }
    const void* as(const void* kind) const override {
        return kind == &kLocalModel ? this : nullptr;
    }
    const std::shared_ptr<PreparedModel>& model() const { return mModel; }

  private:
    const std::shared_ptr<PreparedModel> mModel;
    const HalVersion mVersion;
};

class LocalBuffer : public IBuffer {
  public:
    explicit LocalBuffer(std::shared_ptr<ManagedBuffer> buffer) : mBuffer(std::move(buffer)) {}

    uint32_t token() const override { return mBuffer->token(); }
    Status copyTo(const SharedMemory& destination) override {
        return destination == nullptr ? invalidArgument("there is no memory")
                                      : mBuffer->copyTo(*destination);
    }
    Status copyFrom(const SharedMemory& source, std::span<const uint32_t> dimensions) override {
        return source == nullptr ? invalidArgument("there is no memory")
                                 : mBuffer->copyFrom(*source, dimensions);
    }

  private:
    const std::shared_ptr<ManagedBuffer> mBuffer;
};

class LocalDevice : public IDevice {
  public:
    LocalDevice(std::shared_ptr<const Device> device, HalVersion version)
        : mDevice(std::move(device)), mVersion(version) {}

    HalVersion version() const override { return mVersion; }
    Result<std::string> versionString() override { return std::string(mDevice->versionString()); }
    Result<DeviceType> type() override { return mDevice->type(); }
    Result<Capabilities> capabilities() override { return mDevice->capabilities(); }
    Result<DeviceStatus> status() override { return mDevice->status(); }
    Result<std::vector<Extension>> extensions() override { return mDevice->extensions(); }

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

    Result<std::shared_ptr<IBuffer>> allocate(const BufferDescription& description) override {
        HALYARD_RETURN_IF_ERROR(checkHas(mVersion, "allocate", HalVersion::V1_3));
        HALYARD_ASSIGN_OR_RETURN(std::vector<Role> inputs,
                                 rolesOf(description.models, description.inputs));
        HALYARD_ASSIGN_OR_RETURN(std::vector<Role> outputs,
                                 rolesOf(description.models, description.outputs));
        HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<ManagedBuffer> buffer,
                                 mDevice->allocate({.dimensions = description.dimensions,
                                                    .inputs = std::move(inputs),
                                                    .outputs = std::move(outputs)}));
        return std::shared_ptr<IBuffer>(std::make_shared<LocalBuffer>(std::move(buffer)));
    }

    Status ping() override { return {}; }
    Result<std::string> report() override { return mDevice->report(); }

  private:
    using Role = ManagedBuffer::Description::Role;

    static Result<std::vector<Role>> rolesOf(
            const std::vector<std::shared_ptr<IPreparedModel>>& models,
            const std::vector<BufferRole>& given) {
        std::vector<Role> roles;
        for (const BufferRole& role : given) {
            if (role.modelIndex >= models.size()) {
                return invalidArgument("a role is of model " + std::to_string(role.modelIndex) +
                                       ", and there are " + std::to_string(models.size()));
            }
            const std::shared_ptr<IPreparedModel>& named = models[role.modelIndex];
            const auto* const model =
                    named == nullptr
                            ? nullptr
                            : static_cast<const LocalPreparedModel*>(named->as(&kLocalModel));
            roles.push_back({.model = model == nullptr ? nullptr : model->model(),
                             .index = role.ioIndex,
                             .frequency = role.frequency});
        }
        return roles;
    }

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
