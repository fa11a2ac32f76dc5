// SPDX-License-Identifier: Apache-2.0
//
// RANDOM_MULTINOMIAL.

#include "driver/ops/families.h"
#include "driver/ops/lowering.h"
#include "driver/ops/rules.h"

namespace halyard::driver {
namespace {

using enum HalVersion;
using enum OperandType;

Status validate(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRank(view.input("logits"), 2));
    return requireRank(view.input("seeds"), 1);
}

Status lower(Lowering& lowering) {
    engine::RandomMultinomial node;
    HALYARD_ASSIGN_OR_RETURN(node.samples, lowering.int32AtLeast("samples", 1));
    return lowering.addNodeOf(node, {"logits", "seeds"});
}

}  // namespace

std::vector<OperationDefinition> randomOperations() {
    return {{.type = OperationType::RANDOM_MULTINOMIAL,
             .forms = {{V1_2,
                        {tensor("logits", kTensor), int32("samples"), int32Tensor("seeds")},
                        {int32Tensor("output")}}},
             .rows = {{V1_2, {TENSOR_FLOAT16}}, {V1_2, {TENSOR_FLOAT32}}},
             .validate = validate,
             .lower = lower}};
}

}  // namespace halyard::driver
