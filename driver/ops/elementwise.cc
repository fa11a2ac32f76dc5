// SPDX-License-Identifier: Apache-2.0
//
// ADD, MUL, SUB, DIV: two tensors of one type, broadcast against each other, with a fused
// activation. MAXIMUM, MINIMUM, POW, PRELU: without.

#include <utility>

#include "driver/ops/families.h"
#include "driver/ops/lowering.h"
#include "driver/ops/rules.h"

namespace halyard::driver {
namespace {

using enum HalVersion;
using enum OperandType;

std::vector<Form> formsSince(HalVersion since) {
    return {{since,
             {tensor("a", kTensor), tensor("b", kTensor), int32("activation")},
             {tensor("output", kTensor)}}};
}

std::vector<TypeRow> rows() {
    return {{V1_0, {TENSOR_FLOAT32}},
            {V1_2, {TENSOR_FLOAT16}},
            {V1_0, {TENSOR_QUANT8_ASYMM}},
            {V1_3, {TENSOR_QUANT8_ASYMM_SIGNED}},
            {V1_3, {TENSOR_INT32}}};
}

Status validate(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRankAtMost(view.input("a"), 4));
    return requireRankAtMost(view.input("b"), 4);
}

template <engine::Binary::Function function>
Status lower(Lowering& lowering) {
    HALYARD_ASSIGN_OR_RETURN(const engine::Activation activation,
                             lowering.activation("activation"));
    if (lowering.operand("a").type == TENSOR_INT32 && activation != engine::Activation::NONE) {
        return invalidArgument("with TENSOR_INT32 the activation is NONE");
    }
    return lowering.addNodeOf(engine::Binary{.function = function, .activation = activation},
                              {"a", "b"});
}

template <engine::Binary::Function function>
OperationDefinition plain(OperationType type, std::vector<TypeRow> rows) {
    return {.type = type,
            .forms = {{V1_2,
                       {tensor("a", kTensor), tensor("b", kTensor)},
                       {tensor("output", kTensor)}}},
            .rows = std::move(rows),
            .lower = [](Lowering& lowering) {
                return lowering.addNodeOf(engine::Binary{.function = function}, {"a", "b"});
            }};
}

}  // namespace

std::vector<OperationDefinition> elementwiseOperations() {
    return {
            {.type = OperationType::ADD,
             .forms = formsSince(V1_0),
             .rows = rows(),
             .validate = validate,
             .lower = lower<engine::Binary::Function::ADD>},
            {.type = OperationType::MUL,
             .forms = formsSince(V1_0),
             .rows = rows(),
             .validate = validate,
             .lower = lower<engine::Binary::Function::MUL>},
            {.type = OperationType::SUB,
             .forms = formsSince(V1_1),
             .rows = {{V1_1, {TENSOR_FLOAT32}},
                      {V1_2, {TENSOR_FLOAT16}},
                      {V1_2, {TENSOR_QUANT8_ASYMM}},
                      {V1_3, {TENSOR_QUANT8_ASYMM_SIGNED}},
                      {V1_3, {TENSOR_INT32}}},
             .validate = validate,
             .lower = lower<engine::Binary::Function::SUB>},
            {.type = OperationType::DIV,
             .forms = formsSince(V1_1),
             .rows = {{V1_1, {TENSOR_FLOAT32}}, {V1_2, {TENSOR_FLOAT16}}, {V1_3, {TENSOR_INT32}}},
             .validate = validate,
             .lower = lower<engine::Binary::Function::DIV>},
            plain<engine::Binary::Function::MAXIMUM>(OperationType::MAXIMUM, numberTypes()),
            plain<engine::Binary::Function::MINIMUM>(OperationType::MINIMUM, numberTypes()),
            plain<engine::Binary::Function::POW>(
                    OperationType::POW, {{V1_2, {TENSOR_FLOAT16}}, {V1_2, {TENSOR_FLOAT32}}}),
            plain<engine::Binary::Function::PRELU>(OperationType::PRELU,
                                                   {{V1_2, {TENSOR_FLOAT16}},
                                                    {V1_2, {TENSOR_FLOAT32}},
                                                    {V1_2, {TENSOR_QUANT8_ASYMM}},
                                                    {V1_3, {TENSOR_QUANT8_ASYMM_SIGNED}}}),
    };
}

}  // namespace halyard::driver
