// SPDX-License-Identifier: Apache-2.0
//
// GATHER, EMBEDDING_LOOKUP, TOPK_V2: some elements of a tensor, by their indices or by their order.

#include "driver/ops/families.h"
#include "driver/ops/lowering.h"
#include "driver/ops/rules.h"

namespace halyard::driver {
namespace {

using enum HalVersion;
using enum OperandType;

Status validateGather(const OperationView& view) {
    return requireSameQuantization(view.input("input"), view.output("output"));
}

Status validateLookup(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRank(view.input("indices"), 1));
    return requireSameQuantization(view.input("input"), view.output("output"));
}

Status validateTopK(const OperationView& view) {
    return requireSameQuantization(view.input("input"), view.output("values"));
}

Status lowerGather(Lowering& lowering) {
    HALYARD_ASSIGN_OR_RETURN(const int32_t axis, lowering.int32("axis"));
    return lowering.addNodeOf(engine::Gather{.axis = axis}, {"input", "indices"});
}

Status lowerLookup(Lowering& lowering) {
    return lowering.addNodeOf(engine::Gather{.axis = 0}, {"input", "indices"});
}

Status lowerTopK(Lowering& lowering) {
    HALYARD_ASSIGN_OR_RETURN(const int32_t k, lowering.int32AtLeast("k", 1));
    return lowering.addNodeOf(engine::TopK{.k = k}, {"input"}, {"values", "indices"});
}

}  // namespace

std::vector<OperationDefinition> selectionOperations() {
    return {
            {.type = OperationType::GATHER,
             .forms = {{V1_2,
                        {tensor("input", kTensor), int32("axis"), int32Tensor("indices")},
                        {tensor("output", kTensor)}}},
             .rows = numberTypes(),
             .validate = validateGather,
             .lower = lowerGather},
            {.type = OperationType::EMBEDDING_LOOKUP,
             .forms = {{V1_0,
                        {int32Tensor("indices"), tensor("input", kTensor)},
                        {tensor("output", kTensor)}}},
             .rows = {{V1_3, {TENSOR_FLOAT16}},
                      {V1_0, {TENSOR_FLOAT32}},
                      {V1_2, {TENSOR_INT32}},
                      {V1_2, {TENSOR_QUANT8_ASYMM}},
                      {V1_3, {TENSOR_QUANT8_ASYMM_SIGNED}}},
             .validate = validateLookup,
             .lower = lowerLookup},
            {.type = OperationType::TOPK_V2,
             .forms = {{V1_2,
                        {tensor("input", kTensor), int32("k")},
                        {tensor("values", kTensor), int32Tensor("indices")}}},
             .rows = numberTypes(),
             .validate = validateTopK,
             .lower = lowerTopK},
    };
}

}  // namespace halyard::driver
