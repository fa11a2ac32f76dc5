// SPDX-License-Identifier: Apache-2.0

#include "harness/device/vts/memory_domain/setting.h"

#include <algorithm>
#include <utility>

#include "hal/memory/shared_memory.h"
#include "harness/device/vts/fixture/model_builder.h"

namespace halyard::vts {

using driver::ErrorStatus;
using driver::Operand;
using driver::OperandType;
using driver::OperationType;

bool isFloat(OperandType type) {
    return type == OperandType::TENSOR_FLOAT32 || type == OperandType::TENSOR_FLOAT16;
}

Operand domainOperand(OperandType type) {
    Operand operand;
    operand.type = type;
    operand.dimensions = {1, 32, 32, 8};
    operand.scale = isFloat(type) ? 0.0F : 0.5F;
    return operand;
}

driver::Model convolutions(const Operand& operand, size_t count) {
    const bool isReal = isFloat(operand.type);
    const uint32_t channels = operand.dimensions[3];
    Operand filter = operand;
    filter.dimensions = {channels, 3, 3, channels};
    filter.scale = isReal ? 0.0F : 1.0F;
    filter.zeroPoint = 0;
    Operand bias;
    bias.type = isReal ? operand.type : OperandType::TENSOR_INT32;
    bias.dimensions = {channels};
    bias.scale = operand.scale * filter.scale;
    ModelBuilder builder;
    for (size_t i = 0; i < count; ++i) {
        const std::vector<uint32_t> inputs = {
                builder.input(operand),
                builder.constant(filter, std::vector<uint8_t>(bytesOf(filter))),
                builder.constant(bias, std::vector<uint8_t>(bytesOf(bias))),
                builder.scalar(1),  // SAME
                builder.scalar(1),  // strides
                builder.scalar(1),
                builder.scalar(0)};  // no activation
        builder.operation(OperationType::CONV_2D, inputs, {builder.output(operand)});
    }
    return builder.build();
}

driver::Model addition(const Operand& operand) {
    Operand activation;
    activation.type = OperandType::INT32;
    ModelBuilder builder;
    const std::vector<uint32_t> inputs = {builder.input(operand), builder.input(operand),
                                          builder.input(activation)};
    builder.operation(OperationType::ADD, inputs, {builder.output(operand)});
    return builder.build();
}

Operand DomainSetting::operandWith(size_t axis, uint32_t extent) const {
    Operand operand = mOperand;
    operand.dimensions[axis] = extent;
    return operand;
}

uint32_t DomainSetting::bytes() const {
    return bytesOf(mOperand);
}

Verdict DomainSetting::expect(const Status& found, ErrorStatus wanted,
                              std::string_view call) const {
    return expectStatus(found, mContext.version(), {wanted}, call);
}

DomainBuffer DomainSetting::allocate(const std::shared_ptr<driver::IPreparedModel>& model,
                                     const std::vector<uint32_t>& inputs,
                                     const std::vector<uint32_t>& outputs,
                                     const std::vector<uint32_t>& dimensions) const {
    driver::BufferDescription description;
    description.dimensions = dimensions;
    description.models = {model};
    for (const uint32_t input : inputs) {
        description.inputs.push_back({.modelIndex = 0, .ioIndex = input});
    }
    for (const uint32_t output : outputs) {
        description.outputs.push_back({.modelIndex = 0, .ioIndex = output});
    }
    const Result<std::shared_ptr<driver::IBuffer>> buffer = mContext.device().allocate(description);
    if (!buffer.ok()) {
        Verdict verdict = expect(buffer.status(), ErrorStatus::GENERAL_FAILURE,
                                 "allocate for roles that are valid");
        return {.buffer = nullptr,
                .verdict = verdict.hasPassed()
                                   ? skipped("allocate gives GENERAL_FAILURE, as a device may that "
                                             "has no such memory")
                                   : std::move(verdict)};
    }
    if ((*buffer)->token() == 0) {
        return {.buffer = nullptr, .verdict = failed("allocate gives a buffer with token 0")};
    }
    return {.buffer = *buffer, .verdict = passed()};
}

Verdict DomainSetting::fill(driver::IBuffer& buffer) const {
    const Result<hal::ExportedMemory> memory = hal::createSharedMemory(bytes());
    if (!memory.ok()) {
        return failed(memory.status().toString());
    }
    return expect(buffer.copyFrom(memory->memory, mOperand.dimensions), ErrorStatus::NONE,
                  "copyFrom of a valid memory");
}

void addDomainChecks(std::string_view suite, const DomainRow& row, driver::HalVersion since,
                     driver::HalVersion until, Checks& checks) {
    for (const OperandType type : kDomainTypes) {
        checks.push_back({.suite = suite,
                          .name = row.name,
                          .variant = std::string(driver::nameOf(type)),
                          .scope = Scope::DEVICE,
                          .since = since,
                          .until = until,
                          .run = [run = row.run, type](Context& context) {
                              return run(DomainSetting(context, type));
                          }});
    }
}

}  // namespace halyard::vts
