// SPDX-License-Identifier: Apache-2.0

#include "driver/execute/request_binding.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace halyard::driver {
namespace {

enum class Access : uint8_t { READ, WRITE };

Result<std::span<uint8_t>> bytesOf(std::span<const BoundPool> pools, const DataLocation& location,
                                   Access access) {
    const auto pool = [&] { return "pool " + std::to_string(location.poolIndex); };
    if (const auto* token = std::get_if<BufferToken>(&pools[location.poolIndex])) {
        return invalidArgument(pool() + " names buffer token " + std::to_string(token->number) +
                               ", and no buffer is allocated");
    }
    const auto& memory = std::get<MemoryUse>(pools[location.poolIndex]);
    if (access == Access::WRITE && location.length > 0 && !memory.writable()) {
        return invalidArgument(pool() + " is read-only and can't take an output");
    }
    Result<std::span<uint8_t>> bytes = memory.bytes(location.offset, location.length);
    if (!bytes.ok()) {
        return internalError(pool() + ": " + std::string(bytes.status().message()));
    }
    return bytes;
}

}  // namespace

Status bindRequest(const Request& request, const RequestShapes& shapes,
                   std::span<const BoundPool> pools, RequestBinding& binding) {
    binding.inputs.clear();
    for (size_t i = 0; i < request.inputs.size(); ++i) {
        engine::InputBinding& input = binding.inputs.emplace_back();
        input.shape = shapes.inputs[i];
        input.present = !request.inputs[i].hasNoValue;
        if (!input.present) {
            continue;
        }
        const Result<std::span<uint8_t>> bytes =
                bytesOf(pools, request.inputs[i].location, Access::READ);
        if (!bytes.ok()) {
            return bytes.status().withContext("input " + std::to_string(i));
        }
        input.bytes = bytes->first(shapes.inputBytes[i]);
    }
    binding.outputs.clear();
    for (size_t i = 0; i < request.outputs.size(); ++i) {
        engine::OutputBinding& output = binding.outputs.emplace_back();
        output.shape = shapes.outputs[i];
        output.present = !request.outputs[i].hasNoValue;
        if (!output.present) {
            continue;
        }
        const Result<std::span<uint8_t>> bytes =
                bytesOf(pools, request.outputs[i].location, Access::WRITE);
        if (!bytes.ok()) {
            return bytes.status().withContext("output " + std::to_string(i));
        }
        output.bytes = *bytes;
    }
    return {};
}

}  // namespace halyard::driver
