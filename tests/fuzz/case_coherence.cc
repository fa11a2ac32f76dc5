// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/case_coherence.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/case_content.h"
#include "tests/fuzz/case_fields.h"
#include "tests/fuzz/case_limits.h"

namespace halyard::fuzz {

// Of a pool that grows for it.
constexpr size_t kMostSharedBytes = size_t{1} << 16;

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

void shareConstant(pb::Model& model, SeededChoices& choices) {
    std::vector<pb::Operand*> constants;
    forEachOperand(model, [&](pb::Operand& operand) {
        if (isConstant(operand) && !contentOf(model, operand).empty()) {
            constants.push_back(&operand);
        }
    });
    if (constants.size() < 2) {
        return;
    }
    const pb::Operand& from = *constants[choices.below(constants.size())];
    pb::Operand& to = *constants[choices.below(constants.size())];
    if (choices.oneIn(3) && to.dimensions_size() > 1) {
        to.mutable_dimensions()->SwapElements(0, to.dimensions_size() - 1);
    }
    const auto width = static_cast<uint32_t>(std::max<size_t>(elementBytes(to.type()), 1));
    const uint32_t behind = choices.oneIn(2) ? 0 : choices.below(uint32_t{8}) * width;
    const uint32_t length = to.location().length();
    *to.mutable_location() = from.location();
    to.mutable_location()->set_offset(from.location().offset() + behind);
    to.mutable_location()->set_length(length);
    to.set_lifetime(from.lifetime());
    // As much as is read has to be there.
    std::string& values =
            from.lifetime() == pb::OPERAND_LIFE_TIME_CONSTANT_COPY
                    ? *model.mutable_operand_values()
                    : *model.mutable_pools(static_cast<int>(from.location().pool_index()));
    const size_t end = size_t{to.location().offset()} + length;
    if (values.size() < end && end < kMostSharedBytes) {
        values.resize(end);
    }
}

}  // namespace halyard::fuzz
