// SPDX-License-Identifier: Apache-2.0

#include "hal/aidl/service_manager.h"

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "hal/aidl/types.h"

namespace halyard::hal::aidl {
namespace {

using os::IServiceManager;

// The kernel logs each call to a manager that isn't there, so the calls become rarer.
constexpr std::chrono::milliseconds kFirstPause{5};
constexpr std::chrono::milliseconds kLongestPause{160};

// Dump flags: the priorities of services that are listed.
constexpr int32_t kDumpDefault = 8;
constexpr int32_t kDumpAll = 15;

}  // namespace

ServiceManager::ServiceManager(std::shared_ptr<BinderProcess> process, const Release& release)
    : mProcess(std::move(process)), mRelease(release) {}

template <typename Method>
Result<typename Method::Results> ServiceManager::call(const typename Method::Arguments& arguments) {
    const std::optional<uint32_t> code = mRelease.managerCode(Method::kCode);
    if (!code.has_value()) {
        return unsupported("servicemanager has no " + std::string(Method::kName) +
                           " at API level " + std::to_string(mRelease.sdk()));
    }
    const RemoteInterface manager(mProcess, mProcess->contextManager(), IServiceManager::info(),
                                  mRelease);
    Result<RemoteInterface::Answer<Method>> answer = manager.call<Method>(*code, arguments);
    if (!answer.ok()) {
        return answer.status().withContext("servicemanager: " + std::string(Method::kName));
    }
    return std::move(answer->results);
}

Status ServiceManager::waitUntilReady(std::chrono::milliseconds timeout) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    std::chrono::milliseconds pause = kFirstPause;
    for (;;) {
        const RemoteInterface manager(mProcess, mProcess->contextManager(), IServiceManager::info(),
                                      mRelease);
        const Status answered = manager.ping();
        if (answered.ok()) {
            return {};
        }
        if (std::chrono::steady_clock::now() >= deadline) {
            return {StatusCode::UNAVAILABLE,
                    "servicemanager does not answer: " + std::string(answered.message())};
        }
        std::this_thread::sleep_for(pause);
        pause = std::min(2 * pause, kLongestPause);
    }
}

Status ServiceManager::add(std::string_view name, const std::shared_ptr<LocalObject>& service) {
    const MarkedObject promised = {.object = service,
                                   .stability = mRelease.stabilityWord(Stability::VINTF)};
    return call<IServiceManager::AddService>({.name = std::string(name),
                                              .service = promised,
                                              .allowIsolated = false,
                                              .dumpPriority = kDumpDefault})
            .status()
            .withContext("registering " + std::string(name));
}

Result<ObjectRef> ServiceManager::get(std::string_view name) {
    HALYARD_ASSIGN_OR_RETURN(auto results,
                             call<IServiceManager::GetService>({.name = std::string(name)}));
    return std::move(results.result.object);
}

Result<bool> ServiceManager::isDeclared(std::string_view name) {
    HALYARD_ASSIGN_OR_RETURN(const auto results,
                             call<IServiceManager::IsDeclared>({.name = std::string(name)}));
    return results.result;
}

Result<std::vector<std::string>> ServiceManager::declaredInstances(std::string_view interface) {
    HALYARD_ASSIGN_OR_RETURN(auto results, call<IServiceManager::GetDeclaredInstances>(
                                                   {.iface = std::string(interface)}));
    return std::move(results.result);
}

Status ServiceManager::listen(std::string_view name, const std::shared_ptr<LocalObject>& listener) {
    return call<IServiceManager::RegisterForNotifications>(
                   {.name = std::string(name), .callback = listener})
            .status();
}

Result<std::vector<std::string>> ServiceManager::list() {
    HALYARD_ASSIGN_OR_RETURN(auto results,
                             call<IServiceManager::ListServices>({.dumpPriority = kDumpAll}));
    return std::move(results.result);
}

}  // namespace halyard::hal::aidl
