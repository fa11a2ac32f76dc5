// SPDX-License-Identifier: Apache-2.0
//
// LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, EQUAL, NOT_EQUAL: two tensors of one type, broadcast
// against each other, to truth values.

#include "driver/ops/families.h"
#include "driver/ops/lowering.h"

namespace halyard::driver {
namespace {

using enum HalVersion;
using enum OperandType;

template <engine::Compare::Function function>
Status lower(Lowering& lowering) {
    return lowering.addNodeOf(engine::Compare{.function = function}, {"a", "b"});
}

template <engine::Compare::Function function>
OperationDefinition comparison(OperationType type) {
    return {.type = type,
            .forms = {{V1_2,
                       {tensor("a", kTensor), tensor("b", kTensor)},
                       {tensor("output", TENSOR_BOOL8)}}},
            .rows = {{V1_2, {TENSOR_BOOL8}},
                     {V1_2, {TENSOR_FLOAT16}},
                     {V1_2, {TENSOR_FLOAT32}},
                     {V1_2, {TENSOR_INT32}},
                     {V1_2, {TENSOR_QUANT8_ASYMM}},
                     {V1_3, {TENSOR_QUANT8_ASYMM_SIGNED}}},
            .lower = lower<function>};
}

}  // namespace

std::vector<OperationDefinition> comparisonOperations() {
    using Function = engine::Compare::Function;
    return {comparison<Function::LESS>(OperationType::LESS),
            comparison<Function::LESS_EQUAL>(OperationType::LESS_EQUAL),
            comparison<Function::GREATER>(OperationType::GREATER),
            comparison<Function::GREATER_EQUAL>(OperationType::GREATER_EQUAL),
            comparison<Function::EQUAL>(OperationType::EQUAL),
            comparison<Function::NOT_EQUAL>(OperationType::NOT_EQUAL)};
}

}  // namespace halyard::driver
