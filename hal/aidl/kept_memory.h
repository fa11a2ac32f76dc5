// SPDX-License-Identifier: Apache-2.0
//
// Memory that a client sends once and means many times: of a burst, or of an execution that is
// computed again and again. It stays mapped, and is charged to the client, for as long as it is
// kept.

#pragma once

#include "driver/clients/client.h"
#include "driver/model/memory.h"
#include "driver/model/request.h"
#include "engine/base/status.h"
#include "hal/aidl/types.h"

namespace halyard::hal::aidl {

struct KeptMemory {
    driver::SharedMemory memory;
    driver::MemoryUse whole;  // further uses lie in this one, and cost nothing
};

// INVALID_ARGUMENT as importMemory(). Memory that can't be mapped as a whole is for one use, which
// says why.
Result<KeptMemory> keepMemory(const nn::Memory& wire, const driver::Client& client);

}  // namespace halyard::hal::aidl
