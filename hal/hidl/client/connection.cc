// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/client/connection.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "hal/hidl/service_manager.h"

namespace halyard::hal::hidl {

namespace {

constexpr const char* kBinderDevice = "/dev/hwbinder";
constexpr std::chrono::milliseconds kPollInterval(50);
// Callbacks come one after the other; the second thread serves one that comes during another.
constexpr size_t kThreads = 1;
constexpr size_t kMostSpawned = 1;

struct Found {
    ObjectRef object;
    const ClientVersion* version = nullptr;
};

// A null version if the service is not registered.
Result<Found> find(HwServiceManager& manager, const std::string& instance,
                   std::optional<driver::HalVersion> wanted) {
    for (const ClientVersion& version : clientVersions()) {
        if (wanted.has_value() && version.version != *wanted) {
            continue;
        }
        HALYARD_ASSIGN_OR_RETURN(ObjectRef object,
                                 manager.get(version.device().descriptor, instance));
        if (!isNull(object)) {
            return Found{.object = std::move(object), .version = &version};
        }
    }
    return Found();
}

std::string describe(const std::string& instance, std::optional<driver::HalVersion> wanted) {
    return "android.hardware.neuralnetworks@" +
           (wanted.has_value() ? std::string(toString(*wanted)) : std::string("1.x")) +
           "::IDevice/" + instance;
}

}  // namespace

Result<ServiceConnection> connectTo(std::shared_ptr<BinderProcess> process, const ObjectRef& object,
                                    const ClientVersion& version) {
    HALYARD_ASSIGN_OR_RETURN(RemoteInterface device,
                             RemoteInterface::cast(std::move(process), object, version.device()));
    auto service = std::make_shared<Liveness>();
    HALYARD_RETURN_IF_ERROR(device.object()->linkToDeath([service] { service->died(); }).status());
    return ServiceConnection{
            .device = std::move(device), .version = version, .service = std::move(service)};
}

Result<ServiceConnection> connectToService(const std::string& instance,
                                           std::optional<driver::HalVersion> version,
                                           std::chrono::milliseconds timeout) {
    if (version.has_value() && *version > clientVersions().front().version) {
        return invalidArgument(
                std::string("no HIDL service speaks HAL ").append(toString(*version)));
    }
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<BinderProcess> process,
                             BinderProcess::open(kBinderDevice));
    HALYARD_RETURN_IF_ERROR(process->startThreads(kThreads, kMostSpawned));
    HwServiceManager manager(process);
    HALYARD_RETURN_IF_ERROR(manager.waitUntilReady(timeout));
    for (;;) {
        HALYARD_ASSIGN_OR_RETURN(Found found, find(manager, instance, version));
        if (found.version != nullptr) {
            // A service that has just died may be registered still.
            Result<ServiceConnection> connection = connectTo(process, found.object, *found.version);
            if (connection.ok() || connection.status().code() != StatusCode::UNAVAILABLE) {
                return connection;
            }
        }
        if (std::chrono::steady_clock::now() >= deadline) {
            return Status(StatusCode::UNAVAILABLE,
                          describe(instance, version) + " is not registered");
        }
        std::this_thread::sleep_for(kPollInterval);
    }
}

Result<std::vector<std::string>> listServices(std::chrono::milliseconds timeout) {
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<BinderProcess> process,
                             BinderProcess::open(kBinderDevice));
    HwServiceManager manager(process);
    HALYARD_RETURN_IF_ERROR(manager.waitUntilReady(timeout));
    HALYARD_ASSIGN_OR_RETURN(std::vector<std::string> names, manager.list());
    std::sort(names.begin(), names.end());
    return names;
}

}  // namespace halyard::hal::hidl
