// SPDX-License-Identifier: Apache-2.0
//
// The models that are kept in caches, and what they compute.

#pragma once

#include <cstdint>
#include <vector>

#include "driver/device/device_interface.h"
#include "driver/model/model.h"
#include "harness/device/vts/fixture/check.h"

namespace halyard::vts {

// One input and one output.
struct CachedModel {
    driver::Model model;
    std::vector<uint8_t> input;
    std::vector<uint8_t> expected;
};

// Fully connected, of TENSOR_FLOAT32 or TENSOR_QUANT8_ASYMM: with constants that are more than a
// few bytes. The official suite has MobileNets here.
CachedModel fullyConnected(driver::OperandType type);

// So many operations, ADD or MUL, one after the other, each with a constant 1 of its own: of 1 it
// makes that many more, or 1.
inline constexpr uint32_t kLongChain = 100;
CachedModel chain(driver::OperandType type, driver::OperationType operation,
                  uint32_t length = kLongChain);

// Whether a model computes what is expected: exactly, but for a step of a quantized value.
Verdict checkResult(driver::IPreparedModel& prepared, const CachedModel& expected,
                    driver::HalVersion version);

}  // namespace halyard::vts
