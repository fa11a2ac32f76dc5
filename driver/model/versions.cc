// SPDX-License-Identifier: Apache-2.0

#include "driver/model/versions.h"

#include <array>
#include <string_view>
#include <utility>

namespace halyard::driver {
namespace {

using enum HalVersion;
using enum OperandKind;

struct VersionRow {
    HalVersion version;
    std::string_view name;
    FeatureLevel level;
};

// In the order of the enum.
constexpr std::array kVersions = {
        VersionRow{V1_0, "1.0", FeatureLevel::LEVEL_1},
        VersionRow{V1_1, "1.1", FeatureLevel::LEVEL_2},
        VersionRow{V1_2, "1.2", FeatureLevel::LEVEL_3},
        VersionRow{V1_3, "1.3", FeatureLevel::LEVEL_4},
        VersionRow{AIDL_V1, "AIDL-1", FeatureLevel::LEVEL_5},
        VersionRow{AIDL_V2, "AIDL-2", FeatureLevel::LEVEL_6},
        VersionRow{AIDL_V3, "AIDL-3", FeatureLevel::LEVEL_7},
        VersionRow{AIDL_V4, "AIDL-4", FeatureLevel::LEVEL_8},
};

const VersionRow& rowOf(HalVersion version) {
    return kVersions[static_cast<size_t>(version)];
}

struct OperandTypeRow {
    OperandType type;
    OperandTypeInfo info;
};

constexpr std::array kOperandTypes = {
        OperandTypeRow{OperandType::FLOAT32, {V1_0, SCALAR, 4}},
        OperandTypeRow{OperandType::INT32, {V1_0, SCALAR, 4}},
        OperandTypeRow{OperandType::UINT32, {V1_0, SCALAR, 4}},
        OperandTypeRow{OperandType::TENSOR_FLOAT32, {V1_0, TENSOR, 4}},
        OperandTypeRow{OperandType::TENSOR_INT32, {V1_0, TENSOR, 4}},
        OperandTypeRow{OperandType::TENSOR_QUANT8_ASYMM, {V1_0, TENSOR, 1}},
        OperandTypeRow{OperandType::BOOL, {V1_2, SCALAR, 1}},
        OperandTypeRow{OperandType::TENSOR_QUANT16_SYMM, {V1_2, TENSOR, 2}},
        OperandTypeRow{OperandType::TENSOR_FLOAT16, {V1_2, TENSOR, 2}},
        OperandTypeRow{OperandType::TENSOR_BOOL8, {V1_2, TENSOR, 1}},
        OperandTypeRow{OperandType::FLOAT16, {V1_2, SCALAR, 2}},
        OperandTypeRow{OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL, {V1_2, TENSOR, 1}},
        OperandTypeRow{OperandType::TENSOR_QUANT16_ASYMM, {V1_2, TENSOR, 2}},
        OperandTypeRow{OperandType::TENSOR_QUANT8_SYMM, {V1_2, TENSOR, 1}},
        OperandTypeRow{OperandType::TENSOR_QUANT8_ASYMM_SIGNED, {V1_3, TENSOR, 1}},
        OperandTypeRow{OperandType::SUBGRAPH, {V1_3, OperandKind::SUBGRAPH, 0}},
        OperandTypeRow{OperandType::OEM, {V1_0, OEM_SCALAR, 0, V1_3}},
        OperandTypeRow{OperandType::TENSOR_OEM_BYTE, {V1_0, OEM_TENSOR, 1, V1_3}},
};

// Each version added a run of codes; AIDL left those of OEMs out.
struct OperationRange {
    int32_t first;
    int32_t last;
    HalVersion since;
    HalVersion through = kNewestVersion;
};

constexpr std::array kOperations = {
        OperationRange{0, 28, V1_0},
        OperationRange{29, 37, V1_1},
        OperationRange{38, 94, V1_2},
        OperationRange{95, 101, V1_3},
        OperationRange{102, 103, AIDL_V2},
        OperationRange{104, 105, AIDL_V3},
        OperationRange{10000, 10000, V1_0, V1_3},  // OEM_OPERATION
};

const OperationRange* rangeOf(OperationType type) {
    const auto code = static_cast<int32_t>(type);
    for (const OperationRange& range : kOperations) {
        if (code >= range.first && code <= range.last) {
            return &range;
        }
    }
    return nullptr;
}

constexpr uint32_t kLastBaseCode = 0xFFFF;

template <typename Code>
std::optional<uint16_t> prefixOf(Code code) {
    const auto bits = static_cast<uint32_t>(code);
    if (bits <= kLastBaseCode) {
        return std::nullopt;
    }
    return static_cast<uint16_t>(bits >> 16U);
}

template <typename Code>
std::string nameOrNumber(Code code) {
    const std::string_view name = nameOf(code);
    if (!name.empty()) {
        return std::string(name);
    }
    return std::to_string(static_cast<uint32_t>(code));
}

}  // namespace

std::span<const HalVersion> allVersions() {
    static constexpr auto kAll = [] {
        std::array<HalVersion, kVersions.size()> all;
        for (size_t i = 0; i < all.size(); ++i) {
            all[i] = kVersions[i].version;
        }
        return all;
    }();
    static_assert(kAll.back() == kNewestVersion);
    return kAll;
}

std::string_view toString(HalVersion version) {
    return rowOf(version).name;
}

FeatureLevel featureLevelOf(HalVersion version) {
    return rowOf(version).level;
}

const OperandTypeInfo* findOperandType(OperandType type) {
    for (const OperandTypeRow& row : kOperandTypes) {
        if (row.type == type) {
            return &row.info;
        }
    }
    return nullptr;
}

std::optional<HalVersion> introducedIn(OperationType type) {
    const OperationRange* const range = rangeOf(type);
    return range == nullptr ? std::nullopt : std::optional(range->since);
}

bool knows(HalVersion version, OperationType type) {
    const OperationRange* const range = rangeOf(type);
    return range != nullptr && range->since <= version && version <= range->through;
}

std::optional<uint16_t> extensionPrefix(OperandType type) {
    return prefixOf(type);
}

std::optional<uint16_t> extensionPrefix(OperationType type) {
    return prefixOf(type);
}

std::string describe(OperandType type) {
    return nameOrNumber(type);
}

std::string describe(OperationType type) {
    return nameOrNumber(type);
}

}  // namespace halyard::driver
