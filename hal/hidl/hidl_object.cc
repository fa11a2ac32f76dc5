// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/hidl_object.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "engine/base/file_descriptor.h"
#include "engine/base/log.h"
#include "hal/descriptors/client_lanes.h"
#include "hal/descriptors/descriptor_kind.h"
#include "hal/hidl/types.h"
#include "hal/service/debug_output.h"

namespace halyard::hal::hidl {

namespace {

using base::v1_0::DebugInfo;
using base::v1_0::IBase;

// Apps have user ids from here on, in every Android user's range.
constexpr uint32_t kFirstAppUid = 10000;

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

// As long as the writing may take, and a little longer.
constexpr std::chrono::milliseconds kDebugPatience{1500};

// Closes it afterwards. What the text goes into may be held by its other users, so that both wait
// for them; the caller waits for no longer than it may take.
void write(ClientLanes::Owner owner, const std::shared_ptr<FileDescriptor>& output,
           std::string text) {
    ClientLanes::here().runAndWait(
            owner,
            [output, text = std::move(text)] {
                writeDebugOutput(output->get(), text);
                output->reset();
            },
            kDebugPatience);
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
    if (method->code == IBase::debug && incoming.caller().euid >= kFirstAppUid) {
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
    // The received one is closed with the arguments. Of what is neither a pipe nor a socket none is
    // needed.
    const auto output = std::make_shared<FileDescriptor>();
    if (handle.valid && !handle.handle.fds.empty() && !closesAtOnce(handle.handle.fds[0])) {
        output->reset(fcntl(handle.handle.fds[0], F_DUPFD_CLOEXEC, 0));
    }
    HALYARD_RETURN_IF_ERROR(call.endArguments().status());
    if (!output->valid()) {
        return {};
    }
    const ClientLanes::Owner owner = {.pid = call.caller.pid, .uid = call.caller.euid};
    const Status written = writeDebugText(owner, output, options, call.caller);
    if (!written.ok()) {
        log(LogLevel::WARNING, "debug called by pid " + std::to_string(call.caller.pid) +
                                       " gets no text: " + std::string(written.message()));
        ClientLanes::here().run(owner, [output] { output->reset(); });
    }
    return {};
}

Status HidlObject::writeDebugText(ClientLanes::Owner owner,
                                  const std::shared_ptr<FileDescriptor>& output,
                                  std::span<const std::string> options,
                                  const Caller& caller) const {
    HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<driver::Client> client, debuggedBy(caller));
    if (client == nullptr) {
        write(owner, output, debugText(options));
        return {};
    }
    HALYARD_ASSIGN_OR_RETURN(const driver::CallGate::Permit permit,
                             client->shares().calls->enter());
    write(owner, output, debugText(options));
    return {};
}

Result<std::shared_ptr<driver::Client>> HidlObject::debuggedBy(const Caller& /*caller*/) const {
    return std::shared_ptr<driver::Client>();
}

std::string HidlObject::debugText(std::span<const std::string> /*options*/) const {
    return {};
}

}  // namespace halyard::hal::hidl
