// SPDX-License-Identifier: Apache-2.0

#include "tests/programs/vts/sample_cases.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace halyard::vts::testing {
namespace {

template <typename T>
std::string bytesOf(const std::vector<T>& values) {
    std::string bytes(values.size() * sizeof(T), 0);
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

pb::Operand operand(pb::OperandType type, std::vector<uint32_t> dimensions,
                    pb::OperandLifeTime lifetime) {
    pb::Operand made;
    made.set_type(type);
    made.mutable_dimensions()->Assign(dimensions.begin(), dimensions.end());
    made.set_lifetime(lifetime);
    return made;
}

// CONSTANT_COPY, behind the values that there are.
void addConstant(pb::Model& model, pb::Subgraph& subgraph, pb::Operand made,
                 const std::string& bytes) {
    made.set_lifetime(pb::OPERAND_LIFE_TIME_CONSTANT_COPY);
    made.mutable_location()->set_offset(model.operand_values().size());
    made.mutable_location()->set_length(bytes.size());
    model.mutable_operand_values()->append(bytes);
    *subgraph.add_operands() = made;
}

void addOperation(pb::Subgraph& subgraph, pb::OperationType type, std::vector<uint32_t> inputs,
                  uint32_t output) {
    pb::Operation& operation = *subgraph.add_operations();
    operation.set_type(type);
    operation.mutable_inputs()->Assign(inputs.begin(), inputs.end());
    operation.add_outputs(output);
}

void addExample(pb::TestCase& made, const std::string& input, uint64_t outputSize) {
    pb::Example& example = *made.add_examples();
    example.add_inputs()->set_data(input);
    example.add_outputs()->set_byte_size(outputSize);
}

pb::TestCase addition(const pb::Operand& tensor, const std::string& input) {
    pb::TestCase made;
    made.set_name("add");
    pb::Subgraph& main = *made.mutable_model()->mutable_main();
    *main.add_operands() = tensor;
    main.mutable_operands(0)->set_lifetime(pb::OPERAND_LIFE_TIME_SUBGRAPH_INPUT);
    addConstant(*made.mutable_model(), main, operand(pb::OPERAND_TYPE_INT32, {}, {}),
                bytesOf<int32_t>({0}));
    *main.add_operands() = tensor;
    main.mutable_operands(2)->set_lifetime(pb::OPERAND_LIFE_TIME_SUBGRAPH_OUTPUT);
    addOperation(main, pb::OPERATION_TYPE_ADD, {0, 0, 1}, 2);
    main.add_input_indexes(0);
    main.add_output_indexes(2);
    addExample(made, input, input.size());
    return made;
}

}  // namespace

pb::TestCase floatAddition() {
    return addition(operand(pb::OPERAND_TYPE_TENSOR_FLOAT32, {2}, {}), bytesOf<float>({1, 2}));
}

pb::TestCase quantizedAddition() {
    pb::Operand tensor = operand(pb::OPERAND_TYPE_TENSOR_QUANT8_ASYMM, {2}, {});
    tensor.set_scale(1.0F);
    return addition(tensor, bytesOf<uint8_t>({1, 2}));
}

pb::TestCase openAddition() {
    pb::TestCase made = floatAddition();
    made.mutable_model()->mutable_main()->mutable_operands(2)->set_dimensions(0, 0);
    return made;
}

pb::TestCase quantizedBranch() {
    pb::TestCase made;
    made.set_name("branch");
    pb::Model& model = *made.mutable_model();
    pb::Subgraph& main = *model.mutable_main();
    const auto tensor = [](pb::OperandLifeTime lifetime) {
        pb::Operand quantized = operand(pb::OPERAND_TYPE_TENSOR_QUANT8_ASYMM, {2}, lifetime);
        quantized.set_scale(1.0F);
        return quantized;
    };
    *main.add_operands() =
            operand(pb::OPERAND_TYPE_TENSOR_BOOL8, {1}, pb::OPERAND_LIFE_TIME_SUBGRAPH_INPUT);
    for (uint64_t branch = 0; branch < 2; ++branch) {
        pb::Operand& named = *main.add_operands();
        named = operand(pb::OPERAND_TYPE_SUBGRAPH, {}, pb::OPERAND_LIFE_TIME_SUBGRAPH);
        named.mutable_location()->set_offset(branch);
    }
    *main.add_operands() = tensor(pb::OPERAND_LIFE_TIME_SUBGRAPH_INPUT);
    *main.add_operands() = tensor(pb::OPERAND_LIFE_TIME_SUBGRAPH_OUTPUT);
    addOperation(main, pb::OPERATION_TYPE_IF, {0, 1, 2, 3}, 4);
    main.add_input_indexes(0);
    main.add_input_indexes(3);
    main.add_output_indexes(4);
    for (const bool addsConstant : {true, false}) {
        pb::Subgraph& branch = *model.add_referenced();
        *branch.add_operands() = tensor(pb::OPERAND_LIFE_TIME_SUBGRAPH_INPUT);
        addConstant(model, branch, operand(pb::OPERAND_TYPE_INT32, {}, {}), bytesOf<int32_t>({0}));
        *branch.add_operands() = tensor(pb::OPERAND_LIFE_TIME_SUBGRAPH_OUTPUT);
        addConstant(model, branch, tensor({}), bytesOf<uint8_t>({5, 6}));
        addOperation(branch, pb::OPERATION_TYPE_ADD, {0, addsConstant ? 3U : 0U, 1}, 2);
        branch.add_input_indexes(0);
        branch.add_output_indexes(2);
    }
    addExample(made, bytesOf<uint8_t>({1}), 2);
    made.mutable_examples(0)->add_inputs()->set_data(bytesOf<uint8_t>({1, 2}));
    return made;
}

pb::TestCase endlessLoop() {
    pb::TestCase made;
    made.set_name("endless");
    pb::Model& model = *made.mutable_model();
    pb::Subgraph& main = *model.mutable_main();
    for (uint64_t subgraph = 0; subgraph < 2; ++subgraph) {
        pb::Operand& named = *main.add_operands();
        named = operand(pb::OPERAND_TYPE_SUBGRAPH, {}, pb::OPERAND_LIFE_TIME_SUBGRAPH);
        named.mutable_location()->set_offset(subgraph);
    }
    const auto tensor = [](pb::OperandLifeTime lifetime) {
        return operand(pb::OPERAND_TYPE_TENSOR_FLOAT32, {2}, lifetime);
    };
    *main.add_operands() = tensor(pb::OPERAND_LIFE_TIME_SUBGRAPH_INPUT);
    *main.add_operands() = tensor(pb::OPERAND_LIFE_TIME_SUBGRAPH_OUTPUT);
    addOperation(main, pb::OPERATION_TYPE_WHILE, {0, 1, 2}, 3);
    main.add_input_indexes(2);
    main.add_output_indexes(3);

    pb::Subgraph& condition = *model.add_referenced();
    *condition.add_operands() = tensor(pb::OPERAND_LIFE_TIME_SUBGRAPH_INPUT);
    addConstant(model, condition, operand(pb::OPERAND_TYPE_TENSOR_BOOL8, {1}, {}), {1});
    *condition.add_operands() =
            operand(pb::OPERAND_TYPE_TENSOR_BOOL8, {1}, pb::OPERAND_LIFE_TIME_SUBGRAPH_OUTPUT);
    addOperation(condition, pb::OPERATION_TYPE_LOGICAL_OR, {1, 1}, 2);
    condition.add_input_indexes(0);
    condition.add_output_indexes(2);

    pb::Subgraph& body = *model.add_referenced();
    *body.add_operands() = tensor(pb::OPERAND_LIFE_TIME_SUBGRAPH_INPUT);
    *body.add_operands() = tensor(pb::OPERAND_LIFE_TIME_SUBGRAPH_OUTPUT);
    addOperation(body, pb::OPERATION_TYPE_FLOOR, {0}, 1);
    body.add_input_indexes(0);
    body.add_output_indexes(1);

    addExample(made, bytesOf<float>({1, 2}), 8);
    return made;
}

}  // namespace halyard::vts::testing
