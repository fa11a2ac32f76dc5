// SPDX-License-Identifier: Apache-2.0

#include "harness/device/runner/target.h"

#include <unistd.h>

#include <utility>

#include "driver/device/local_device.h"
#include "driver/model/error_status.h"
#include "engine/base/log.h"
#include "hal/aidl/client/connection.h"
#include "hal/aidl/client/device.h"
#include "hal/hidl/client/connection.h"
#include "hal/hidl/client/device.h"
#include "harness/device/runner/process_memory.h"

namespace halyard::runner {

Result<Target> openDriver(const driver::Options& options, MakeDevice* makeDevice,
                          driver::HalVersion version) {
    HALYARD_ASSIGN_OR_RETURN(
            std::shared_ptr<driver::Device> driver,
            makeDevice == nullptr ? driver::Device::create(options) : makeDevice(options));
    return Target{.device = driver::makeLocalDevice(driver, version),
                  .withoutConfigs = nullptr,
                  .driver = driver,
                  .servicePid = nullptr};
}

Result<Target> openService(const ServiceAddress& address, std::optional<driver::HalVersion> version,
                           std::chrono::milliseconds timeout) {
    if (address.wire == Wire::AIDL) {
        HALYARD_ASSIGN_OR_RETURN(hal::aidl::ServiceConnection connection,
                                 hal::aidl::connectToService(address.instance, version, timeout));
        const hal::aidl::RemoteInterface service = connection.device;
        std::shared_ptr<driver::IDevice> withoutConfigs;
        if (connection.usesConfigs()) {
            hal::aidl::ServiceConnection plain = connection;
            plain.prefersConfigs = false;
            withoutConfigs = hal::aidl::makeClientDevice(std::move(plain));
        }
        return Target{.device = hal::aidl::makeClientDevice(std::move(connection)),
                      .withoutConfigs = std::move(withoutConfigs),
                      .driver = nullptr,
                      .servicePid = [service] { return service.servicePid(); }};
    }
    HALYARD_ASSIGN_OR_RETURN(hal::hidl::ServiceConnection connection,
                             hal::hidl::connectToService(address.instance, version, timeout));
    const hal::hidl::RemoteInterface service = connection.device;
    return Target{.device = hal::hidl::makeClientDevice(std::move(connection)),
                  .withoutConfigs = nullptr,
                  .driver = nullptr,
                  .servicePid = [service] { return service.servicePid(); }};
}

Outcome outcomeOf(const Target& target, const Status& status) {
    if (status.ok()) {
        return {};
    }
    if (target.driver != nullptr) {
        return {.status = toErrorStatus(status, target.device->version()),
                .message = status.toString()};
    }
    // The version has had its say already.
    return {.status = toErrorStatus(status, driver::kNewestVersion),
            .message = std::string(status.message()),
            .targetDied = status.code() == StatusCode::UNAVAILABLE && !target.device->ping().ok()};
}

uint64_t peakRssBytes(const Target& target) {
    if (target.servicePid == nullptr) {
        return peakRssBytes(getpid());
    }
    const Result<int32_t> pid = target.servicePid();
    return pid.ok() && *pid > 0 ? peakRssBytes(*pid) : 0;
}

Result<PreparedModel> prepare(const Target& target, const driver::Model& model,
                              const PrepareSettings& settings) {
    driver::PrepareOptions options = {.preference = settings.preference,
                                      .priority = settings.priority,
                                      .deadline = {},
                                      .cache = settings.cache,
                                      .client = nullptr};
    if (settings.process != 0 && target.driver != nullptr) {
        HALYARD_ASSIGN_OR_RETURN(options.client,
                                 target.driver->client({.pid = settings.process, .uid = getuid()}));
    }
    if (options.cache != nullptr) {
        Result<std::shared_ptr<driver::IPreparedModel>> kept =
                target.device->prepareFromCache(options);
        if (kept.ok()) {
            return PreparedModel{.model = std::move(*kept), .fromCache = true};
        }
        log(LogLevel::VERBOSE, "the model is not in the cache: " + kept.status().toString());
    }
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<driver::IPreparedModel> prepared,
                             target.device->prepare(model, options));
    return PreparedModel{.model = std::move(prepared)};
}

}  // namespace halyard::runner
