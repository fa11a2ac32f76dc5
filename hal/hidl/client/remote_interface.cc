// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/client/remote_interface.h"

#include <algorithm>
#include <utility>

#include "hal/client/debug_text.h"
#include "hal/hidl/types.h"

namespace halyard::hal::hidl {

using base::v1_0::DebugInfo;
using base::v1_0::IBase;

Result<RemoteInterface> RemoteInterface::cast(std::shared_ptr<BinderProcess> process,
                                              const ObjectRef& object,
                                              const InterfaceLayout& interface) {
    const auto* remote = std::get_if<std::shared_ptr<RemoteObject>>(&object);
    if (remote == nullptr || *remote == nullptr) {
        return internalError("the service gave no " + std::string(interface.descriptor));
    }
    RemoteInterface result(std::move(process), *remote, interface);
    HALYARD_ASSIGN_OR_RETURN(const std::vector<std::string> chain, result.interfaceChain());
    if (std::find(chain.begin(), chain.end(), interface.descriptor) == chain.end()) {
        return internalError("the service's object is no " + std::string(interface.descriptor));
    }
    return result;
}

Result<std::unique_ptr<Reply>> RemoteInterface::call(uint32_t method,
                                                     const WriteArguments& write) const {
    ParcelWriter arguments;
    writeRequestHead(arguments, *mInterface, method);
    write(arguments);
    HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<Reply> reply,
                             mProcess->transact(mObject, method, arguments));
    HALYARD_RETURN_IF_ERROR(readReplyHead(reply->reader()));
    return reply;
}

Result<std::vector<std::string>> RemoteInterface::interfaceChain() const {
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Reply> reply, call(IBase::interfaceChain));
    HALYARD_ASSIGN_OR_RETURN(const auto* names, readValue<HidlVec<HidlString>>(reply->reader()));
    std::vector<std::string> chain;
    for (const HidlString& name : names->view()) {
        chain.emplace_back(name.view());
    }
    return chain;
}

Status RemoteInterface::ping() const {
    return call(IBase::ping).status();
}

Result<int32_t> RemoteInterface::servicePid() const {
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Reply> reply, call(IBase::getDebugInfo));
    HALYARD_ASSIGN_OR_RETURN(const auto* info, readValue<DebugInfo>(reply->reader()));
    return info->pid;
}

Result<std::string> RemoteInterface::debug() const {
    return readDebugText([this](int into) {
        const NativeHandle handle = {.fds = {into}, .ints = {}};
        return call(IBase::debug,
                    [&handle](ParcelWriter& arguments) {
                        writeNativeHandle(arguments, &handle);
                        writeValue(arguments, HidlVec<HidlString>());
                    })
                .status();
    });
}

}  // namespace halyard::hal::hidl
