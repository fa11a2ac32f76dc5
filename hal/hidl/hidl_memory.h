// SPDX-License-Identifier: Apache-2.0
//
// hidl_memory by its names and handles, as memory of the driver.

#pragma once

#include <cstdint>
#include <string_view>

#include "driver/model/memory.h"
#include "hal/memory/native_handle.h"
#include "hal/memory/shared_memory.h"

namespace halyard::hal::hidl {

// Whether there is a kind of memory that HIDL calls so and that can be mapped.
bool isKnownMemory(std::string_view name);

// "ashmem" and "mmap_fd" are mapped, and so is "hardware_buffer_blob" where one of its descriptors
// is memory; "hardware_buffer" is known but can't be mapped. Takes its own duplicate of the
// handle's descriptor. Never fails: what is wrong with the handle is reported by valid() or use(),
// where the contract wants it.
driver::SharedMemory importMemory(std::string_view name, const ReceivedHandle& handle,
                                  uint64_t size, const ImportOptions& options = {});

}  // namespace halyard::hal::hidl
