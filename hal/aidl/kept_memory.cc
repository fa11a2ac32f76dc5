// SPDX-License-Identifier: Apache-2.0

#include "hal/aidl/kept_memory.h"

#include <utility>

#include "hal/aidl/memory.h"

namespace halyard::hal::aidl {

Result<KeptMemory> keepMemory(const nn::Memory& wire, const driver::Client& client) {
    KeptMemory kept;
    HALYARD_ASSIGN_OR_RETURN(
            kept.memory, importMemory(wire, {.uses = Uses::MANY, .account = &client.account()}));
    Result<driver::MemoryUse> whole = kept.memory->useWhole(&client.account());
    if (whole.ok()) {
        kept.whole = *std::move(whole);
        return kept;
    }
    HALYARD_ASSIGN_OR_RETURN(kept.memory, importMemory(wire));
    return kept;
}

}  // namespace halyard::hal::aidl
