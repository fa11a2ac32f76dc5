// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <thread>
#include <utility>

#include "hal/hidl/service_manager.h"
#include "harness/device/runner/hidl_target.h"

namespace halyard::runner {

namespace {

constexpr const char* kBinderDevice = "/dev/hwbinder";
constexpr std::chrono::milliseconds kPollInterval(50);
// Callbacks come one after the other; the second thread serves one that comes during another.
constexpr size_t kThreads = 1;
constexpr size_t kMostSpawned = 1;

struct Found {
    hal::ObjectRef object;
    const ClientVersion* version = nullptr;
};

// A null version if the service is not registered.
Result<Found> find(hal::hidl::HwServiceManager& manager, const std::string& instance,
                   std::optional<driver::HalVersion> wanted) {
    for (const ClientVersion& version : clientVersions()) {
        if (wanted.has_value() && version.version != *wanted) {
            continue;
        }
        HALYARD_ASSIGN_OR_RETURN(hal::ObjectRef object,
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

Result<ServiceConnection> connectToService(const std::string& instance,
                                           std::optional<driver::HalVersion> version,
                                           std::chrono::milliseconds timeout) {
    if (version.has_value() && *version > clientVersions().front().version) {
        return invalidArgument(
                std::string("no HIDL service speaks HAL ").append(toString(*version)));
    }
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<hal::BinderProcess> process,
                             hal::BinderProcess::open(kBinderDevice));
    HALYARD_RETURN_IF_ERROR(process->startThreads(kThreads, kMostSpawned));
    hal::hidl::HwServiceManager manager(process);
    HALYARD_RETURN_IF_ERROR(manager.waitUntilReady(timeout));
    for (;;) {
        HALYARD_ASSIGN_OR_RETURN(Found found, find(manager, instance, version));
        if (found.version != nullptr) {
            // A service that has just died may be registered still.
            Result<RemoteInterface> device =
                    RemoteInterface::cast(process, found.object, found.version->device());
            if (device.ok()) {
                auto watch = std::make_shared<DeathWatch>();
                const Status linked =
                        device->object()->linkToDeath([watch] { watch->died(); }).status();
                if (linked.ok()) {
                    return ServiceConnection{.device = std::move(device).value(),
                                             .version = *found.version,
                                             .service = std::move(watch)};
                }
            } else if (device.status().code() != StatusCode::UNAVAILABLE) {
                return device.status();
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
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<hal::BinderProcess> process,
                             hal::BinderProcess::open(kBinderDevice));
    hal::hidl::HwServiceManager manager(process);
    HALYARD_RETURN_IF_ERROR(manager.waitUntilReady(timeout));
    HALYARD_ASSIGN_OR_RETURN(std::vector<std::string> names, manager.list());
    std::sort(names.begin(), names.end());
    return names;
}

}  // namespace halyard::runner
