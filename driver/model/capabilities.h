// SPDX-License-Identifier: Apache-2.0
//
// What the device claims about its speed and power, as ratios to the phone's CPU (lower is better).

#pragma once

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

}  // namespace halyard::driver
