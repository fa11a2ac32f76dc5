// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/fuzz/case_limits.h"
#include "tests/fuzz/case_mutation.h"

namespace halyard::fuzz {

void append(pb::TestCase& testCase, const pb::TestCase& other, SeededChoices& choices) {
    pb::Model& model = *testCase.mutable_model();
    pb::Subgraph& main = *model.mutable_main();
    const pb::Subgraph& next = other.model().main();
    if (main.operations_size() + next.operations_size() > kMostOperations ||
        main.operands_size() + next.operands_size() > kMostOperands || main.operands_size() == 0) {
        return;
    }
    const auto operands = static_cast<uint32_t>(main.operands_size());
    const auto values = static_cast<uint32_t>(model.operand_values().size() + 3) / 4 * 4;
    const auto pools = static_cast<uint32_t>(model.pools_size());
    const auto subgraphs = static_cast<uint32_t>(model.referenced_size());
    model.mutable_operand_values()->resize(values);
    model.mutable_operand_values()->append(other.model().operand_values());
    model.mutable_pools()->MergeFrom(other.model().pools());
    model.mutable_referenced()->MergeFrom(other.model().referenced());
    for (const pb::Operand& operand : next.operands()) {
        pb::Operand& added = *main.add_operands();
        added = operand;
        if (operand.lifetime() == pb::OPERAND_LIFE_TIME_CONSTANT_COPY) {
            added.mutable_location()->set_offset(operand.location().offset() + values);
        } else if (operand.lifetime() == pb::OPERAND_LIFE_TIME_CONSTANT_REFERENCE) {
            added.mutable_location()->set_pool_index(operand.location().pool_index() + pools);
        } else if (operand.lifetime() == pb::OPERAND_LIFE_TIME_SUBGRAPH) {
            added.mutable_location()->set_offset(operand.location().offset() + subgraphs);
        }
    }
    // By input of the other model: what stands for it.
    std::vector<std::pair<uint32_t, uint32_t>> joined;
    for (int i = 0; i < next.input_indexes_size(); ++i) {
        const uint32_t input = next.input_indexes(i);
        const auto source = choices.below(operands);
        const pb::Operand& read = main.operands(static_cast<int>(source));
        if (input < static_cast<uint32_t>(next.operands_size()) && !choices.oneIn(4) &&
            read.lifetime() != pb::OPERAND_LIFE_TIME_NO_VALUE &&
            read.type() == next.operands(static_cast<int>(input)).type()) {
            joined.emplace_back(input, source);
            continue;
        }
        main.add_input_indexes(input + operands);
        for (pb::Example& example : *testCase.mutable_examples()) {
            pb::InputValue& value = *example.add_inputs();
            if (other.examples_size() > 0 && i < other.examples(0).inputs_size()) {
                value = other.examples(0).inputs(i);
            }
        }
    }
    for (const uint32_t output : next.output_indexes()) {
        main.add_output_indexes(output + operands);
    }
    for (pb::Example& example : *testCase.mutable_examples()) {
        if (other.examples_size() > 0) {
            example.mutable_outputs()->MergeFrom(other.examples(0).outputs());
        }
    }
    for (const pb::Operation& operation : next.operations()) {
        pb::Operation& added = *main.add_operations();
        added = operation;
        for (uint32_t& input : *added.mutable_inputs()) {
            const auto found = std::find_if(joined.begin(), joined.end(),
                                            [&](const auto& pair) { return pair.first == input; });
            input = found == joined.end() ? input + operands : found->second;
        }
        for (uint32_t& output : *added.mutable_outputs()) {
            output += operands;
        }
    }
}

}  // namespace halyard::fuzz
