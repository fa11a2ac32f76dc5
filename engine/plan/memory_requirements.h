// SPDX-License-Identifier: Apache-2.0
//
// MemoryRequirements: where the elements of a program's input or output may lie so that a run reads
// or writes them there, and copies nothing.

#pragma once

#include <cstddef>

#include "engine/plan/device_memory.h"

namespace halyard::engine {

struct Schedule;

struct MemoryRequirements {
    size_t alignment = 1;  // bytes, of an address of the host's
    size_t padding = 0;    // bytes behind the elements that are read or written, too
    // Homes that are free of copies: the host's memory where the caller alone writes to it during a
    // run, the same where others may, and blocks of a device.
    bool isFreeOnHost = false;
    bool isFreeWhereShared = false;
    DeviceMemory* device = nullptr;  // null: blocks of every device are copied
    size_t deviceAlignment = 1;      // bytes, of an offset in a block
};

// Of a graph input or output, by its index, which has to be one.
MemoryRequirements requirementsOfInput(const Schedule& schedule, size_t index);
MemoryRequirements requirementsOfOutput(const Schedule& schedule, size_t index);

}  // namespace halyard::engine
