// SPDX-License-Identifier: Apache-2.0

#include "tests/driver/model_builder.h"

#include <algorithm>
#include <utility>

namespace halyard::driver {

OperandSpec floats(std::vector<uint32_t> dimensions) {
    return {.type = OperandType::TENSOR_FLOAT32, .dimensions = std::move(dimensions)};
}

OperandSpec ints(std::vector<uint32_t> dimensions) {
    return {.type = OperandType::TENSOR_INT32, .dimensions = std::move(dimensions)};
}

uint32_t ModelBuilder::add(const OperandSpec& spec, OperandLifeTime lifetime) {
    Operand operand;
    operand.type = spec.type;
    operand.dimensions = spec.dimensions;
    operand.scale = spec.scale;
    operand.zeroPoint = spec.zeroPoint;
    operand.lifetime = lifetime;
    mModel.main.operands.push_back(operand);
    return static_cast<uint32_t>(mModel.main.operands.size() - 1);
}

uint32_t ModelBuilder::input(const OperandSpec& spec) {
    mModel.main.inputIndexes.push_back(add(spec, OperandLifeTime::SUBGRAPH_INPUT));
    return mModel.main.inputIndexes.back();
}

uint32_t ModelBuilder::output(const OperandSpec& spec) {
    mModel.main.outputIndexes.push_back(add(spec, OperandLifeTime::SUBGRAPH_OUTPUT));
    return mModel.main.outputIndexes.back();
}

uint32_t ModelBuilder::temporary(const OperandSpec& spec) {
    return add(spec, OperandLifeTime::TEMPORARY_VARIABLE);
}

uint32_t ModelBuilder::omitted(const OperandSpec& spec) {
    return add(spec, OperandLifeTime::NO_VALUE);
}

uint32_t ModelBuilder::constantBytes(const OperandSpec& spec, const std::vector<uint8_t>& bytes) {
    const uint32_t index = add(spec, OperandLifeTime::CONSTANT_COPY);
    operand(index).location = {.poolIndex = 0,
                               .offset = static_cast<uint32_t>(mValues.size()),
                               .length = static_cast<uint32_t>(bytes.size())};
    mValues.insert(mValues.end(), bytes.begin(), bytes.end());
    return index;
}

uint32_t ModelBuilder::pooledBytes(const OperandSpec& spec, const std::vector<uint8_t>& bytes) {
    const uint32_t index = add(spec, OperandLifeTime::CONSTANT_REFERENCE);
    operand(index).location = {.poolIndex = static_cast<uint32_t>(mModel.pools.size()),
                               .offset = 0,
                               .length = static_cast<uint32_t>(bytes.size())};
    const SharedMemory pool = allocateHeapMemory(bytes.size());
    std::ranges::copy(bytes, pool->map()->begin());
    mModel.pools.push_back(pool);
    return index;
}

ModelBuilder& ModelBuilder::operation(OperationType type, const std::vector<uint32_t>& inputs,
                                      const std::vector<uint32_t>& outputs) {
    for (const uint32_t index : inputs) {
        ++operand(index).numberOfConsumers;
    }
    mModel.main.operations.push_back({.type = type, .inputs = inputs, .outputs = outputs});
    return *this;
}

Model ModelBuilder::build() {
    mModel.operandValues = std::make_shared<const std::vector<uint8_t>>(mValues);
    return mModel;
}

PoolUses poolsOf(const Model& model) {
    PoolUses uses;
    static_cast<void>(usePools(model, nullptr, uses));
    return uses;
}

RequestArgument RequestBuilder::argument(const SharedMemory& pool,
                                         std::vector<uint32_t> dimensions) {
    mRequest.pools.emplace_back(pool);
    return {.hasNoValue = false,
            .location = {.poolIndex = static_cast<uint32_t>(mRequest.pools.size() - 1),
                         .offset = 0,
                         .length = static_cast<uint32_t>(pool->size())},
            .dimensions = std::move(dimensions)};
}

RequestBuilder& RequestBuilder::input(const SharedMemory& pool, std::vector<uint32_t> dimensions) {
    mRequest.inputs.push_back(argument(pool, std::move(dimensions)));
    return *this;
}

RequestBuilder& RequestBuilder::output(const SharedMemory& pool, std::vector<uint32_t> dimensions) {
    mRequest.outputs.push_back(argument(pool, std::move(dimensions)));
    return *this;
}

RequestBuilder& RequestBuilder::output(size_t bytes, std::vector<uint32_t> dimensions) {
    return output(allocateHeapMemory(bytes), std::move(dimensions));
}

}  // namespace halyard::driver
