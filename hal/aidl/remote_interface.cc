// SPDX-License-Identifier: Apache-2.0

#include "hal/aidl/remote_interface.h"

#include <optional>

#include "driver/model/error_status.h"
#include "hal/client/debug_text.h"

namespace halyard::hal::aidl {

Status statusOf(const Exception& exception) {
    const std::string message = exception.message.empty() ? "" : ": " + exception.message;
    if (exception.code != Exception::kServiceSpecific) {
        return internalError("exception " + std::to_string(exception.code) + message);
    }
    const auto answer = static_cast<driver::ErrorStatus>(exception.serviceSpecific);
    const std::string_view name = driver::nameOf(answer);
    const std::string number = std::to_string(exception.serviceSpecific);
    // That there was no error is no exception.
    return driver::toStatus(
            answer == driver::ErrorStatus::NONE ? driver::ErrorStatus::GENERAL_FAILURE : answer,
            "the service answers " + (name.empty() ? number : std::string(name)) + message);
}

Result<RemoteInterface> RemoteInterface::cast(std::shared_ptr<BinderProcess> process,
                                              const ObjectRef& object,
                                              const InterfaceInfo& interface,
                                              const Release& release) {
    const auto* remote = std::get_if<std::shared_ptr<RemoteObject>>(&object);
    if (remote == nullptr || *remote == nullptr) {
        return internalError("the service gave no " + std::string(interface.descriptor));
    }
    HALYARD_ASSIGN_OR_RETURN(
            const std::unique_ptr<Reply> reply,
            process->transact(*remote, static_cast<uint32_t>(MetaCode::INTERFACE), ParcelWriter()));
    HALYARD_ASSIGN_OR_RETURN(const std::string descriptor,
                             AidlReader(reply->reader()).readString());
    if (descriptor != interface.descriptor) {
        return internalError("the service's object is no " + std::string(interface.descriptor) +
                             " but " + descriptor);
    }
    return RemoteInterface(std::move(process), *remote, interface, release);
}

Status RemoteInterface::ping() const {
    return mProcess->transact(mObject, static_cast<uint32_t>(MetaCode::PING), ParcelWriter())
            .status();
}

Result<int32_t> RemoteInterface::servicePid() const {
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Reply> reply,
                             mProcess->transact(mObject, static_cast<uint32_t>(MetaCode::DEBUG_PID),
                                                ParcelWriter()));
    return reply->reader().readInt32();
}

Result<std::string> RemoteInterface::dump() const {
    return readDebugText([this](int into) {
        ParcelWriter arguments;
        arguments.writeDescriptor(into);
        arguments.writeInt32(0);  // no further arguments
        return mProcess->transact(mObject, static_cast<uint32_t>(MetaCode::DUMP), arguments)
                .status();
    });
}

Result<std::unique_ptr<Reply>> RemoteInterface::transact(uint32_t code,
                                                         const WriteArguments& write) const {
    ParcelWriter arguments;
    AidlWriter writer(arguments, mRelease);
    writer.writeRequestHead(mInterface->descriptor);
    write(writer);
    Result<std::unique_ptr<Reply>> reply = mProcess->transact(mObject, code, arguments);
    if (reply.status().code() == StatusCode::INVALID_ARGUMENT) {
        return internalError("the service could not be called: " + reply.status().toString());
    }
    HALYARD_RETURN_IF_ERROR(reply.status());
    const Result<std::optional<Exception>> exception =
            AidlReader((*reply)->reader()).readReplyHead();
    if (!exception.ok()) {
        return internalError("the answer: " + exception.status().toString());
    }
    if (exception->has_value()) {
        return statusOf(**exception);
    }
    return reply;
}

Status RemoteInterface::transactOneway(uint32_t code, const WriteArguments& write) const {
    ParcelWriter arguments;
    AidlWriter writer(arguments, mRelease);
    writer.writeRequestHead(mInterface->descriptor);
    write(writer);
    return mProcess->transactOneway(mObject, code, arguments);
}

}  // namespace halyard::hal::aidl
