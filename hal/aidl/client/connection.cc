// SPDX-License-Identifier: Apache-2.0

#include "hal/aidl/client/connection.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "hal/aidl/service_manager.h"
#include "hal/aidl/types.h"

namespace halyard::hal::aidl {

using driver::HalVersion;
using nn::IDevice;

namespace {

constexpr const char* kBinderDevice = "/dev/binder";
constexpr std::chrono::milliseconds kPollInterval(50);
// Callbacks come one after the other; the second thread serves one that comes during another.
constexpr size_t kThreads = 1;
constexpr size_t kMostSpawned = 1;

// The version of the interface that is `number`, or the newest that is known.
HalVersion versionOf(int32_t number) {
    const int32_t first = static_cast<int32_t>(HalVersion::AIDL_V1);
    const int32_t newest = static_cast<int32_t>(driver::kNewestVersion);
    return static_cast<HalVersion>(std::min(std::max(number, 1) - 1 + first, newest));
}

}  // namespace

Result<ServiceConnection> connectTo(std::shared_ptr<BinderProcess> process, const ObjectRef& object,
                                    std::optional<HalVersion> version, const Release& release) {
    HALYARD_ASSIGN_OR_RETURN(
            RemoteInterface device,
            RemoteInterface::cast(std::move(process), object, IDevice::info(), release));
    HALYARD_ASSIGN_OR_RETURN(const auto answer, device.call<IDevice::GetInterfaceVersion>({}));
    const HalVersion newest = versionOf(answer.results.result);
    if (version.value_or(newest) > newest) {
        return internalError("the service speaks " + std::string(toString(newest)) + " and not " +
                             std::string(toString(*version)));
    }
    auto service = std::make_shared<Liveness>();
    HALYARD_RETURN_IF_ERROR(device.object()->linkToDeath([service] { service->died(); }).status());
    return ServiceConnection{.device = std::move(device),
                             .version = version.value_or(newest),
                             .service = std::move(service)};
}

Result<ServiceConnection> connectToService(const std::string& instance,
                                           std::optional<HalVersion> version,
                                           std::chrono::milliseconds timeout) {
    if (version.has_value() && *version < HalVersion::AIDL_V1) {
        return invalidArgument("no AIDL service speaks HAL " + std::string(toString(*version)));
    }
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    const Release release = Release::ofThisDevice();
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<BinderProcess> process,
                             BinderProcess::open(kBinderDevice));
    HALYARD_RETURN_IF_ERROR(process->startThreads(kThreads, kMostSpawned));
    ServiceManager manager(process, release);
    HALYARD_RETURN_IF_ERROR(manager.waitUntilReady(timeout));
    const std::string name = std::string(IDevice::info().descriptor) + "/" + instance;
    for (;;) {
        HALYARD_ASSIGN_OR_RETURN(const ObjectRef found, manager.get(name));
        if (!isNull(found)) {
            // A service that has just died may be registered still.
            Result<ServiceConnection> connection = connectTo(process, found, version, release);
            if (connection.ok() || connection.status().code() != StatusCode::UNAVAILABLE) {
                return connection;
            }
        }
        if (std::chrono::steady_clock::now() >= deadline) {
            return Status(StatusCode::UNAVAILABLE, name + " is not registered");
        }
        std::this_thread::sleep_for(kPollInterval);
    }
}

Result<std::vector<std::string>> listServices(std::chrono::milliseconds timeout) {
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<BinderProcess> process,
                             BinderProcess::open(kBinderDevice));
    ServiceManager manager(process, Release::ofThisDevice());
    HALYARD_RETURN_IF_ERROR(manager.waitUntilReady(timeout));
    HALYARD_ASSIGN_OR_RETURN(std::vector<std::string> names, manager.list());
    std::ranges::sort(names);
    return names;
}

}  // namespace halyard::hal::aidl
