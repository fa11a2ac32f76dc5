// SPDX-License-Identifier: Apache-2.0
//
// FILL: from a shape to a tensor. RANK: from a tensor to how many extents it has.

#include "driver/ops/families.h"
#include "driver/ops/lowering.h"
#include "driver/ops/rules.h"

namespace halyard::driver {
namespace {

using enum HalVersion;
using enum OperandType;

Status validateFill(const OperationView& view) {
    return requireRank(view.input("dims"), 1);
}

Status lowerFill(Lowering& lowering) {
    return lowering.addNodeOf(engine::Fill{}, {"dims", "value"});
}

Status lowerRank(Lowering& lowering) {
    return lowering.addNodeOf(engine::Rank{}, {"input"});
}

}  // namespace

std::vector<OperationDefinition> shapeOperations() {
    return {
            {.type = OperationType::FILL,
             .forms = {{V1_3,
                        {int32Tensor("dims"), real("value", kScalar)},
                        {tensor("output", kTensor)}}},
             .rows = {{V1_3, {TENSOR_FLOAT32, FLOAT32}},
                      {V1_3, {TENSOR_FLOAT16, FLOAT16}},
                      {V1_3, {TENSOR_INT32, INT32}}},
             .validate = validateFill,
             .lower = lowerFill},
            {.type = OperationType::RANK,
             .forms = {{V1_3, {tensor("input", kTensor)}, {int32("output")}}},
             .rows = {{V1_3, {TENSOR_FLOAT16}},
                      {V1_3, {TENSOR_FLOAT32}},
                      {V1_3, {TENSOR_INT32}},
                      {V1_3, {TENSOR_BOOL8}},
                      {V1_3, {TENSOR_QUANT8_ASYMM}},
                      {V1_3, {TENSOR_QUANT8_ASYMM_SIGNED}},
                      {V1_3, {TENSOR_QUANT8_SYMM}},
                      {V1_3, {TENSOR_QUANT8_SYMM_PER_CHANNEL}},
                      {V1_3, {TENSOR_QUANT16_SYMM}},
                      {V1_3, {TENSOR_QUANT16_ASYMM}}},
             .lower = lowerRank},
    };
}

}  // namespace halyard::driver
