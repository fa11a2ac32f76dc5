// SPDX-License-Identifier: Apache-2.0

#include "driver/request_binding.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "driver/ops/lowering.h"
#include "engine/base/checked_math.h"

namespace halyard::driver {
namespace {

std::span<uint8_t> bytesOf(const AlignedBuffer& buffer, size_t size) {
    return {reinterpret_cast<uint8_t*>(buffer.data()), size};
}

bool isControlData(const Operand& operand) {
    return operand.type == OperandType::TENSOR_INT32 || operand.type == OperandType::INT32;
}

Result<std::span<uint8_t>> mapArgument(const Request& request, const DataLocation& location,
                                       bool forWriting) {
    const auto* memory = std::get_if<SharedMemory>(&request.pools[location.poolIndex]);
    if (memory == nullptr) {
        return internalError("a buffer token can't be mapped");
    }
    const std::string pool = "pool " + std::to_string(location.poolIndex);
    Result<std::span<uint8_t>> bytes = (*memory)->map();
    if (!bytes.ok()) {
        return internalError(pool + " can't be mapped: " + std::string(bytes.status().message()));
    }
    if (forWriting && !(*memory)->writable()) {
        return invalidArgument(pool + " is read-only and can't take an output");
    }
    if (!rangeFits<size_t>(location.offset, location.length, bytes->size())) {
        return internalError(pool + " is smaller than it claimed");
    }
    return bytes->subspan(location.offset, location.length);
}

// The operand's type with the dimensions that the request gives it.
Result<engine::TensorType> typeOf(Operand operand, const RequestArgument& argument) {
    operand.dimensions = mergedDimensions(operand, argument);
    return tensorTypeOf(operand);
}

}  // namespace

Result<RequestBinding> RequestBinding::create(const Request& request, const ModelBoundary& boundary,
                                              std::shared_ptr<MemoryBudget> memory) {
    RequestBinding binding(std::move(memory));
    HALYARD_RETURN_IF_ERROR(binding.bindInputs(request, boundary.inputs));
    HALYARD_RETURN_IF_ERROR(binding.bindOutputs(request, boundary.outputs));
    return binding;
}

// Sizes are the client's choice: no memory is an error, not the end.
Result<AlignedBuffer> RequestBinding::allocatePrivate(size_t size, const std::string& what) const {
    Result<AlignedBuffer> buffer =
            AlignedBuffer::allocate(std::max<size_t>(size, 1), engine::kTensorAlignment, mMemory);
    if (!buffer.ok()) {
        return buffer.status().withContext("the private copy of " + what);
    }
    return buffer;
}

Status RequestBinding::bindInputs(const Request& request, const std::vector<Operand>& operands) {
    for (size_t i = 0; i < operands.size(); ++i) {
        const std::string what = "input " + std::to_string(i);
        const RequestArgument& argument = request.inputs[i];
        if (argument.hasNoValue) {
            engine::InputBinding absent;
            absent.present = false;
            mInputs.push_back(absent);
            continue;
        }
        Result<engine::TensorType> type = typeOf(operands[i], argument);
        if (!type.ok()) {
            return type.status().withContext(what);
        }
        Result<size_t> size = type->byteSize();
        if (!size.ok()) {
            return size.status().withContext(what);
        }
        Result<std::span<uint8_t>> bytes = mapArgument(request, argument.location, false);
        if (!bytes.ok()) {
            return bytes.status().withContext(what);
        }
        // As in AOSP, room beyond the operand's size is ignored.
        if (bytes->size() < *size) {
            return invalidArgument(what + " has " + std::to_string(bytes->size()) +
                                   " bytes where the operand takes " + std::to_string(*size));
        }
        std::span<const uint8_t> value = bytes->first(*size);
        if (isControlData(operands[i])) {
            HALYARD_ASSIGN_OR_RETURN(AlignedBuffer copy, allocatePrivate(value.size(), what));
            if (!value.empty()) {
                std::memcpy(copy.data(), value.data(), value.size());
            }
            value = bytesOf(copy, value.size());
            mPrivateInputs.push_back(std::move(copy));  // the bytes stay where they are
        }
        engine::InputBinding input;
        input.bytes = value;
        input.shape = type->shape;
        mInputs.push_back(input);
    }
    return {};
}

Status RequestBinding::bindOutputs(const Request& request, const std::vector<Operand>& operands) {
    for (size_t i = 0; i < operands.size(); ++i) {
        const std::string what = "output " + std::to_string(i);
        const RequestArgument& argument = request.outputs[i];
        engine::OutputBinding output;
        if (argument.hasNoValue) {
            output.present = false;
            mOutputs.push_back(output);
            continue;
        }
        Result<engine::TensorType> type = typeOf(operands[i], argument);
        if (!type.ok()) {
            return type.status().withContext(what);
        }
        Result<std::span<uint8_t>> bytes = mapArgument(request, argument.location, true);
        if (!bytes.ok()) {
            return bytes.status().withContext(what);
        }
        output.bytes = *bytes;
        output.shape = type->shape;
        if (operands[i].numberOfConsumers > 0 && isControlData(operands[i])) {
            HALYARD_ASSIGN_OR_RETURN(AlignedBuffer buffer, allocatePrivate(bytes->size(), what));
            output.bytes = bytesOf(buffer, bytes->size());
            mPrivateOutputs.push_back({.client = *bytes, .buffer = std::move(buffer)});
        }
        mOutputs.push_back(output);
    }
    return {};
}

void RequestBinding::publish() const {
    for (const PrivateOutput& output : mPrivateOutputs) {
        if (!output.client.empty()) {
            std::memcpy(output.client.data(), output.buffer.data(), output.client.size());
        }
    }
}

}  // namespace halyard::driver
