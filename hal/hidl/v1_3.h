// SPDX-License-Identifier: Apache-2.0
//
// android.hardware.neuralnetworks@1.3: subgraphs, driver-managed buffers, deadlines, priorities,
// signed 8-bit tensors.

#pragma once

#include <chrono>
#include <optional>

#include "hal/hidl/v1_2.h"

namespace halyard::hal::hidl::nn::v1_3 {

driver::Operand decode(const Operand& wire);
driver::Subgraph decode(const Subgraph& wire);
driver::Model decode(const Model& wire);
driver::Request decode(const Request& wire);
// Nanoseconds since the epoch of CLOCK_MONOTONIC; what the clock can't hold is its last point.
Deadline decode(const OptionalTimePoint& wire);
// Nothing unless the client says how long; what the clock can't count is its longest time.
std::optional<std::chrono::nanoseconds> decode(const OptionalTimeoutDuration& wire);

void encode(ParcelWriter& writer, const driver::Operand& operand, Operand& wire);
void encode(ParcelWriter& writer, const driver::Subgraph& subgraph, Subgraph& wire);
void encode(ParcelWriter& writer, const Deadline& time, OptionalTimePoint& wire);
void encode(ParcelWriter& writer, std::chrono::nanoseconds duration, OptionalTimeoutDuration& wire);

extern const VersionDelta kDelta;

}  // namespace halyard::hal::hidl::nn::v1_3
