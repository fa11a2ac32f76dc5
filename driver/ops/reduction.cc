// SPDX-License-Identifier: Apache-2.0
//
// MEAN.

#include "driver/ops/families.h"
#include "driver/ops/lowering.h"
#include "driver/ops/rules.h"

namespace halyard::driver {
namespace {

constexpr size_t kInput = 0;
constexpr size_t kAxes = 1;
constexpr size_t kKeepDims = 2;
constexpr size_t kOutput = 0;

Status validate(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRankAtMost(view.inputs[kInput], 4));
    HALYARD_RETURN_IF_ERROR(requireRank(view.inputs[kAxes], 1));
    return requireSameQuantization(view.inputs[kInput], view.outputs[kOutput]);
}

Status lower(Lowering& lowering) {
    HALYARD_ASSIGN_OR_RETURN(const int32_t keepDims, lowering.int32(kKeepDims, "keep_dims"));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId input, lowering.inputTensor(kInput));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId axes, lowering.inputTensor(kAxes));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId output, lowering.outputTensor(kOutput));
    lowering.addNode(
            engine::Reduce{.function = engine::Reduce::Function::MEAN, .keepDims = keepDims > 0},
            {input, axes}, output);
    return {};
}

}  // namespace

std::vector<OperationDefinition> reductionOperations() {
    return {{.type = OperationType::MEAN,
             .signatures = elementTypeSignatures(HalVersion::V1_1,
                                                 {OperandType::TENSOR_INT32, OperandType::INT32}),
             .validate = validate,
             .lower = lower}};
}

}  // namespace halyard::driver
