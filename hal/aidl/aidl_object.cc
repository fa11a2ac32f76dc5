// SPDX-License-Identifier: Apache-2.0

#include "hal/aidl/aidl_object.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/log.h"
#include "hal/aidl/types.h"
#include "hal/service/debug_call.h"

namespace halyard::hal::aidl {
namespace {

// The same of every interface that has them.
constexpr uint32_t kGetInterfaceVersion = nn::IDevice::GetInterfaceVersion::kCode;
constexpr uint32_t kGetInterfaceHash = nn::IDevice::GetInterfaceHash::kCode;

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

Result<ParcelWriter*> AidlObject::Call::beginAnswer() {
    HALYARD_ASSIGN_OR_RETURN(ParcelWriter * reply, mIncoming.endArguments());
    mAnswered = true;
    return reply;
}

Status AidlObject::Call::answer() {
    HALYARD_ASSIGN_OR_RETURN(ParcelWriter * reply, beginAnswer());
    AidlWriter(*reply, mRelease).writeReplyHead();
    return {};
}

Status AidlObject::Call::raise(const Exception& exception) {
    HALYARD_ASSIGN_OR_RETURN(ParcelWriter * reply, beginAnswer());
    AidlWriter(*reply, mRelease).writeException(exception);
    return {};
}

Result<const MethodInfo*> AidlObject::methodFor(uint32_t code) const {
    const MethodInfo* method = findMethod(mInterface, methodOf(code));
    if (method == nullptr || (mVersion != 0 && method->since > mVersion)) {
        return unsupported("no such method");
    }
    return method;
}

WireStatus AidlObject::onTransact(IncomingCall& incoming) {
    const Result<const MethodInfo*> method = methodFor(incoming.code());
    auto refuse = [&](const Status& status, WireStatus answer) {
        log(LogLevel::WARNING,
            std::string(mInterface.descriptor) + "." +
                    (method.ok() ? std::string((*method)->name) : std::to_string(incoming.code())) +
                    " called by pid " + std::to_string(incoming.caller().pid) + ": " +
                    status.toString());
        return answer;
    };
    if (!method.ok()) {
        if (incoming.code() == static_cast<uint32_t>(MetaCode::DUMP) && isApp(incoming.caller())) {
            return refuse(invalidArgument("apps may not dump"), WireStatus::PERMISSION_DENIED);
        }
        const Status served = serveMeta(incoming);
        return served.ok() || served.code() == StatusCode::UNSUPPORTED
                       ? wireStatus(served)
                       : refuse(served, wireStatus(served));
    }
    const Result<std::string> head = AidlReader(incoming.arguments()).readRequestHead();
    if (!head.ok()) {
        return refuse(head.status(), WireStatus::BAD_TYPE);
    }
    if (*head != mInterface.descriptor) {
        return refuse(invalidArgument("the call is for " + *head), WireStatus::BAD_TYPE);
    }
    Call call(incoming, mRelease);
    Status status;
    if ((*method)->code == kGetInterfaceVersion) {
        status = call.answer(nn::IDevice::GetInterfaceVersion::Results{.result = mVersion});
    } else if ((*method)->code == kGetInterfaceHash) {
        const auto last = static_cast<size_t>(std::max(mVersion, 1)) - 1;
        status = call.answer(nn::IDevice::GetInterfaceHash::Results{
                .result = std::string(mInterface.hashes[last])});
    } else {
        status = serve((*method)->code, call);
    }
    if (status.ok() && !call.answered()) {
        status = call.answer();
    }
    return status.ok() ? WireStatus::OK : refuse(status, wireStatus(status));
}

Status AidlObject::serveMeta(IncomingCall& incoming) {
    const auto code = static_cast<MetaCode>(incoming.code());
    if (code == MetaCode::DUMP) {
        return dump(incoming);
    }
    switch (code) {
        case MetaCode::PING:
            return incoming.endArguments().status();
        case MetaCode::INTERFACE: {
            HALYARD_ASSIGN_OR_RETURN(ParcelWriter * reply, incoming.endArguments());
            AidlWriter(*reply, mRelease).writeString(mInterface.descriptor);
            return {};
        }
        case MetaCode::EXTENSION: {
            HALYARD_ASSIGN_OR_RETURN(ParcelWriter * reply, incoming.endArguments());
            AidlWriter(*reply, mRelease).writeObject({});
            return {};
        }
        case MetaCode::DEBUG_PID: {
            HALYARD_ASSIGN_OR_RETURN(ParcelWriter * reply, incoming.endArguments());
            reply->writeInt32(getpid());
            return {};
        }
        default:
            return unsupported("no such method");
    }
}

Status AidlObject::dump(IncomingCall& incoming) {
    AidlReader reader(incoming.arguments());
    HALYARD_ASSIGN_OR_RETURN(const BorrowedDescriptor received, reader.readBareDescriptor());
    HALYARD_ASSIGN_OR_RETURN(const size_t count, reader.readCount());
    std::vector<std::string> options;
    for (size_t i = 0; i < count; ++i) {
        HALYARD_ASSIGN_OR_RETURN(std::string option, reader.readString());
        options.push_back(std::move(option));
    }
    DebugCall call(incoming.caller(), received.fd);
    HALYARD_RETURN_IF_ERROR(incoming.endArguments().status());
    call.answer([&] { return debuggedBy(incoming.caller()); }, [&] { return debugText(options); });
    return {};
}

Result<std::shared_ptr<driver::Client>> AidlObject::debuggedBy(const Caller& /*caller*/) const {
    return std::shared_ptr<driver::Client>();
}

std::string AidlObject::debugText(std::span<const std::string> /*options*/) const {
    return {};
}

}  // namespace halyard::hal::aidl
