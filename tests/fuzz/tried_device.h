// SPDX-License-Identifier: Apache-2.0
//
// The driver's device as several targets try it, and what must hold of it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "driver/device/device.h"

namespace halyard::fuzz {

// With little memory, on CpuAcc and CpuRef for what that leaves or on the backends that are named.
std::shared_ptr<driver::Device> makeDevice(size_t threads, std::vector<std::string> backends = {
                                                                   "CpuAcc", "CpuRef"});

// Whether no model is alive and no memory taken.
bool isIdle(const driver::Device& device);

// A relu of two columns, whose rows a request tells.
driver::Model openReluModel();

// One run of a request.
struct Attempt {
    driver::ExecutionResult result;
    std::vector<std::vector<uint8_t>> memory;  // what it left there
};

// A finding unless two runs of one request end alike. What a failure leaves in memory may differ.
void requireSame(const Attempt& first, const Attempt& second);

}  // namespace halyard::fuzz
