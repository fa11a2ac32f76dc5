// SPDX-License-Identifier: Apache-2.0
//
// ABS, EXP, FLOOR, LOG, NEG, RSQRT, SIN, SQRT: one element in, one out.

#include <utility>

#include "driver/ops/families.h"
#include "driver/ops/lowering.h"
#include "driver/ops/rules.h"

namespace halyard::driver {
namespace {

using enum HalVersion;
using enum OperandType;

Status validateFloor(const OperationView& view) {
    return requireRankAtMost(view.input("input"), 4);
}

template <engine::Unary::Function function>
Status lower(Lowering& lowering) {
    return lowering.addNodeOf(engine::Unary{.function = function}, {"input"});
}

template <engine::Unary::Function function>
OperationDefinition unary(OperationType type, std::vector<TypeRow> rows, HalVersion since = V1_2) {
    return {.type = type,
            .forms = {{since, {tensor("input", kTensor)}, {tensor("output", kTensor)}}},
            .rows = std::move(rows),
            .lower = lower<function>};
}

}  // namespace

std::vector<OperationDefinition> unaryOperations() {
    using Function = engine::Unary::Function;
    const std::vector<TypeRow> floats = {{V1_2, {TENSOR_FLOAT16}}, {V1_2, {TENSOR_FLOAT32}}};
    OperationDefinition floor = unary<Function::FLOOR>(
            OperationType::FLOOR, {{V1_0, {TENSOR_FLOAT32}}, {V1_2, {TENSOR_FLOAT16}}}, V1_0);
    floor.validate = validateFloor;
    return {
            unary<Function::ABS>(
                    OperationType::ABS,
                    {{V1_2, {TENSOR_FLOAT16}}, {V1_2, {TENSOR_FLOAT32}}, {V1_3, {TENSOR_INT32}}}),
            unary<Function::EXP>(OperationType::EXP, floats),
            floor,
            unary<Function::LOG>(OperationType::LOG, floats),
            unary<Function::NEG>(
                    OperationType::NEG,
                    {{V1_2, {TENSOR_FLOAT16}}, {V1_2, {TENSOR_FLOAT32}}, {V1_2, {TENSOR_INT32}}}),
            unary<Function::RSQRT>(OperationType::RSQRT, {{V1_2, {TENSOR_FLOAT16}},
                                                          {V1_2, {TENSOR_FLOAT32}},
                                                          {AIDL_V3, {TENSOR_QUANT8_ASYMM}},
                                                          {AIDL_V3, {TENSOR_QUANT8_ASYMM_SIGNED}}}),
            unary<Function::SIN>(OperationType::SIN, floats),
            unary<Function::SQRT>(OperationType::SQRT, floats),
    };
}

}  // namespace halyard::driver
