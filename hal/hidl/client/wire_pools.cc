// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/client/wire_pools.h"

#include <variant>

namespace halyard::hal::hidl {

HidlMemory wireMemory(ParcelWriter& writer, const driver::Memory& memory) {
    const driver::MemoryHandle& handle = *memory.handle();
    return makeMemory(writer, memory.name(), {.fds = handle.descriptors, .ints = handle.numbers},
                      memory.size());
}

std::vector<HidlMemory> wirePools(ParcelWriter& writer, const driver::Model& model) {
    std::vector<HidlMemory> wire;
    for (const driver::SharedMemory& pool : model.pools) {
        wire.push_back(wireMemory(writer, *pool));
    }
    return wire;
}

std::vector<HidlMemory> wirePools(ParcelWriter& writer, const driver::Request& request) {
    std::vector<HidlMemory> wire;
    for (const driver::RequestPool& pool : request.pools) {
        const auto* memory = std::get_if<driver::SharedMemory>(&pool);
        wire.push_back(memory != nullptr ? wireMemory(writer, **memory) : HidlMemory());
    }
    return wire;
}

}  // namespace halyard::hal::hidl
