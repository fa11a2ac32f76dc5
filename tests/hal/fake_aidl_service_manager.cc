// SPDX-License-Identifier: Apache-2.0

#include "tests/hal/fake_aidl_service_manager.h"

#include <chrono>
#include <utility>

#include "hal/aidl/types.h"

namespace halyard::hal::testing {

using AidlManager = aidl::os::IServiceManager;

FakeAidlServiceManager::FakeAidlServiceManager(const aidl::Release& release,
                                               std::set<std::string> declared)
    : AidlObject(AidlManager::info(), release), mDeclared(std::move(declared)) {}

int FakeAidlServiceManager::added() {
    const std::lock_guard lock(mMutex);
    return mAdded;
}

bool FakeAidlServiceManager::waitForAdded(int count) {
    std::unique_lock lock(mMutex);
    return mChanged.wait_for(lock, std::chrono::seconds(20), [&] { return mAdded >= count; });
}

void FakeAidlServiceManager::replace(const std::string& name, const ObjectRef& service) {
    const std::lock_guard lock(mMutex);
    mServices[name] = service;
}

std::shared_ptr<RemoteObject> FakeAidlServiceManager::listener() {
    const std::lock_guard lock(mMutex);
    return mListener;
}

uint32_t FakeAidlServiceManager::methodOf(uint32_t code) const {
    return release().managerMethod(code).value_or(0);
}

Status FakeAidlServiceManager::serve(uint32_t code, Call& call) {
    switch (code) {
        case AidlManager::GetService::kCode: {
            HALYARD_ASSIGN_OR_RETURN(const auto wanted, call.read<AidlManager::GetService>());
            const std::lock_guard lock(mMutex);
            return call.answer(AidlManager::GetService::Results{
                    .result = {.object = mServices[wanted.name],
                               .stability = release().stabilityWord(aidl::Stability::VINTF)}});
        }
        case AidlManager::AddService::kCode:
            return add(call);
        case AidlManager::ListServices::kCode: {
            HALYARD_RETURN_IF_ERROR(call.read<AidlManager::ListServices>().status());
            AidlManager::ListServices::Results names;
            const std::lock_guard lock(mMutex);
            for (const auto& [name, service] : mServices) {
                names.result.push_back(name);
            }
            return call.answer(names);
        }
        case AidlManager::RegisterForNotifications::kCode:
            return listen(call);
        case AidlManager::IsDeclared::kCode: {
            HALYARD_ASSIGN_OR_RETURN(const auto wanted, call.read<AidlManager::IsDeclared>());
            return call.answer(
                    AidlManager::IsDeclared::Results{.result = mDeclared.contains(wanted.name)});
        }
        case AidlManager::GetDeclaredInstances::kCode: {
            HALYARD_ASSIGN_OR_RETURN(const auto wanted,
                                     call.read<AidlManager::GetDeclaredInstances>());
            AidlManager::GetDeclaredInstances::Results instances;
            for (const std::string& name : mDeclared) {
                if (name.starts_with(wanted.iface + "/")) {
                    instances.result.push_back(name.substr(wanted.iface.size() + 1));
                }
            }
            return call.answer(instances);
        }
        default:
            return unsupported("no handler");
    }
}

Status FakeAidlServiceManager::add(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(const auto service, call.read<AidlManager::AddService>());
    HALYARD_RETURN_IF_ERROR(call.end());
    if (!mDeclared.contains(service.name)) {
        return call.raise(
                {.code = aidl::Exception::kIllegalArgument, .message = "VINTF declaration error."});
    }
    const std::lock_guard lock(mMutex);
    mServices[service.name] = service.service.object;
    ++mAdded;
    mChanged.notify_all();
    return {};
}

Status FakeAidlServiceManager::listen(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(const auto wanted, call.read<AidlManager::RegisterForNotifications>());
    const std::lock_guard lock(mMutex);
    if (const auto* remote = std::get_if<std::shared_ptr<RemoteObject>>(&wanted.callback)) {
        mListener = *remote;
    }
    return {};
}

std::shared_ptr<RemoteObject> ProcessWithAidlManager::contextManager() {
    const std::lock_guard lock(mMutex);
    return mManager;
}

std::shared_ptr<FakeAidlServiceManager> ProcessWithAidlManager::startManager(
        const aidl::Release& release, std::set<std::string> declared) {
    auto manager = std::make_shared<FakeAidlServiceManager>(release, std::move(declared));
    std::shared_ptr<RemoteObject> known = remote(manager);
    const std::lock_guard lock(mMutex);
    mManager = std::move(known);
    return manager;
}

}  // namespace halyard::hal::testing
