// SPDX-License-Identifier: Apache-2.0
//
// The union Memory, as memory of the driver.

#pragma once

#include "driver/model/memory.h"
#include "engine/base/status.h"
#include "hal/aidl/types.h"
#include "hal/memory/shared_memory.h"

namespace halyard::hal::aidl {

// Takes its own duplicate of the descriptor. INVALID_ARGUMENT where a size or an offset is
// negative; what else is wrong is reported when the memory is used, where the contract wants it.
Result<driver::SharedMemory> importMemory(const nn::Memory& wire,
                                          const ImportOptions& options = {});

// Of a memory that can be sent (driver::Memory::handle), whose descriptors are borrowed.
nn::Memory exportMemory(const driver::Memory& memory);

}  // namespace halyard::hal::aidl
