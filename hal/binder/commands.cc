// SPDX-License-Identifier: Apache-2.0

#include "hal/binder/commands.h"

#include <algorithm>
#include <iterator>

namespace halyard::hal {

void CommandBuffer::add(uint32_t command) {
    addBytes(command, {});
}

void CommandBuffer::addBytes(uint32_t command, std::span<const uint8_t> payload) {
    const auto* code = reinterpret_cast<const uint8_t*>(&command);
    mBytes.insert(mBytes.end(), code, code + sizeof(command));
    mBytes.insert(mBytes.end(), payload.begin(), payload.end());
}

void CommandBuffer::dropTaken(size_t size) {
    mBytes.erase(mBytes.begin(),
                 mBytes.begin() + static_cast<ptrdiff_t>(std::min(size, mBytes.size())));
}

void CommandBuffer::dropParcels() {
    std::vector<uint8_t> kept;
    forEach([&](uint32_t command, std::span<const uint8_t> bytes) {
        if (command != BC_TRANSACTION_SG && command != BC_REPLY_SG) {
            kept.insert(kept.end(), bytes.begin(), bytes.end());
        }
    });
    mBytes = std::move(kept);
}

bool CommandBuffer::holds(uint32_t wanted) const {
    bool found = false;
    forEach([&](uint32_t command, std::span<const uint8_t> /*bytes*/) {
        found = found || command == wanted;
    });
    return found;
}

void CommandBuffer::forEach(
        const std::function<void(uint32_t command, std::span<const uint8_t> bytes)>& look) const {
    for (std::span<const uint8_t> left = mBytes; !left.empty();) {
        uint32_t command = 0;
        std::memcpy(&command, left.data(), sizeof(command));
        const size_t size = sizeof(command) + _IOC_SIZE(command);
        look(command, left.first(size));
        left = left.subspan(size);
    }
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

namespace {

struct NamedReturn {
    uint32_t command;
    const char* name;
};
constexpr NamedReturn kReturns[] = {
        {BR_ERROR, "BR_ERROR"},
        {BR_OK, "BR_OK"},
        {BR_TRANSACTION_SEC_CTX, "BR_TRANSACTION_SEC_CTX"},
        {BR_TRANSACTION, "BR_TRANSACTION"},
        {BR_REPLY, "BR_REPLY"},
        {BR_DEAD_REPLY, "BR_DEAD_REPLY"},
        {BR_TRANSACTION_COMPLETE, "BR_TRANSACTION_COMPLETE"},
        {BR_INCREFS, "BR_INCREFS"},
        {BR_ACQUIRE, "BR_ACQUIRE"},
        {BR_RELEASE, "BR_RELEASE"},
        {BR_DECREFS, "BR_DECREFS"},
        {BR_NOOP, "BR_NOOP"},
        {BR_SPAWN_LOOPER, "BR_SPAWN_LOOPER"},
        {BR_FINISHED, "BR_FINISHED"},
        {BR_DEAD_BINDER, "BR_DEAD_BINDER"},
        {BR_CLEAR_DEATH_NOTIFICATION_DONE, "BR_CLEAR_DEATH_NOTIFICATION_DONE"},
        {BR_FAILED_REPLY, "BR_FAILED_REPLY"},
        {BR_FROZEN_REPLY, "BR_FROZEN_REPLY"},
        {BR_ONEWAY_SPAM_SUSPECT, "BR_ONEWAY_SPAM_SUSPECT"},
        {kTransactionPendingFrozen, "BR_TRANSACTION_PENDING_FROZEN"},
};

}  // namespace

bool isKnownReturn(uint32_t command) {
    return std::any_of(std::begin(kReturns), std::end(kReturns),
                       [command](const NamedReturn& item) { return item.command == command; });
}

std::string returnName(uint32_t command) {
    for (const NamedReturn& item : kReturns) {
        if (item.command == command) {
            return item.name;
        }
    }
    return "return " + std::to_string(command);
}

}  // namespace halyard::hal
