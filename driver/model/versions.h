// SPDX-License-Identifier: Apache-2.0
//
// Which operand types and operations each HAL version knows, and what a type is: scalar or tensor,
// bytes per element. Codes above 0xFFFF belong to extensions: the high 16 bits are a prefix that
// the model declares, the low 16 the extension's own number.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "driver/model/codes.h"

namespace halyard::driver {

// Ordered: a later version knows everything an earlier one does. First HIDL's, then those of the
// stable AIDL interface.
enum class HalVersion : uint8_t { V1_0, V1_1, V1_2, V1_3, AIDL_V1, AIDL_V2, AIDL_V3, AIDL_V4 };

inline constexpr HalVersion kNewestVersion = HalVersion::AIDL_V4;
// All of them, ascending.
std::span<const HalVersion> allVersions();

// "1.2", "AIDL-2".
std::string_view toString(HalVersion version);

// The versions as applications see them in NNAPI: the numbers of
// ANeuralNetworksDevice_getFeatureLevel.
enum class FeatureLevel : int64_t {
    LEVEL_1 = 27,
    LEVEL_2 = 28,
    LEVEL_3 = 29,
    LEVEL_4 = 30,
    LEVEL_5 = 31,
    LEVEL_6 = 1000006,
    LEVEL_7 = 1000007,
    LEVEL_8 = 1000008,
};

FeatureLevel featureLevelOf(HalVersion version);

enum class OperandKind : uint8_t {
    SCALAR,
    TENSOR,
    SUBGRAPH,
    OEM_SCALAR,  // OEM operands have no size that a driver could check
    OEM_TENSOR,
};

struct OperandTypeInfo {
    HalVersion since = HalVersion::V1_0;
    OperandKind kind = OperandKind::SCALAR;
    size_t elementSize = 0;  // bytes; 0 where there are no elements
    HalVersion last = kNewestVersion;

    bool isIn(HalVersion version) const { return since <= version && version <= last; }
    bool isTensor() const { return kind == OperandKind::TENSOR || kind == OperandKind::OEM_TENSOR; }
};

// Null for an extension's type and for a code that no version knows.
const OperandTypeInfo* findOperandType(OperandType type);

// The version that brought the operation; nothing for an extension's and for an unknown code.
std::optional<HalVersion> introducedIn(OperationType type);
// Whether it has the operation: AIDL has no OEM_OPERATION any more.
bool knows(HalVersion version, OperationType type);

// The extension prefix of a code above 0xFFFF, otherwise nothing.
std::optional<uint16_t> extensionPrefix(OperandType type);
std::optional<uint16_t> extensionPrefix(OperationType type);

// "CONV_2D"; the number where the code has no name.
std::string describe(OperandType type);
std::string describe(OperationType type);

}  // namespace halyard::driver
