// SPDX-License-Identifier: Apache-2.0

#include "tests/hal/fake_service_manager.h"

#include <chrono>
#include <string_view>
#include <utility>
#include <variant>

#include "hal/hidl/types.h"

namespace halyard::hal::testing {

using hidl::HidlString;
using hidl::readValue;
using hidl::manager::v1_2::IServiceManager;

FakeServiceManager::FakeServiceManager(const Behaviour& behaviour)
    : HidlObject(IServiceManager::layout()), mBehaviour(behaviour) {}

std::vector<std::string> FakeServiceManager::asked() {
    std::lock_guard lock(mMutex);
    return mAsked;
}

int FakeServiceManager::added() {
    std::lock_guard lock(mMutex);
    return mAdded;
}

bool FakeServiceManager::waitForAdded(int count) {
    std::unique_lock lock(mMutex);
    return mChanged.wait_for(lock, std::chrono::seconds(30), [&] { return mAdded >= count; });
}

Status FakeServiceManager::serve(uint32_t code, Call& call) {
    switch (code) {
        case IServiceManager::addWithChain:
            return mBehaviour.knowsChains ? add(call, true) : unsupported("too old");
        case IServiceManager::add:
            return add(call, false);
        case IServiceManager::get:
            return get(call);
        case IServiceManager::getTransport: {
            HALYARD_ASSIGN_OR_RETURN(const auto* interface, readValue<HidlString>(call.arguments));
            HALYARD_ASSIGN_OR_RETURN(const auto* name, readValue<HidlString>(call.arguments));
            const bool declared = interface->view() == "a.b@1.1::IThing" && name->view() == "one";
            HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
            reply->writeUint32(declared ? 1 : 0);
            return {};
        }
        case IServiceManager::registerForNotifications:
            return mBehaviour.notifies ? listen(call) : unsupported("in no test");
        case IServiceManager::list: {
            HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
            hidl::writeStrings(*reply, std::vector<std::string_view>{"a.b@1.0::IThing/one", ""});
            return {};
        }
        default:
            return unsupported("in no test");
    }
}

Status FakeServiceManager::add(Call& call, bool withChain) {
    HALYARD_ASSIGN_OR_RETURN(const auto* name, readValue<HidlString>(call.arguments));
    HALYARD_ASSIGN_OR_RETURN(const ObjectRef object, call.arguments.readObject());
    std::string text = "add " + std::string(name->view());
    if (withChain) {
        HALYARD_ASSIGN_OR_RETURN(const auto chain, hidl::readStrings(call.arguments));
        for (const auto& entry : chain) {
            text.append(" ").append(entry);
        }
    }
    HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
    std::lock_guard lock(mMutex);
    mAsked.push_back(std::move(text));
    const bool taken = mBehaviour.refusals-- <= 0;
    if (taken) {
        if (mBehaviour.forgotten-- <= 0) {
            mService = std::get<std::shared_ptr<RemoteObject>>(object);
        }
        ++mAdded;
        mChanged.notify_all();
    }
    reply->writeInt32(taken ? 1 : 0);
    return {};
}

Status FakeServiceManager::get(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(const auto* fqName, readValue<HidlString>(call.arguments));
    HALYARD_ASSIGN_OR_RETURN(const auto* name, readValue<HidlString>(call.arguments));
    std::string text = "get " + std::string(fqName->view()) + "/" + std::string(name->view());
    HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
    std::lock_guard lock(mMutex);
    mAsked.push_back(std::move(text));
    reply->writeObject(mService == nullptr ? ObjectRef() : ObjectRef(mService));
    return {};
}

Status FakeServiceManager::listen(Call& call) {
    HALYARD_RETURN_IF_ERROR(readValue<HidlString>(call.arguments).status());
    HALYARD_RETURN_IF_ERROR(readValue<HidlString>(call.arguments).status());
    HALYARD_ASSIGN_OR_RETURN(const ObjectRef object, call.arguments.readObject());
    HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
    std::lock_guard lock(mMutex);
    mListener = std::get<std::shared_ptr<RemoteObject>>(object);
    mChanged.notify_all();
    reply->writeInt32(1);
    return {};
}

void FakeServiceManager::replace(const std::shared_ptr<RemoteObject>& service) {
    std::lock_guard lock(mMutex);
    mService = service;
}

std::shared_ptr<RemoteObject> FakeServiceManager::listener() {
    std::lock_guard lock(mMutex);
    return mListener;
}

void ProcessWithManager::tellListener(FakeServiceManager& manager) {
    using hidl::manager::v1_0::IServiceNotification;
    ParcelWriter arguments;
    hidl::writeRequestHead(arguments, IServiceNotification::layout(),
                           IServiceNotification::onRegistration);
    hidl::writeValue(arguments, hidl::makeString(arguments, "a.b@1.0::IThing"));
    hidl::writeValue(arguments, hidl::makeString(arguments, "one"));
    arguments.writeInt32(0);
    static_cast<void>(
            transactOneway(manager.listener(), IServiceNotification::onRegistration, arguments));
}

std::shared_ptr<RemoteObject> ProcessWithManager::contextManager() {
    std::lock_guard lock(mMutex);
    return mManager;
}

std::shared_ptr<FakeServiceManager> ProcessWithManager::startManager(
        const FakeServiceManager::Behaviour& behaviour) {
    auto manager = std::make_shared<FakeServiceManager>(behaviour);
    const std::shared_ptr<RemoteObject> known = remote(manager);
    std::lock_guard lock(mMutex);
    mManager = known;
    return manager;
}

}  // namespace halyard::hal::testing
