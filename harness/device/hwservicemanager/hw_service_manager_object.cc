// SPDX-License-Identifier: Apache-2.0

#include "harness/device/hwservicemanager/hw_service_manager_object.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/base/log.h"
#include "hal/hidl/types.h"
#include "harness/device/managers/callers.h"

namespace halyard::device {

using hal::ObjectRef;
using hal::ParcelReader;
using hal::ParcelWriter;
using hal::RemoteObject;
using hal::hidl::HidlString;
using hal::hidl::InterfaceLayout;
using hal::hidl::makeString;
using hal::hidl::makeVec;
using hal::hidl::readStrings;
using hal::hidl::readValue;
using hal::hidl::writeValue;
using hal::hidl::base::v1_0::DebugInfo;
using hal::hidl::base::v1_0::IBase;
using hal::hidl::manager::v1_0::IServiceNotification;
using hal::hidl::manager::v1_2::IServiceManager;
using ManagerTypes = hal::hidl::manager::v1_0::IServiceManager;

namespace {

Result<std::string> readString(ParcelReader& reader) {
    HALYARD_ASSIGN_OR_RETURN(const auto* text, readValue<HidlString>(reader));
    return std::string(text->view());
}

void writeStrings(ParcelWriter& writer, const std::vector<std::string>& texts) {
    hal::hidl::writeStrings(writer, std::vector<std::string_view>(texts.begin(), texts.end()));
}

void writeBool(ParcelWriter& writer, bool value) {
    writer.writeInt32(value ? 1 : 0);
}

void logIfRefused(const std::string& what, const Status& status) {
    device::logIfRefused("hwservicemanager", what, status);
}

// fqName and name, which most methods begin with.
struct Names {
    std::string fqName;
    std::string name;
};
Result<Names> readNames(ParcelReader& reader) {
    Names names;
    HALYARD_ASSIGN_OR_RETURN(names.fqName, readString(reader));
    HALYARD_ASSIGN_OR_RETURN(names.name, readString(reader));
    return names;
}

}  // namespace

HwServiceManagerObject::HwServiceManagerObject(std::weak_ptr<hal::BinderProcess> process,
                                               Manifest manifest, size_t questions,
                                               const RegistryLimits& limits)
    : HidlObject(IServiceManager::layout()),
      mProcess(std::move(process)),
      mManifest(std::move(manifest)),
      mRegistry(std::make_shared<Registry>(
              [weak = mProcess](const std::shared_ptr<RemoteObject>& listener,
                                const Instance& instance, bool preexisting) {
                  if (auto alive = weak.lock()) {
                      notify(*alive, listener, instance, preexisting);
                  }
              },
              limits)),
      mQuestions(questions) {}

void HwServiceManagerObject::registerItself() {
    const InterfaceLayout& layout = IServiceManager::layout();
    const std::vector<std::string> chain(layout.chain.begin(), layout.chain.end());
    logIfRefused("itself", mRegistry->add("default", shared_from_this(), chain,
                                          {.pid = getpid(), .uid = getuid()}));
}

const HwServiceManagerObject::Row HwServiceManagerObject::kHandlers[] = {
        {IServiceManager::get, &HwServiceManagerObject::get},
        {IServiceManager::add, &HwServiceManagerObject::add},
        {IServiceManager::addWithChain, &HwServiceManagerObject::addWithChain},
        {IServiceManager::getTransport, &HwServiceManagerObject::getTransport},
        {IServiceManager::list, &HwServiceManagerObject::list},
        {IServiceManager::listByInterface, &HwServiceManagerObject::listByInterface},
        {IServiceManager::listManifestByInterface,
         &HwServiceManagerObject::listManifestByInterface},
        {IServiceManager::registerForNotifications,
         &HwServiceManagerObject::registerForNotifications},
        {IServiceManager::unregisterForNotifications,
         &HwServiceManagerObject::unregisterForNotifications},
        {IServiceManager::debugDump, &HwServiceManagerObject::debugDump},
        {IServiceManager::registerPassthroughClient,
         &HwServiceManagerObject::registerPassthroughClient},
        {IServiceManager::registerClientCallback, &HwServiceManagerObject::registerClientCallback},
        {IServiceManager::unregisterClientCallback,
         &HwServiceManagerObject::unregisterClientCallback},
        {IServiceManager::tryUnregister, &HwServiceManagerObject::tryUnregister},
};

Status HwServiceManagerObject::serve(uint32_t code, Call& call) {
    return hal::hidl::dispatch(*this, kHandlers, code, call);
}

// ---- Registration ------------------------------------------------------------------------------

Status HwServiceManagerObject::registerService(const std::string& name, const ObjectRef& service,
                                               std::span<const std::string> chain,
                                               const Owner& owner) {
    const bool declared = std::any_of(chain.begin(), chain.end(), [&](const std::string& fqName) {
        return mManifest.declares(fqName, name);
    });
    if (declared && !isOfTheDevice(owner.uid)) {
        return invalidArgument("it is declared, and not for user " + std::to_string(owner.uid));
    }
    return mRegistry->add(name, service, chain, owner, declared ? Room::RESERVED : Room::SHARED);
}

Result<std::vector<std::string>> HwServiceManagerObject::interfaceChain(const ObjectRef& service,
                                                                        const Owner& caller) {
    const auto* remote = std::get_if<std::shared_ptr<RemoteObject>>(&service);
    const std::shared_ptr<hal::BinderProcess> process = mProcess.lock();
    if (remote == nullptr || process == nullptr) {
        return invalidArgument("no service of another process");
    }
    HALYARD_ASSIGN_OR_RETURN(const QuestionPlaces::Place place, mQuestions.take(caller));
    ParcelWriter arguments;
    writeRequestHead(arguments, IBase::layout(), IBase::interfaceChain);
    HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<hal::Reply> reply,
                             process->transact(*remote, IBase::interfaceChain, arguments));
    HALYARD_RETURN_IF_ERROR(hal::hidl::readReplyHead(reply->reader()));
    return readStrings(reply->reader());
}

Status HwServiceManagerObject::add(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(std::string name, readString(call.arguments));
    HALYARD_ASSIGN_OR_RETURN(ObjectRef service, call.arguments.readObject());
    HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
    const Owner caller = ownerOf(call.caller);
    Result<std::vector<std::string>> chain = interfaceChain(service, caller);
    const Status added =
            chain.ok() ? registerService(name, service, *chain, caller) : chain.status();
    logIfRefused("adding " + shown(name), added);
    writeBool(*reply, added.ok());
    return {};
}

Status HwServiceManagerObject::addWithChain(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(std::string name, readString(call.arguments));
    HALYARD_ASSIGN_OR_RETURN(ObjectRef service, call.arguments.readObject());
    HALYARD_ASSIGN_OR_RETURN(std::vector<std::string> chain, readStrings(call.arguments));
    HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
    const Status added = registerService(name, service, chain, ownerOf(call.caller));
    const std::string what = shown(chain.empty() ? "nothing" : chain.front()) + "/" + shown(name);
    if (added.ok()) {
        log(LogLevel::INFO, "hwservicemanager: added " + what);
    }
    logIfRefused("adding " + what, added);
    writeBool(*reply, added.ok());
    return {};
}

Status HwServiceManagerObject::tryUnregister(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(Names names, readNames(call.arguments));
    HALYARD_ASSIGN_OR_RETURN(ObjectRef service, call.arguments.readObject());
    HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
    const Status removed =
            mRegistry->remove(names.fqName, names.name, service, ownerOf(call.caller));
    logIfRefused("taking out " + shown(names.name), removed);
    writeBool(*reply, removed.ok());
    return {};
}

Status HwServiceManagerObject::registerPassthroughClient(Call& call) {
    // Only a note for debugDump on Android.
    return readNames(call.arguments).status();
}

Status HwServiceManagerObject::registerClientCallback(Call& call) {
    HALYARD_RETURN_IF_ERROR(readNames(call.arguments).status());
    HALYARD_RETURN_IF_ERROR(call.arguments.readObject().status());  // the service
    HALYARD_RETURN_IF_ERROR(call.arguments.readObject().status());  // its callback
    HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
    writeBool(*reply, false);
    return {};
}

Status HwServiceManagerObject::unregisterClientCallback(Call& call) {
    HALYARD_RETURN_IF_ERROR(call.arguments.readObject().status());  // the service
    HALYARD_RETURN_IF_ERROR(call.arguments.readObject().status());  // its callback
    HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
    writeBool(*reply, false);
    return {};
}

// ---- Look-up -----------------------------------------------------------------------------------

Status HwServiceManagerObject::get(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(Names names, readNames(call.arguments));
    HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
    reply->writeObject(mRegistry->get(names.fqName, names.name));
    return {};
}

Status HwServiceManagerObject::getTransport(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(Names names, readNames(call.arguments));
    HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
    const bool known = mManifest.declares(names.fqName, names.name) ||
                       !isNull(mRegistry->get(names.fqName, names.name));
    reply->writeUint32(static_cast<uint32_t>(known ? ManagerTypes::Transport::HWBINDER
                                                   : ManagerTypes::Transport::EMPTY));
    return {};
}

Status HwServiceManagerObject::list(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
    std::vector<std::string> names;
    for (const Instance& instance : mRegistry->list()) {
        names.push_back(instance.fqName + "/" + instance.name);
    }
    writeStrings(*reply, names);
    return {};
}

Status HwServiceManagerObject::listByInterface(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(std::string fqName, readString(call.arguments));
    HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
    std::vector<std::string> names;
    for (const Instance& instance : mRegistry->list()) {
        if (instance.fqName == fqName) {
            names.push_back(instance.name);
        }
    }
    writeStrings(*reply, names);
    return {};
}

Status HwServiceManagerObject::listManifestByInterface(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(std::string fqName, readString(call.arguments));
    HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
    writeStrings(*reply, mManifest.instancesOf(fqName));
    return {};
}

Status HwServiceManagerObject::debugDump(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
    const std::vector<Instance> instances = mRegistry->list();
    std::vector<ManagerTypes::InstanceDebugInfo> rows;
    for (const Instance& instance : instances) {
        ManagerTypes::InstanceDebugInfo& row = rows.emplace_back();
        row.interfaceName = makeString(*reply, instance.fqName);
        row.instanceName = makeString(*reply, instance.name);
        row.pid = instance.pid;
        row.arch = DebugInfo::Architecture::UNKNOWN;
    }
    writeValue(*reply, makeVec(*reply, rows));
    return {};
}

// ---- Notifications -----------------------------------------------------------------------------

void HwServiceManagerObject::notify(hal::BinderProcess& process,
                                    const std::shared_ptr<RemoteObject>& listener,
                                    const Instance& instance, bool preexisting) {
    ParcelWriter arguments;
    writeRequestHead(arguments, IServiceNotification::layout(),
                     IServiceNotification::onRegistration);
    writeValue(arguments, makeString(arguments, instance.fqName));
    writeValue(arguments, makeString(arguments, instance.name));
    writeBool(arguments, preexisting);
    if (Status sent =
                process.transactOneway(listener, IServiceNotification::onRegistration, arguments);
        !sent.ok()) {
        log(LogLevel::WARNING, sent.withContext("notifying of " + instance.fqName).toString());
    }
}

Status HwServiceManagerObject::registerForNotifications(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(Names names, readNames(call.arguments));
    HALYARD_ASSIGN_OR_RETURN(ObjectRef listener, call.arguments.readObject());
    HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
    const Status added =
            mRegistry->addListener(names.fqName, names.name, listener, ownerOf(call.caller));
    logIfRefused("listening for " + shown(names.fqName), added);
    writeBool(*reply, added.ok());
    return {};
}

Status HwServiceManagerObject::unregisterForNotifications(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(Names names, readNames(call.arguments));
    HALYARD_ASSIGN_OR_RETURN(ObjectRef listener, call.arguments.readObject());
    HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
    const Status removed =
            mRegistry->removeListener(names.fqName, names.name, listener, ownerOf(call.caller));
    logIfRefused("listening no more for " + shown(names.fqName), removed);
    writeBool(*reply, removed.ok());
    return {};
}

}  // namespace halyard::device
