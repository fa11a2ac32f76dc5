// SPDX-License-Identifier: Apache-2.0

#include "harness/device/vts/model_builder.h"

#include <memory>
#include <utility>

#include "driver/model/versions.h"

namespace halyard::vts {

using driver::Operand;
using driver::OperandLifeTime;

uint32_t bytesOf(const Operand& operand) {
    const driver::OperandTypeInfo* const type = driver::findOperandType(operand.type);
    auto bytes = static_cast<uint32_t>(type == nullptr ? 0 : type->elementSize);
    for (const uint32_t dimension : operand.dimensions) {
        bytes *= dimension;
    }
    return bytes;
}

uint32_t ModelBuilder::add(const Operand& like, OperandLifeTime lifetime) {
    Operand operand = like;
    operand.lifetime = lifetime;
    operand.numberOfConsumers = 0;
    mModel.main.operands.push_back(std::move(operand));
    return static_cast<uint32_t>(mModel.main.operands.size() - 1);
}

uint32_t ModelBuilder::input(const Operand& like) {
    mModel.main.inputIndexes.push_back(add(like, OperandLifeTime::SUBGRAPH_INPUT));
    return mModel.main.inputIndexes.back();
}

uint32_t ModelBuilder::output(const Operand& like) {
    mModel.main.outputIndexes.push_back(add(like, OperandLifeTime::SUBGRAPH_OUTPUT));
    return mModel.main.outputIndexes.back();
}

uint32_t ModelBuilder::temporary(const Operand& like) {
    return add(like, OperandLifeTime::TEMPORARY_VARIABLE);
}

uint32_t ModelBuilder::constant(const Operand& like, std::span<const uint8_t> value) {
    constexpr size_t kAlignment = 4;
    mValues.resize((mValues.size() + kAlignment - 1) / kAlignment * kAlignment);
    const uint32_t index = add(like, OperandLifeTime::CONSTANT_COPY);
    mModel.main.operands[index].location = {
            .poolIndex = 0, .offset = mValues.size(), .length = value.size()};
    mValues.insert(mValues.end(), value.begin(), value.end());
    return index;
}

uint32_t ModelBuilder::scalar(int32_t value) {
    Operand operand;
    operand.type = driver::OperandType::INT32;
    return constant(operand, std::vector<int32_t>{value});
}

void ModelBuilder::operation(driver::OperationType type, std::vector<uint32_t> inputs,
                             std::vector<uint32_t> outputs) {
    for (const uint32_t input : inputs) {
        ++mModel.main.operands[input].numberOfConsumers;
    }
    mModel.main.operations.push_back(
            {.type = type, .inputs = std::move(inputs), .outputs = std::move(outputs)});
}

driver::Model ModelBuilder::build() const {
    driver::Model model = mModel;
    model.operandValues = std::make_shared<const std::vector<uint8_t>>(mValues);
    return model;
}

}  // namespace halyard::vts
