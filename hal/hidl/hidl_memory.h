// SPDX-License-Identifier: Apache-2.0
//
// What hidl_memory's names and handles mean.

#pragma once

#include <cstdint>
#include <string>

#include "driver/model/memory.h"
#include "hal/memory/native_handle.h"

namespace halyard::hal::hidl {

// "ashmem" and "mmap_fd" are mapped; the hardware buffer names are known but can't be mapped yet.
// Takes its own duplicate of the handle's descriptor, until the memory is used, once. Never fails:
// what is wrong with the handle is reported by valid() or use(), where the contract wants it.
driver::SharedMemory importMemory(std::string name, const ReceivedHandle& handle, uint64_t size);

}  // namespace halyard::hal::hidl
