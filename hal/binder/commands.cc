// SPDX-License-Identifier: Apache-2.0

#include "hal/binder/commands.h"

namespace halyard::hal {

void CommandBuffer::add(uint32_t command) {
    addBytes(command, {});
}

void CommandBuffer::addBytes(uint32_t command, std::span<const uint8_t> payload) {
    const auto* code = reinterpret_cast<const uint8_t*>(&command);
    mBytes.insert(mBytes.end(), code, code + sizeof(command));
    mBytes.insert(mBytes.end(), payload.begin(), payload.end());
}

Status parseReturns(std::span<const uint8_t> stream, std::deque<Return>& returns) {
    while (!stream.empty()) {
        Return item;
        if (stream.size() < sizeof(item.command)) {
            return internalError("binder: a return code is cut short");
        }
        std::memcpy(&item.command, stream.data(), sizeof(item.command));
        stream = stream.subspan(sizeof(item.command));
        const size_t size = _IOC_SIZE(item.command);
        if (size > item.payload.size() || size > stream.size()) {
            return internalError("binder: " + returnName(item.command) + " with " +
                                 std::to_string(stream.size()) + " bytes of payload");
        }
        std::memcpy(item.payload.data(), stream.data(), size);
        stream = stream.subspan(size);
        returns.push_back(item);
    }
    return {};
}

std::string returnName(uint32_t command) {
    switch (command) {
        case BR_ERROR:
            return "BR_ERROR";
        case BR_OK:
            return "BR_OK";
        case BR_TRANSACTION_SEC_CTX:
            return "BR_TRANSACTION_SEC_CTX";
        case BR_TRANSACTION:
            return "BR_TRANSACTION";
        case BR_REPLY:
            return "BR_REPLY";
        case BR_DEAD_REPLY:
            return "BR_DEAD_REPLY";
        case BR_TRANSACTION_COMPLETE:
            return "BR_TRANSACTION_COMPLETE";
        case BR_INCREFS:
            return "BR_INCREFS";
        case BR_ACQUIRE:
            return "BR_ACQUIRE";
        case BR_RELEASE:
            return "BR_RELEASE";
        case BR_DECREFS:
            return "BR_DECREFS";
        case BR_NOOP:
            return "BR_NOOP";
        case BR_SPAWN_LOOPER:
            return "BR_SPAWN_LOOPER";
        case BR_FINISHED:
            return "BR_FINISHED";
        case BR_DEAD_BINDER:
            return "BR_DEAD_BINDER";
        case BR_CLEAR_DEATH_NOTIFICATION_DONE:
            return "BR_CLEAR_DEATH_NOTIFICATION_DONE";
        case BR_FAILED_REPLY:
            return "BR_FAILED_REPLY";
        case BR_FROZEN_REPLY:
            return "BR_FROZEN_REPLY";
        case BR_ONEWAY_SPAM_SUSPECT:
            return "BR_ONEWAY_SPAM_SUSPECT";
        default:
            return "return " + std::to_string(command);
    }
}

}  // namespace halyard::hal
