// SPDX-License-Identifier: Apache-2.0
//
// LOGICAL_AND, LOGICAL_OR, LOGICAL_NOT: truth values to truth values. SELECT: one of two by them.

#include "driver/ops/families.h"
#include "driver/ops/lowering.h"

namespace halyard::driver {
namespace {

using enum HalVersion;
using enum OperandType;

template <engine::Binary::Function function>
Status lowerBinary(Lowering& lowering) {
    return lowering.addNodeOf(engine::Binary{.function = function}, {"a", "b"});
}

Status lowerNot(Lowering& lowering) {
    return lowering.addNodeOf(engine::Unary{.function = engine::Unary::Function::LOGICAL_NOT},
                              {"input"});
}

Status lowerSelect(Lowering& lowering) {
    return lowering.addNodeOf(engine::Select{}, {"condition", "a", "b"});
}

}  // namespace

std::vector<OperationDefinition> logicOperations() {
    const std::vector<Form> binary = {
            {V1_2, {tensor("a", kTensor), tensor("b", kTensor)}, {tensor("output", kTensor)}}};
    return {
            {.type = OperationType::LOGICAL_AND,
             .forms = binary,
             .rows = {{V1_2, {TENSOR_BOOL8}}},
             .lower = lowerBinary<engine::Binary::Function::LOGICAL_AND>},
            {.type = OperationType::LOGICAL_OR,
             .forms = binary,
             .rows = {{V1_2, {TENSOR_BOOL8}}},
             .lower = lowerBinary<engine::Binary::Function::LOGICAL_OR>},
            {.type = OperationType::LOGICAL_NOT,
             .forms = {{V1_2, {tensor("input", kTensor)}, {tensor("output", kTensor)}}},
             .rows = {{V1_2, {TENSOR_BOOL8}}},
             .lower = lowerNot},
            {.type = OperationType::SELECT,
             .forms = {{V1_2,
                        {tensor("condition", TENSOR_BOOL8), tensor("a", kTensor),
                         tensor("b", kTensor)},
                        {tensor("output", kTensor)}}},
             .rows = numberTypes(),
             .lower = lowerSelect},
    };
}

}  // namespace halyard::driver
