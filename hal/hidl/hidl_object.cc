// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/hidl_object.h"

#include <unistd.h>

#include <vector>

#include "engine/base/log.h"
#include "hal/hidl/debug_output.h"
#include "hal/hidl/types.h"

namespace halyard::hal::hidl {

namespace {

using base::v1_0::DebugInfo;
using base::v1_0::IBase;

// Apps have user ids from here on, in every Android user's range.
constexpr uint32_t kFirstAppUid = 10000;

void writeStrings(ParcelWriter& writer, std::span<const std::string_view> texts) {
    std::vector<HidlString> strings;
    for (std::string_view text : texts) {
        strings.push_back(makeString(writer, text));
    }
    writeValue(writer, makeVec(writer, strings));
}

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

WireStatus HidlObject::onTransact(uint32_t code, bool oneway, const Caller& caller,
                                  ParcelReader& arguments, ParcelWriter& reply) {
    const MethodLayout* method = findMethod(mInterface, code);
    if (method == nullptr) {
        return WireStatus::UNKNOWN_TRANSACTION;
    }
    auto refuse = [&](const Status& status, WireStatus answer) {
        log(LogLevel::WARNING, std::string(mInterface.descriptor) + "." +
                                       std::string(method->name) + " called by pid " +
                                       std::to_string(caller.pid) + ": " + status.toString());
        return answer;
    };
    Result<std::string_view> token = arguments.readInterfaceToken();
    if (!token.ok()) {
        return refuse(token.status(), WireStatus::BAD_TYPE);
    }
    if (*token != method->token) {
        return refuse(invalidArgument("the interface token is " + std::string(*token)),
                      WireStatus::BAD_TYPE);
    }
    if (oneway != method->oneway) {
        return refuse(invalidArgument(oneway ? "must not be oneway" : "must be oneway"),
                      WireStatus::UNKNOWN_ERROR);
    }
    if (!oneway) {
        writeReplyHead(reply);
    }
    Call call{.caller = caller, .arguments = arguments, .reply = reply};
    // No IBase method but debug has arguments, so that only debug can fail.
    if (code == IBase::debug && caller.euid >= kFirstAppUid) {
        return refuse(invalidArgument("apps may not debug"), WireStatus::PERMISSION_DENIED);
    }
    Status status =
            method->token == IBase::layout().descriptor ? serveBase(code, call) : serve(code, call);
    return status.ok() ? WireStatus::OK : refuse(status, wireStatus(status));
}

Status HidlObject::serveBase(uint32_t code, Call& call) {
    switch (code) {
        case IBase::ping:
        case IBase::notifySyspropsChanged:  // Halyard reads no system properties
        case IBase::setHALInstrumentation:
            return {};
        case IBase::interfaceChain:
            writeStrings(call.reply, mInterface.chain);
            return {};
        case IBase::interfaceDescriptor:
            writeValue(call.reply, makeString(call.reply, mInterface.descriptor));
            return {};
        case IBase::getHashChain:
            writeValue(call.reply, makeVec(call.reply, mInterface.hashes));
            return {};
        case IBase::getDebugInfo: {
            DebugInfo info;
            info.pid = getpid();
            info.arch = sizeof(void*) == 8 ? DebugInfo::Architecture::IS_64BIT
                                           : DebugInfo::Architecture::IS_32BIT;
            writeValue(call.reply, info);
            return {};
        }
        case IBase::debug:
            return debug(call);
        default:
            return unsupported("never sent");
    }
}

Status HidlObject::debug(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(ParcelReader::Handle handle, call.arguments.readNativeHandle());
    HALYARD_ASSIGN_OR_RETURN(const auto* strings, readValue<HidlVec<HidlString>>(call.arguments));
    std::vector<std::string> options;
    for (const HidlString& string : strings->view()) {
        options.emplace_back(string.view());
    }
    if (handle.valid && !handle.handle.fds.empty()) {
        writeDebugOutput(handle.handle.fds[0], debugText(options));
    }
    return {};
}

std::string HidlObject::debugText(std::span<const std::string> /*options*/) const {
    return {};
}

}  // namespace halyard::hal::hidl
