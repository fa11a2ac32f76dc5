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

Result<double> readValue(const Lowering& lowering) {
    if (lowering.operand("value").type == INT32) {
        HALYARD_ASSIGN_OR_RETURN(const int32_t value, lowering.int32("value"));
        return static_cast<double>(value);
    }
    HALYARD_ASSIGN_OR_RETURN(const float value, lowering.real("value"));
    return static_cast<double>(value);
}

Status lowerFill(Lowering& lowering) {
    HALYARD_ASSIGN_OR_RETURN(const double value, readValue(lowering));
    return lowering.addNodeOf(engine::Fill{.value = value}, {"dims"});
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
