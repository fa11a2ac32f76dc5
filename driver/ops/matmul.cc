// SPDX-License-Identifier: Apache-2.0
//
// BATCH_MATMUL.

#include "driver/ops/families.h"
#include "driver/ops/lowering.h"
#include "driver/ops/rules.h"

namespace halyard::driver {
namespace {

using enum HalVersion;
using enum OperandType;

Status validate(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRankAtMost(view.input("a"), 4));
    return requireRankAtMost(view.input("b"), 4);
}

Status lower(Lowering& lowering) {
    engine::BatchMatmul node;
    HALYARD_ASSIGN_OR_RETURN(node.transposeA, lowering.boolean("transpose_a"));
    HALYARD_ASSIGN_OR_RETURN(node.transposeB, lowering.boolean("transpose_b"));
    return lowering.addNodeOf(node, {"a", "b"});
}

}  // namespace

std::vector<OperationDefinition> matmulOperations() {
    return {{.type = OperationType::BATCH_MATMUL,
             .forms = {{AIDL_V2,
                        {tensor("a", kTensor), tensor("b", kTensor), boolean("transpose_a"),
                         boolean("transpose_b")},
                        {tensor("output", kTensor)}}},
             .rows = {{V1_2, {TENSOR_FLOAT16}},
                      {V1_2, {TENSOR_FLOAT32}},
                      {V1_2, {TENSOR_INT32}},
                      {V1_3, {TENSOR_QUANT8_ASYMM_SIGNED}}},
             .validate = validate,
             .lower = lower}};
}

}  // namespace halyard::driver
