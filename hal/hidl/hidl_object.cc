// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/hidl_object.h"

#include <unistd.h>

#include <memory>
#include <vector>

#include "engine/base/log.h"
#include "hal/hidl/types.h"
#include "hal/service/debug_call.h"

namespace halyard::hal::hidl {

namespace {

using base::v1_0::DebugInfo;
using base::v1_0::IBase;

WireStatus wireStatus(const Status& status) {
    switch (status.code()) {
        case StatusCode::OK:
            return WireStatus::OK;
        case StatusCode::INVALID_ARGUMENT:
            return WireStatus::BAD_VALUE;
        case StatusCode::UNSUPPORTED:
            return WireStatus::UNKNOWN_TRANSACTION;
        default:
            return WireStatus::UNKNOWN_ERROR;
    }
}

}  // namespace

Result<ParcelWriter*> HidlObject::Call::endArguments() {
    const bool first = !mIncoming.argumentsEnded();
    HALYARD_ASSIGN_OR_RETURN(auto* reply, mIncoming.endArguments());
    if (first && !mIncoming.oneway()) {
        writeReplyHead(*reply);
    }
    return reply;
}

WireStatus HidlObject::onTransact(IncomingCall& incoming) {
    const MethodLayout* method = findMethod(mInterface, incoming.code());
    if (method == nullptr) {
        return WireStatus::UNKNOWN_TRANSACTION;
    }
    auto refuse = [&](const Status& status, WireStatus answer) {
        log(LogLevel::WARNING, std::string(mInterface.descriptor) + "." +
                                       std::string(method->name) + " called by pid " +
                                       std::to_string(incoming.caller().pid) + ": " +
                                       status.toString());
        return answer;
    };
    Result<std::string_view> token = readInterfaceToken(incoming.arguments());
    if (!token.ok()) {
        return refuse(token.status(), WireStatus::BAD_TYPE);
    }
    if (*token != method->token) {
        return refuse(invalidArgument("the interface token is " + std::string(*token)),
                      WireStatus::BAD_TYPE);
    }
    if (incoming.oneway() != method->oneway) {
        return refuse(invalidArgument(incoming.oneway() ? "must not be oneway" : "must be oneway"),
                      WireStatus::UNKNOWN_ERROR);
    }
    if (method->code == IBase::debug && isApp(incoming.caller())) {
        return refuse(invalidArgument("apps may not debug"), WireStatus::PERMISSION_DENIED);
    }
    Call call(incoming);
    Status status = method->token == IBase::layout().descriptor ? serveBase(method->code, call)
                                                                : serve(method->code, call);
    if (status.ok()) {
        // For those that have neither arguments nor results.
        status = call.endArguments().status();
    }
    return status.ok() ? WireStatus::OK : refuse(status, wireStatus(status));
}

Status HidlObject::serveBase(uint32_t code, Call& call) {
    if (code == IBase::debug) {
        return debug(call);
    }
    // No other method of IBase has arguments that matter here.
    HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
    switch (code) {
        case IBase::ping:
        case IBase::notifySyspropsChanged:  // Halyard reads no system properties
        case IBase::setHALInstrumentation:
            return {};
        case IBase::interfaceChain:
            writeStrings(*reply, mInterface.chain);
            return {};
        case IBase::interfaceDescriptor:
            writeValue(*reply, makeString(*reply, mInterface.descriptor));
            return {};
        case IBase::getHashChain:
            writeValue(*reply, makeVec(*reply, mInterface.hashes));
            return {};
        case IBase::getDebugInfo: {
            DebugInfo info;
            info.pid = getpid();
            info.arch = sizeof(void*) == 8 ? DebugInfo::Architecture::IS_64BIT
                                           : DebugInfo::Architecture::IS_32BIT;
            writeValue(*reply, info);
            return {};
        }
        default:
            return unsupported("never sent");
    }
}

Status HidlObject::debug(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(const ReceivedHandle handle, readNativeHandle(call.arguments));
    HALYARD_ASSIGN_OR_RETURN(const std::vector<std::string> options, readStrings(call.arguments));
    const bool given = handle.valid && !handle.handle.fds.empty();
    DebugCall debugCall(call.caller, given ? handle.handle.fds[0] : -1);
    HALYARD_RETURN_IF_ERROR(call.endArguments().status());
    debugCall.answer([&] { return debuggedBy(call.caller); }, [&] { return debugText(options); });
    return {};
}

Result<std::shared_ptr<driver::Client>> HidlObject::debuggedBy(const Caller& /*caller*/) const {
    return std::shared_ptr<driver::Client>();
}

std::string HidlObject::debugText(std::span<const std::string> /*options*/) const {
    return {};
}

}  // namespace halyard::hal::hidl
