// SPDX-License-Identifier: Apache-2.0
//
// Guards of LiteRT's tables of functions, which say how long they are and of which version, and
// what the two libraries answer with.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "engine/base/status.h"
#include "litert/vendor_abi.h"

namespace halyard::vendor {

// That a table is of a known version, ends behind all these slots, and has them filled.
// UNSUPPORTED names the first that is missing. Null is INVALID_ARGUMENT. Tables before LiteRT 2.2
// have no header: what stands in its place is an address, and no version that is known.
Status checkTable(const void* table, std::string_view name, uint16_t major,
                  std::span<const abi::TableSlot> slots);
// Whether a table that was checked has this slot as well.
bool hasSlot(const void* table, size_t offset);

// A function of a table that was checked, at an offset that it has.
template <typename Function>
Function slotAt(const void* table, size_t offset) {
    return *reinterpret_cast<const Function*>(static_cast<const char*>(table) + offset);
}

// Whether LiteRT's version is the one that these libraries were written for: versions say nothing
// of what they kept.
Status checkApiVersion(const abi::ApiVersion& version);

// LiteRT's status for a failure, which is logged as an error behind `what`; OK is not logged.
abi::Status answer(const Status& status, std::string_view what);

constexpr abi::Status code(abi::StatusCode status) {
    return static_cast<abi::Status>(status);
}

// What a function of LiteRT's answered. INTERNAL says which it was.
Status calledStatus(abi::Status status, std::string_view function);

}  // namespace halyard::vendor
