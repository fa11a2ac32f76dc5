// SPDX-License-Identifier: Apache-2.0

#include "driver/model/capabilities.h"

#include <limits>

namespace halyard::driver {

PerformanceInfo performanceOf(const Capabilities& capabilities, OperandType type) {
    for (const OperandPerformance& entry : capabilities.operandPerformance) {
        if (entry.type == type) {
            return entry.info;
        }
    }
    constexpr float kUnlisted = std::numeric_limits<float>::max();
    return {.execTime = kUnlisted, .powerUsage = kUnlisted};
}

}  // namespace halyard::driver
