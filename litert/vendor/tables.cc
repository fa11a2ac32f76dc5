// SPDX-License-Identifier: Apache-2.0

#include "litert/vendor/tables.h"

#include <cstring>
#include <string>

#include "engine/base/log.h"

namespace halyard::vendor {
namespace {

// Of the minor versions that there may be. Slots are appended with each.
constexpr uint16_t kMostMinor = 255;

abi::AbiHeader headerOf(const void* table) {
    abi::AbiHeader header = {};
    std::memcpy(&header, table, sizeof header);
    return header;
}

}  // namespace

Status checkTable(const void* table, std::string_view name, uint16_t major,
                  std::span<const abi::TableSlot> slots) {
    if (table == nullptr) {
        return invalidArgument("LiteRT hands over no " + std::string(name));
    }
    const abi::AbiHeader header = headerOf(table);
    const std::string said = "LiteRT's " + std::string(name) + " is of version " +
                             std::to_string(header.major) + "." + std::to_string(header.minor) +
                             " with " + std::to_string(header.structSize) + " bytes";
    if (header.major != major || header.minor > kMostMinor || header.reserved != 0 ||
        header.structSize % sizeof(void*) != 0) {
        return unsupported(said + ", and version " + std::to_string(major) + " is known");
    }
    for (const abi::TableSlot& slot : slots) {
        if (!hasSlot(table, slot.offset)) {
            return unsupported(said + ", and has no " + slot.name);
        }
    }
    return {};
}

bool hasSlot(const void* table, size_t offset) {
    return offset + sizeof(void*) <= headerOf(table).structSize &&
           slotAt<void*>(table, offset) != nullptr;
}

Status checkApiVersion(const abi::ApiVersion& version) {
    if (version.major != abi::kApiVersion.major || version.minor != abi::kApiVersion.minor ||
        version.patch != abi::kApiVersion.patch) {
        return unsupported("LiteRT's vendor interface is " + std::to_string(version.major) + "." +
                           std::to_string(version.minor) + "." + std::to_string(version.patch) +
                           ", and " + std::to_string(abi::kApiVersion.major) + "." +
                           std::to_string(abi::kApiVersion.minor) + "." +
                           std::to_string(abi::kApiVersion.patch) + " is known");
    }
    return {};
}

abi::Status answer(const Status& status, std::string_view what) {
    if (status.ok()) {
        return code(abi::StatusCode::OK);
    }
    log(LogLevel::ERROR, std::string(what) + ": " + status.toString());
    switch (status.code()) {
        case StatusCode::INVALID_ARGUMENT:
            return code(abi::StatusCode::INVALID_ARGUMENT);
        case StatusCode::UNSUPPORTED:
            return code(abi::StatusCode::UNSUPPORTED);
        case StatusCode::RESOURCE_EXHAUSTED:
            return code(abi::StatusCode::NO_MEMORY);
        case StatusCode::DEADLINE_EXCEEDED:
            return code(abi::StatusCode::TIMEOUT_EXPIRED);
        default:
            return code(abi::StatusCode::RUNTIME_FAILURE);
    }
}

Status calledStatus(abi::Status status, std::string_view function) {
    return status == code(abi::StatusCode::OK)
                   ? Status()
                   : internalError("LiteRT's " + std::string(function) + " answers with " +
                                   std::to_string(status));
}

}  // namespace halyard::vendor
