// SPDX-License-Identifier: Apache-2.0
//
// Capabilities as text, for --capabilities: lines of a name, an execution time and a
// power usage, both as ratios to the system's CPU path, for instance
//
//     TENSOR_FLOAT32 0.31 0.44   # faster, with less energy
//
// Names are those of operand types that operations compute with (no SUBGRAPH, no OEM types),
// RELAXED_SCALAR and RELAXED_TENSOR for FLOAT32 that may be computed as FLOAT16, IF and WHILE.

#pragma once

#include <string>
#include <string_view>

#include "driver/model/capabilities.h"
#include "engine/base/status.h"

namespace halyard::driver {

// Of all types that there are: below 1, or the framework would never choose the device.
Capabilities defaultCapabilities();

// Types that are not named keep their defaults. INVALID_ARGUMENT names the line: there is no such
// name, it stands there a second time, or a figure is not a finite number above 0.
Result<Capabilities> parseCapabilities(std::string_view text);

// INVALID_ARGUMENT names the file.
Result<Capabilities> readCapabilities(const std::string& path);

}  // namespace halyard::driver
