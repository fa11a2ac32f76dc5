// SPDX-License-Identifier: Apache-2.0

#include "tests/hal/add_model.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

namespace halyard::hal::testing {

driver::Model addModel() {
    using driver::OperandLifeTime;
    driver::Operand in;
    in.type = driver::OperandType::TENSOR_FLOAT32;
    in.dimensions = {2};
    in.numberOfConsumers = 1;
    in.lifetime = OperandLifeTime::SUBGRAPH_INPUT;
    driver::Operand constant = in;
    constant.lifetime = OperandLifeTime::CONSTANT_COPY;
    constant.location = {.poolIndex = 0, .offset = 0, .length = 8};
    driver::Operand activation = constant;
    activation.type = driver::OperandType::INT32;
    activation.dimensions = {};
    activation.location = {.poolIndex = 0, .offset = 8, .length = 4};
    driver::Operand out = in;
    out.numberOfConsumers = 0;
    out.lifetime = OperandLifeTime::SUBGRAPH_OUTPUT;
    driver::Model model;
    model.main.operands = {in, constant, activation, out};
    model.main.operations = {
            {.type = driver::OperationType::ADD, .inputs = {0, 1, 2}, .outputs = {3}}};
    model.main.inputIndexes = {0};
    model.main.outputIndexes = {3};
    const float values[] = {10.0F, 20.0F};
    std::vector<uint8_t> bytes(12);
    std::memcpy(bytes.data(), values, sizeof(values));
    model.operandValues = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
    return model;
}

driver::Request addRequest() {
    driver::Request request;
    request.inputs = {{.location = {.poolIndex = 0, .offset = 0, .length = 8}, .dimensions = {}}};
    request.outputs = {{.location = {.poolIndex = 0, .offset = 8, .length = 8}, .dimensions = {}}};
    request.pools = {driver::SharedMemory()};
    return request;
}

}  // namespace halyard::hal::testing
