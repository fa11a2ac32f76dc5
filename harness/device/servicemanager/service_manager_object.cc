// SPDX-License-Identifier: Apache-2.0

#include "harness/device/servicemanager/service_manager_object.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/log.h"
#include "hal/service/debug_call.h"
#include "harness/device/managers/callers.h"

namespace halyard::device {

using hal::RemoteObject;
using hal::aidl::AidlWriter;
using hal::aidl::Exception;
using hal::aidl::MarkedObject;
using hal::aidl::Stability;
using hal::aidl::os::IServiceCallback;
using hal::aidl::os::IServiceManager;

namespace {

// dumpsys's flags; a service without a wish has this one.
constexpr int32_t kDumpPriorityDefault = 1 << 3;

// The exception that Android's service manager would throw.
Exception security(std::string message) {
    return {.code = Exception::kSecurity, .message = std::move(message)};
}
Exception illegalArgument(std::string message) {
    return {.code = Exception::kIllegalArgument, .message = std::move(message)};
}
Exception illegalState(std::string message) {
    return {.code = Exception::kIllegalState, .message = std::move(message)};
}
Exception nullPointer(std::string message) {
    return {.code = Exception::kNullPointer, .message = std::move(message)};
}

Status refuse(hal::aidl::AidlObject::Call& call, const std::string& what,
              const Exception& exception) {
    logIfRefused("servicemanager", what, invalidArgument(exception.message));
    return call.raise(exception);
}

// As refuse(), with what the registry says: a name or a listener of another process's, one that is
// dead, or no room.
Status refuse(hal::aidl::AidlObject::Call& call, const std::string& what, const Status& status) {
    const std::string message(status.message());
    return refuse(call, what,
                  status.code() == StatusCode::INVALID_ARGUMENT ? security(message)
                                                                : illegalState(message));
}

bool isValidName(std::string_view name) {
    constexpr size_t kLongest = 127;
    static constexpr std::string_view kOthers = "_-./";
    return !name.empty() && name.size() <= kLongest && std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               kOthers.find(c) != std::string_view::npos;
    });
}

}  // namespace

ServiceManagerObject::ServiceManagerObject(std::weak_ptr<hal::BinderProcess> process,
                                           Manifest manifest, const hal::aidl::Release& release,
                                           const RegistryLimits& limits)
    : AidlObject(IServiceManager::info(), release),
      mProcess(std::move(process)),
      mManifest(std::move(manifest)),
      mRegistry(std::make_shared<Registry>(
              // It calls only while a method of this object runs.
              [this](const std::shared_ptr<RemoteObject>& listener, const Instance& instance,
                     bool /*preexisting*/) { notify(listener, instance); },
              limits)) {}

void ServiceManagerObject::registerItself() {
    const std::array<std::string, 1> name = {"manager"};
    const ServiceNote note = {
            .stability = static_cast<int32_t>(release().stabilityWord(Stability::SYSTEM)),
            .dumpPriority = kDumpPriorityDefault};
    logIfRefused("servicemanager", "itself",
                 mRegistry->add("", shared_from_this(), name, {.pid = getpid(), .uid = getuid()},
                                Room::SHARED, note));
}

const ServiceManagerObject::Row ServiceManagerObject::kHandlers[] = {
        {Interface::GetService::kCode, &ServiceManagerObject::getService},
        {Interface::CheckService::kCode, &ServiceManagerObject::checkService},
        {Interface::AddService::kCode, &ServiceManagerObject::addService},
        {Interface::ListServices::kCode, &ServiceManagerObject::listServices},
        {Interface::RegisterForNotifications::kCode,
         &ServiceManagerObject::registerForNotifications},
        {Interface::UnregisterForNotifications::kCode,
         &ServiceManagerObject::unregisterForNotifications},
        {Interface::IsDeclared::kCode, &ServiceManagerObject::isDeclared},
        {Interface::GetDeclaredInstances::kCode, &ServiceManagerObject::getDeclaredInstances},
        {Interface::UpdatableViaApex::kCode, &ServiceManagerObject::updatableViaApex},
        {Interface::GetUpdatableNames::kCode, &ServiceManagerObject::getUpdatableNames},
        {Interface::GetConnectionInfo::kCode, &ServiceManagerObject::getConnectionInfo},
        {Interface::RegisterClientCallback::kCode, &ServiceManagerObject::registerClientCallback},
        {Interface::TryUnregisterService::kCode, &ServiceManagerObject::tryUnregisterService},
        {Interface::GetServiceDebugInfo::kCode, &ServiceManagerObject::getServiceDebugInfo},
};

uint32_t ServiceManagerObject::methodOf(uint32_t code) const {
    // Of other releases than the table's only those are known that clients need.
    return release().managerMethod(code).value_or(
            release().sdk() == hal::aidl::Release::kAndroid14 ? code : 0);
}

Status ServiceManagerObject::serve(uint32_t code, Call& call) {
    return hal::aidl::dispatch(*this, kHandlers, code, call);
}

// ---- Look-up -----------------------------------------------------------------------------------

MarkedObject ServiceManagerObject::found(const std::string& name) const {
    const Instance instance = mRegistry->find(name, "");
    if (isNull(instance.object)) {
        return {.object = {}, .stability = release().stabilityWord(Stability::UNDECLARED)};
    }
    return {.object = instance.object, .stability = static_cast<uint32_t>(instance.note.stability)};
}

Status ServiceManagerObject::getService(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(const auto asked, call.read<Interface::GetService>());
    return call.answer(Interface::GetService::Results{.result = found(asked.name)});
}

Status ServiceManagerObject::checkService(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(const auto asked, call.read<Interface::CheckService>());
    return call.answer(Interface::CheckService::Results{.result = found(asked.name)});
}

Status ServiceManagerObject::listServices(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(const auto asked, call.read<Interface::ListServices>());
    Interface::ListServices::Results results;
    for (const Instance& instance : mRegistry->list()) {
        if ((instance.note.dumpPriority & asked.dumpPriority) != 0) {
            results.result.push_back(instance.fqName);
        }
    }
    return call.answer(results);
}

Status ServiceManagerObject::getServiceDebugInfo(Call& call) {
    Interface::GetServiceDebugInfo::Results results;
    for (const Instance& instance : mRegistry->list()) {
        results.result.push_back({.name = instance.fqName, .debugPid = instance.pid});
    }
    return call.answer(results);
}

// ---- The manifest ------------------------------------------------------------------------------

bool ServiceManagerObject::isDeclaredName(const std::string& name) const {
    const size_t slash = name.find('/');
    return slash != std::string::npos &&
           mManifest.declares(std::string_view(name).substr(0, slash),
                              std::string_view(name).substr(slash + 1));
}

Status ServiceManagerObject::isDeclared(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(const auto asked, call.read<Interface::IsDeclared>());
    return call.answer(Interface::IsDeclared::Results{.result = isDeclaredName(asked.name)});
}

Status ServiceManagerObject::getDeclaredInstances(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(const auto asked, call.read<Interface::GetDeclaredInstances>());
    return call.answer(
            Interface::GetDeclaredInstances::Results{.result = mManifest.instancesOf(asked.iface)});
}

// No service comes in an APEX, and none is on another machine.
Status ServiceManagerObject::updatableViaApex(Call& call) {
    HALYARD_RETURN_IF_ERROR(call.read<Interface::UpdatableViaApex>().status());
    return call.answer(Interface::UpdatableViaApex::Results{});
}

Status ServiceManagerObject::getUpdatableNames(Call& call) {
    HALYARD_RETURN_IF_ERROR(call.read<Interface::GetUpdatableNames>().status());
    return call.answer(Interface::GetUpdatableNames::Results{});
}

Status ServiceManagerObject::getConnectionInfo(Call& call) {
    HALYARD_RETURN_IF_ERROR(call.read<Interface::GetConnectionInfo>().status());
    return call.answer(Interface::GetConnectionInfo::Results{});
}

// ---- Registration ------------------------------------------------------------------------------

Status ServiceManagerObject::addService(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(const auto asked, call.read<Interface::AddService>());
    HALYARD_RETURN_IF_ERROR(call.end());
    const std::string what = "adding " + shown(asked.name);
    const Owner owner = ownerOf(call.caller);
    if (hal::isApp(call.caller)) {
        return refuse(call, what, security("App UIDs cannot add services."));
    }
    if (isNull(asked.service.object)) {
        return refuse(call, what, nullPointer("Null binder."));
    }
    if (!isValidName(asked.name)) {
        return refuse(call, what, illegalArgument("Invalid service name."));
    }
    const bool declared = isDeclaredName(asked.name);
    if (!declared && asked.service.stability == release().stabilityWord(Stability::VINTF)) {
        return refuse(call, what, illegalArgument("VINTF declaration error."));
    }
    if (declared && !isOfTheDevice(owner.uid)) {
        return refuse(call, what,
                      security("It is declared, and not for user " + std::to_string(owner.uid)));
    }
    const std::array<std::string, 1> name = {asked.name};
    const ServiceNote note = {.stability = static_cast<int32_t>(asked.service.stability),
                              .dumpPriority = asked.dumpPriority};
    if (const Status added = mRegistry->add("", asked.service.object, name, owner,
                                            declared ? Room::RESERVED : Room::SHARED, note);
        !added.ok()) {
        return refuse(call, what, added);
    }
    log(LogLevel::INFO, "servicemanager: added " + asked.name);
    return call.answer();
}

Status ServiceManagerObject::tryUnregisterService(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(const auto asked, call.read<Interface::TryUnregisterService>());
    HALYARD_RETURN_IF_ERROR(call.end());
    const std::string what = "taking out " + shown(asked.name);
    if (isNull(asked.service)) {
        return refuse(call, what, nullPointer("Null service."));
    }
    if (const Status removed =
                mRegistry->remove(asked.name, "", asked.service, ownerOf(call.caller));
        !removed.ok()) {
        return refuse(call, what, illegalState(std::string(removed.message())));
    }
    return call.answer();
}

Status ServiceManagerObject::registerClientCallback(Call& call) {
    HALYARD_RETURN_IF_ERROR(call.read<Interface::RegisterClientCallback>().status());
    return call.raise(
            {.code = Exception::kUnsupportedOperation, .message = "Clients are not counted here."});
}

// ---- Notifications -----------------------------------------------------------------------------

void ServiceManagerObject::notify(const std::shared_ptr<RemoteObject>& listener,
                                  const Instance& instance) const {
    const std::shared_ptr<hal::BinderProcess> process = mProcess.lock();
    if (process == nullptr) {
        return;
    }
    hal::ParcelWriter parcel;
    AidlWriter writer(parcel, release());
    writer.writeRequestHead(IServiceCallback::info().descriptor);
    writeFields(writer,
                IServiceCallback::OnRegistration::Arguments{
                        .name = instance.fqName,
                        .binder = {.object = instance.object,
                                   .stability = static_cast<uint32_t>(instance.note.stability)}});
    const Status told =
            process->transactOneway(listener, IServiceCallback::OnRegistration::kCode, parcel);
    if (!told.ok()) {
        log(LogLevel::WARNING, told.withContext("notifying of " + instance.fqName).toString());
    }
}

Status ServiceManagerObject::registerForNotifications(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(const auto asked, call.read<Interface::RegisterForNotifications>());
    HALYARD_RETURN_IF_ERROR(call.end());
    const std::string what = "listening for " + shown(asked.name);
    if (!isValidName(asked.name)) {
        return refuse(call, what, illegalArgument("Invalid service name."));
    }
    if (isNull(asked.callback)) {
        return refuse(call, what, nullPointer("Null callback."));
    }
    if (const Status added =
                mRegistry->addListener(asked.name, "", asked.callback, ownerOf(call.caller));
        !added.ok()) {
        return refuse(call, what, added);
    }
    return call.answer();
}

Status ServiceManagerObject::unregisterForNotifications(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(const auto asked, call.read<Interface::UnregisterForNotifications>());
    HALYARD_RETURN_IF_ERROR(call.end());
    if (const Status removed =
                mRegistry->removeListener(asked.name, "", asked.callback, ownerOf(call.caller));
        !removed.ok()) {
        return refuse(call, "listening no more for " + shown(asked.name),
                      illegalState("Nothing to unregister."));
    }
    return call.answer();
}

}  // namespace halyard::device
