// SPDX-License-Identifier: Apache-2.0

#include "harness/device/ndk/device.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "driver/model/extensions.h"
#include "harness/device/ndk/compiled.h"
#include "harness/device/ndk/library.h"
#include "harness/device/ndk/model.h"
#include "harness/device/ndk/prepared_model.h"

namespace halyard::ndk {
namespace {

// One that there is not is the library's to refuse.
int codeOf(driver::Priority priority) {
    switch (priority) {
        case driver::Priority::LOW:
            return ANEURALNETWORKS_PRIORITY_LOW;
        case driver::Priority::MEDIUM:
            return ANEURALNETWORKS_PRIORITY_MEDIUM;
        case driver::Priority::HIGH:
            return ANEURALNETWORKS_PRIORITY_HIGH;
    }
    return static_cast<int>(priority);
}

using driver::HalVersion;

class NdkDevice final : public driver::IDevice {
  public:
    NdkDevice(std::shared_ptr<const Library> library,
              std::vector<const ANeuralNetworksDevice*> devices, bool isChosen, HalVersion version)
        : mLibrary(std::move(library)),
          mDevices(std::move(devices)),
          mIsChosen(isChosen),
          mVersion(version) {}

    HalVersion version() const override { return mVersion; }
    Result<std::string> versionString() override {
        const char* version = nullptr;
        HALYARD_RETURN_IF_ERROR(
                statusOf(mLibrary->ANeuralNetworksDevice_getVersion(mDevices.front(), &version),
                         "getVersion"));
        return std::string(version);
    }
    Result<driver::DeviceType> type() override {
        int32_t type = 0;
        HALYARD_RETURN_IF_ERROR(statusOf(
                mLibrary->ANeuralNetworksDevice_getType(mDevices.front(), &type), "getType"));
        return static_cast<driver::DeviceType>(type);
    }
    // The functions tell none.
    Result<driver::Capabilities> capabilities() override { return driver::Capabilities(); }
    Result<driver::DeviceStatus> status() override {
        return unsupported("NNAPI's C functions tell no status");
    }
    // By the names that this program knows: there is no list of them.
    Result<std::vector<driver::Extension>> extensions() override {
        std::vector<driver::Extension> found;
        for (const driver::Extension& known : driver::knownExtensions()) {
            bool has = false;
            if (mLibrary->ANeuralNetworksDevice_getExtensionSupport != nullptr &&
                mLibrary->ANeuralNetworksDevice_getExtensionSupport(
                        mDevices.front(), known.name.c_str(), &has) == ANEURALNETWORKS_NO_ERROR &&
                has) {
                found.push_back(known);
            }
        }
        return found;
    }

    Result<std::vector<bool>> supportedOperations(const driver::Model& model) override {
        HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<const BuiltModel> built,
                                 build(mLibrary, model));
        const size_t count = model.main.operations.size();
        const auto flags = std::make_unique<bool[]>(count);
        HALYARD_RETURN_IF_ERROR(
                statusOf(mLibrary->ANeuralNetworksModel_getSupportedOperationsForDevices(
                                 built->whole(), mDevices.data(),
                                 static_cast<uint32_t>(mDevices.size()), flags.get()),
                         "getSupportedOperationsForDevices"));
        return std::vector<bool>(flags.get(), flags.get() + count);
    }

    Result<std::shared_ptr<driver::IPreparedModel>> prepare(
            const driver::Model& model, const driver::PrepareOptions& options) override {
        HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<const BuiltModel> built, build(mLibrary, model));
        auto compiled = std::make_shared<Compiled>(std::move(built),
                                                   mIsChosen ? mDevices.front() : nullptr);
        ANeuralNetworksCompilation** const out = compiled->object.out();
        HALYARD_RETURN_IF_ERROR(
                mIsChosen ? statusOf(mLibrary->ANeuralNetworksCompilation_createForDevices(
                                             compiled->model->whole(), mDevices.data(), 1, out),
                                     "createForDevices")
                          : statusOf(mLibrary->ANeuralNetworksCompilation_create(
                                             compiled->model->whole(), out),
                                     "Compilation_create"));
        HALYARD_RETURN_IF_ERROR(statusOf(mLibrary->ANeuralNetworksCompilation_setPreference(
                                                 *out, static_cast<int32_t>(options.preference)),
                                         "setPreference"));
        if (mLibrary->ANeuralNetworksCompilation_setPriority != nullptr) {
            HALYARD_RETURN_IF_ERROR(statusOf(mLibrary->ANeuralNetworksCompilation_setPriority(
                                                     *out, codeOf(options.priority)),
                                             "setPriority"));
        }
        if (options.deadline.has_value() && mIsChosen) {
            HALYARD_RETURN_IF_ERROR(statusOf(mLibrary->ANeuralNetworksCompilation_setTimeout(
                                                     *out, remaining(options.deadline)),
                                             "Compilation_setTimeout"));
        }
        HALYARD_RETURN_IF_ERROR(
                statusOf(mLibrary->ANeuralNetworksCompilation_finish(*out), "Compilation_finish"));
        return makePreparedModel(std::move(compiled));
    }

    Status prepareAsync(driver::Model model, const driver::PrepareOptions& options,
                        driver::PreparedCallback callback) override {
        Result<std::shared_ptr<driver::IPreparedModel>> prepared = prepare(model, options);
        const Status status = prepared.status();
        callback(status, prepared.ok() ? *std::move(prepared) : nullptr);
        return status.code() == StatusCode::INVALID_ARGUMENT ? status : Status();
    }

    Result<driver::NumberOfCacheFiles> numberOfCacheFiles() override {
        return unsupported("the library names its own files");
    }
    Result<std::shared_ptr<driver::IPreparedModel>> prepareFromCache(
            const driver::PrepareOptions& /*options*/) override {
        return unsupported("the library opens its own files");
    }
    Status prepareFromCacheAsync(const driver::PrepareOptions& /*options*/,
                                 driver::PreparedCallback callback) override {
        callback(unsupported("the library opens its own files"), nullptr);
        return {};
    }
    Result<std::shared_ptr<driver::IBuffer>> allocate(
            const driver::BufferDescription& /*description*/) override {
        return unsupported("memory of a library's device has no token");
    }

    Status ping() override { return {}; }
    Result<std::string> report() override { return std::string(); }

  private:
    const std::shared_ptr<const Library> mLibrary;
    const std::vector<const ANeuralNetworksDevice*> mDevices;
    const bool mIsChosen;  // the first of them alone
    const HalVersion mVersion;
};

Result<HalVersion> versionOf(int64_t level) {
    for (const HalVersion version : driver::allVersions()) {
        if (static_cast<int64_t>(featureLevelOf(version)) == level) {
            return version;
        }
    }
    return internalError("the device is of feature level " + std::to_string(level));
}

}  // namespace

Result<std::shared_ptr<driver::IDevice>> openLibrary(const LibraryAddress& address) {
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<const Library> library,
                             load(address.path, address.isSupportLibrary));
    uint32_t count = 0;
    HALYARD_RETURN_IF_ERROR(
            statusOf(library->ANeuralNetworks_getDeviceCount(&count), "getDeviceCount")
                    .withCode(StatusCode::UNAVAILABLE));
    std::vector<const ANeuralNetworksDevice*> devices;
    std::string names;
    int64_t level = 0;
    const bool isChosen = address.isSupportLibrary || !address.device.empty();
    for (uint32_t i = 0; i < count; ++i) {
        ANeuralNetworksDevice* device = nullptr;
        const char* name = nullptr;
        int64_t own = 0;
        HALYARD_RETURN_IF_ERROR(
                statusOf(library->ANeuralNetworks_getDevice(i, &device), "getDevice"));
        HALYARD_RETURN_IF_ERROR(
                statusOf(library->ANeuralNetworksDevice_getName(device, &name), "getName"));
        HALYARD_RETURN_IF_ERROR(statusOf(
                library->ANeuralNetworksDevice_getFeatureLevel(device, &own), "getFeatureLevel"));
        names.append(names.empty() ? "" : ", ").append(name);
        const bool isMeant = address.device.empty() || address.device == name;
        if (isMeant && (!isChosen || devices.empty())) {
            devices.push_back(device);
            level = std::max(level, own);
        }
    }
    if (devices.empty()) {
        return Status(StatusCode::UNAVAILABLE,
                      address.device.empty()
                              ? "the library has no device"
                              : "the library has no device " + address.device + ", but " + names);
    }
    HALYARD_ASSIGN_OR_RETURN(const HalVersion version, versionOf(level));
    return std::shared_ptr<driver::IDevice>(
            std::make_shared<NdkDevice>(std::move(library), std::move(devices), isChosen, version));
}

}  // namespace halyard::ndk
