// SPDX-License-Identifier: Apache-2.0
//
// Building programs on a device, wherever that is done.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/backends/gpu/device/device.h"
#include "engine/base/status.h"

namespace halyard::engine::gpu {

// For the compiler. A program that was built with others is another.
std::string compilerOptions(const DeviceFacts& facts);

// INTERNAL with the compiler's words where it does not build.
Result<ProgramHandle> buildFromSource(const Device& device, const std::string& source);
// Builds a program and runs one work-group of its only kernel, named `attempt`, whose parameter is
// a buffer of 4096 bytes: the first number there.
Result<int32_t> attemptSource(const Device& device, const std::string& source);
// INTERNAL where the driver does not take it: it may be another driver's.
Result<ProgramHandle> buildFromBinary(const Device& device, std::span<const uint8_t> binary);
// Empty where the driver gives none.
std::vector<uint8_t> binaryOf(const Device& device, cl_program program);

}  // namespace halyard::engine::gpu
