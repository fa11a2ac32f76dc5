// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/case_coherence.h"

#include <cstdint>
#include <utility>

#include "tests/fuzz/case_content.h"
#include "tests/fuzz/case_fields.h"
#include "tests/fuzz/case_mutation.h"

namespace halyard::fuzz {

void changeExtents(pb::Model& model, SeededChoices& choices) {
    const pb::Operand* chosen = anyOperand(*model.mutable_main(), choices);
    if (chosen == nullptr || chosen->dimensions_size() == 0) {
        return;
    }
    const int axis = choices.below(chosen->dimensions_size());
    const bool anyAxis = choices.oneIn(2);
    const uint32_t before = chosen->dimensions(axis);
    const uint32_t after = choices.oneIn(6) ? 0 : 1 + choices.number() % 12;
    forEachOperand(model, [&](pb::Operand& operand) {
        for (int i = 0; i < operand.dimensions_size(); ++i) {
            if (operand.dimensions(i) == before && (anyAxis || i == axis)) {
                operand.set_dimensions(i, after);
            }
        }
    });
}

void changeTypes(pb::Model& model, SeededChoices& choices) {
    const pb::Operand* chosen = anyOperand(*model.mutable_main(), choices);
    if (chosen == nullptr) {
        return;
    }
    const pb::OperandType before = chosen->type();
    const auto after = static_cast<pb::OperandType>(choices.below(16));
    forEachOperand(model, [&](pb::Operand& operand) {
        if (operand.type() == before) {
            operand.set_type(after);
            if (operand.scale() == 0.0F && elementBytes(after) <= 2) {
                operand.set_scale(0.5F);
            }
        }
    });
}

void repeatOperation(pb::Subgraph& subgraph, SeededChoices& choices) {
    if (subgraph.operations_size() == 0 || subgraph.operations_size() >= kMostOperations ||
        subgraph.operands_size() >= kMostOperands) {
        return;
    }
    pb::Operation again = subgraph.operations(choices.below(subgraph.operations_size()));
    for (uint32_t& output : *again.mutable_outputs()) {
        if (output >= static_cast<uint32_t>(subgraph.operands_size())) {
            return;
        }
        const pb::Operand result = subgraph.operands(static_cast<int>(output));
        const auto made = static_cast<uint32_t>(subgraph.operands_size());
        // Its input becomes the first one's result where the types allow that.
        for (uint32_t& input : *again.mutable_inputs()) {
            if (input < made && !isConstant(subgraph.operands(static_cast<int>(input))) &&
                subgraph.operands(static_cast<int>(input)).type() == result.type()) {
                input = output;
                break;
            }
        }
        *subgraph.add_operands() = result;
        output = made;
        if (result.lifetime() == pb::OPERAND_LIFE_TIME_SUBGRAPH_OUTPUT) {
            subgraph.add_output_indexes(made);
        }
    }
    *subgraph.add_operations() = std::move(again);
}

void moveConstant(pb::TestCase& testCase, pb::Subgraph& subgraph, SeededChoices& choices) {
    pb::Model& model = *testCase.mutable_model();
    for (int tries = 0; tries < 4; ++tries) {
        const int index = choices.below(subgraph.operands_size());
        if (index >= subgraph.operands_size() || !isConstant(subgraph.operands(index))) {
            continue;
        }
        pb::Operand& operand = *subgraph.mutable_operands(index);
        if (choices.oneIn(2)) {
            subgraph.add_input_indexes(static_cast<uint32_t>(index));
            operand.set_lifetime(pb::OPERAND_LIFE_TIME_SUBGRAPH_INPUT);
            operand.clear_location();
            for (pb::Example& example : *testCase.mutable_examples()) {
                example.add_inputs();
            }
        } else {
            place(model, operand, contentOf(model, operand),
                  operand.lifetime() == pb::OPERAND_LIFE_TIME_CONSTANT_COPY);
        }
        return;
    }
}

}  // namespace halyard::fuzz
