// SPDX-License-Identifier: Apache-2.0
//
// InterfaceInfo: a stable AIDL interface but for its types, which are generated (types.h).

#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace halyard::hal::aidl {

struct MethodInfo {
    std::string_view name;
    uint32_t code = 0;
    int32_t since = 1;  // the version of the interface that brought it
    bool oneway = false;
};

struct InterfaceInfo {
    std::string_view descriptor;
    std::span<const MethodInfo> methods;
    std::span<const std::string_view> hashes;  // of its versions, first to last; empty: it has none
};

// Null if there is none.
inline const MethodInfo* findMethod(const InterfaceInfo& interface, uint32_t code) {
    for (const MethodInfo& method : interface.methods) {
        if (method.code == code) {
            return &method;
        }
    }
    return nullptr;
}

// The methods of every binder object, without a head of the request or the reply.
enum class MetaCode : uint32_t {
    PING = 0x5f504e47,
    DUMP = 0x5f444d50,
    INTERFACE = 0x5f4e5446,
    EXTENSION = 0x5f455854,
    DEBUG_PID = 0x5f504944,
};

}  // namespace halyard::hal::aidl
