// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/service_manager.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "hal/hidl/codec.h"
#include "hal/hidl/types.h"

namespace halyard::hal::hidl {
namespace {

using base::v1_0::IBase;
using manager::v1_2::IServiceManager;

// The kernel logs each call to a manager that isn't there, so the calls become rarer.
constexpr std::chrono::milliseconds kFirstPause{5};
constexpr std::chrono::milliseconds kLongestPause{160};

}  // namespace

HwServiceManager::HwServiceManager(std::shared_ptr<BinderProcess> process)
    : mProcess(std::move(process)) {}

Status HwServiceManager::waitUntilReady(std::chrono::milliseconds timeout) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    std::chrono::milliseconds pause = kFirstPause;
    for (;;) {
        ParcelWriter ping;
        writeRequestHead(ping, IBase::layout(), IBase::ping);
        Status answered =
                mProcess->transact(mProcess->contextManager(), IBase::ping, ping).status();
        if (answered.ok()) {
            return {};
        }
        if (std::chrono::steady_clock::now() >= deadline) {
            return {StatusCode::UNAVAILABLE,
                    "hwservicemanager does not answer: " + std::string(answered.message())};
        }
        std::this_thread::sleep_for(pause);
        pause = std::min(2 * pause, kLongestPause);
    }
}

Status HwServiceManager::add(std::string_view name, const std::shared_ptr<LocalObject>& service,
                             std::span<const std::string_view> chain) {
    Result<std::unique_ptr<Reply>> reply =
            call(IServiceManager::addWithChain, [&](ParcelWriter& arguments) {
                writeValue(arguments, makeString(arguments, name));
                arguments.writeObject(service);
                writeStrings(arguments, chain);
            });
    if (reply.status().code() == StatusCode::UNSUPPORTED) {
        // Before Android 10; the manager asks the service for its chain while we wait.
        reply = call(IServiceManager::add, [&](ParcelWriter& arguments) {
            writeValue(arguments, makeString(arguments, name));
            arguments.writeObject(service);
        });
    }
    if (!reply.ok()) {
        return reply.status().withContext("registering " + std::string(name));
    }
    HALYARD_ASSIGN_OR_RETURN(bool added, (*reply)->reader().readBool());
    return added ? Status()
                 : internalError("hwservicemanager refuses to register " + std::string(name) +
                                 " (another service of that name lives, SELinux, or an interface "
                                 "that the VINTF manifest lacks)");
}

Result<bool> HwServiceManager::isDeclared(std::string_view interface, std::string_view name) {
    using Transport = manager::v1_0::IServiceManager::Transport;
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Reply> reply,
                             call(IServiceManager::getTransport, [&](ParcelWriter& arguments) {
                                 writeValue(arguments, makeString(arguments, interface));
                                 writeValue(arguments, makeString(arguments, name));
                             }));
    HALYARD_ASSIGN_OR_RETURN(const uint32_t transport, reply->reader().readUint32());
    return transport == static_cast<uint32_t>(Transport::HWBINDER);
}

Result<ObjectRef> HwServiceManager::get(std::string_view interface, std::string_view name) {
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Reply> reply,
                             call(IServiceManager::get, [&](ParcelWriter& arguments) {
                                 writeValue(arguments, makeString(arguments, interface));
                                 writeValue(arguments, makeString(arguments, name));
                             }));
    return reply->reader().readObject();
}

Status HwServiceManager::listen(std::string_view interface, std::string_view name,
                                const std::shared_ptr<LocalObject>& listener) {
    HALYARD_ASSIGN_OR_RETURN(
            const std::unique_ptr<Reply> reply,
            call(IServiceManager::registerForNotifications, [&](ParcelWriter& arguments) {
                writeValue(arguments, makeString(arguments, interface));
                writeValue(arguments, makeString(arguments, name));
                arguments.writeObject(listener);
            }));
    HALYARD_ASSIGN_OR_RETURN(bool listens, reply->reader().readBool());
    return listens ? Status() : internalError("hwservicemanager takes no listener");
}

Result<std::vector<std::string>> HwServiceManager::list() {
    HALYARD_ASSIGN_OR_RETURN(const std::unique_ptr<Reply> reply,
                             call(IServiceManager::list, [](ParcelWriter&) {}));
    return readStrings(reply->reader());
}

Result<std::unique_ptr<Reply>> HwServiceManager::call(
        uint32_t code, const std::function<void(ParcelWriter&)>& writeArguments) {
    ParcelWriter arguments;
    writeRequestHead(arguments, IServiceManager::layout(), code);
    writeArguments(arguments);
    HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<Reply> reply,
                             mProcess->transact(mProcess->contextManager(), code, arguments));
    HALYARD_RETURN_IF_ERROR(readReplyHead(reply->reader()).withContext("hwservicemanager"));
    return reply;
}

}  // namespace halyard::hal::hidl
