// SPDX-License-Identifier: Apache-2.0

#include "driver/execute/request_binding.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <variant>

#include "driver/execute/managed_buffer.h"

namespace halyard::driver {
namespace {

enum class Access : uint8_t { READ, WRITE };

const ManagedBuffer* bufferAt(std::span<const BoundPool> pools, const DataLocation& location) {
    const auto* const buffer =
            std::get_if<std::shared_ptr<ManagedBuffer>>(&pools[location.poolIndex]);
    return buffer == nullptr ? nullptr : buffer->get();
}

// Checks the shape that the request and the model give to an argument against its buffer's own.
Status checkShape(const engine::Shape& said, const engine::Shape& buffer) {
    bool fits = !said.hasKnownRank() || said.rank() == buffer.rank();
    for (size_t axis = 0; fits && said.hasKnownRank() && axis < said.rank(); ++axis) {
        fits = said[axis] < 0 || said[axis] == buffer[axis];
    }
    return fits ? Status()
                : invalidArgument("its shape is " + said.toString() + ", and its buffer's " +
                                  buffer.toString());
}

Result<std::span<uint8_t>> bytesOf(std::span<const BoundPool> pools, const DataLocation& location,
                                   Access access) {
    const auto pool = [&] { return "pool " + std::to_string(location.poolIndex); };
    if (const ManagedBuffer* const buffer = bufferAt(pools, location)) {
        return buffer->bytes();
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
        if (const auto* const buffer = bufferAt(pools, request.inputs[i].location)) {
            Status fits = checkShape(input.shape, buffer->shape());
            if (fits.ok() && !buffer->isInitialized()) {
                fits = internalError("there is nothing in its buffer yet");
            }
            if (!fits.ok()) {
                return fits.withContext("input " + std::to_string(i));
            }
            input.shape = buffer->shape();
            input.bytes = *bytes;
        } else {
            input.bytes = bytes->first(shapes.inputBytes[i]);
            input.isPrivate =
                    std::get<MemoryUse>(pools[request.inputs[i].location.poolIndex]).isPrivate();
        }
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
        if (const auto* const buffer = bufferAt(pools, request.outputs[i].location)) {
            if (const Status fits = checkShape(output.shape, buffer->shape()); !fits.ok()) {
                return fits.withContext("output " + std::to_string(i));
            }
        }
        output.bytes = *bytes;
    }
    // The contract calls an output that does not fit its buffer a failure, not an invalid argument,
    // and the vendor test suite (MemoryDomainExecutionTest.InvalidDimensions) says so with an input
    // that is as short as the buffer.
    return shapes.shortInput.has_value()
                   ? internalError("input " + std::to_string(*shapes.shortInput) +
                                   ": it is shorter than its elements")
                   : Status();
}

Status settleBuffers(const Request& request, std::span<const BoundPool> pools,
                     const engine::ExecutionReport& report, Status status) {
    const auto forEachWritten = [&](const auto& visit) {
        for (size_t i = 0; i < request.outputs.size(); ++i) {
            const RequestArgument& output = request.outputs[i];
            const auto* const pool = output.hasNoValue
                                             ? nullptr
                                             : std::get_if<std::shared_ptr<ManagedBuffer>>(
                                                       &pools[output.location.poolIndex]);
            if (pool != nullptr && *pool != nullptr) {
                visit(i, **pool);
            }
        }
    };
    if (status.ok() || status.code() == StatusCode::OUTPUT_TOO_SMALL) {
        forEachWritten([&](size_t i, const ManagedBuffer& buffer) {
            const engine::OutputReport& output = report.outputs[i];
            if (!output.sufficient || output.shape != buffer.shape()) {
                status = internalError("output " + std::to_string(i) + ": its shape is " +
                                       output.shape.toString() + ", and its buffer's " +
                                       buffer.shape().toString());
            }
        });
    }
    forEachWritten([&](size_t, ManagedBuffer& buffer) { buffer.setInitialized(status.ok()); });
    return status;
}

}  // namespace halyard::driver
