// SPDX-License-Identifier: Apache-2.0
//
// Capabilities: a device's claims about itself: its speed and power, as ratios to the phone's CPU
// (lower is better), whether it has time, and the extensions that it knows.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "driver/model/codes.h"

namespace halyard::driver {

struct PerformanceInfo {
    float execTime = 1.0F;
    float powerUsage = 1.0F;
};

struct OperandPerformance {
    OperandType type = OperandType::FLOAT32;
    PerformanceInfo info;
};

struct Capabilities {
    PerformanceInfo relaxedFloat32toFloat16PerformanceScalar;
    PerformanceInfo relaxedFloat32toFloat16PerformanceTensor;
    std::vector<OperandPerformance> operandPerformance;  // ascending by type, without SUBGRAPH
    PerformanceInfo ifPerformance;
    PerformanceInfo whilePerformance;
};

// The entry for `type`, or float max in both figures where there is none.
PerformanceInfo performanceOf(const Capabilities& capabilities, OperandType type);

// With the numbers of HIDL.
enum class DeviceStatus : int32_t { AVAILABLE = 0, BUSY = 1, OFFLINE = 2, UNKNOWN = 3 };

// An extension by its name, with the operand types that it brings.
struct Extension {
    struct OperandTypeInformation {
        uint16_t type = 0;  // without the extension's prefix, which each model chooses
        bool isTensor = false;
        uint32_t byteSize = 0;  // of an element, or of the scalar

        bool operator==(const OperandTypeInformation&) const = default;
    };
    std::string name;
    std::vector<OperandTypeInformation> operandTypes;

    bool operator==(const Extension&) const = default;
};

}  // namespace halyard::driver
