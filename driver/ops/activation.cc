// SPDX-License-Identifier: Apache-2.0
//
// RELU, RELU1, RELU6, LOGISTIC, HARD_SWISH: one tensor in, one of the same type and shape out.

#include "driver/ops/families.h"
#include "driver/ops/lowering.h"
#include "driver/ops/rules.h"

namespace halyard::driver {
namespace {

constexpr size_t kInput = 0;
constexpr size_t kOutput = 0;

Status validateRelu(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRankAtMost(view.inputs[kInput], 4));
    return requireSameQuantization(view.inputs[kInput], view.outputs[kOutput]);
}

Status validateLogistic(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRankAtMost(view.inputs[kInput], 4));
    return requireProbabilityQuantization(view.outputs[kOutput]);
}

template <engine::Activate::Function function>
Status lower(Lowering& lowering) {
    return lowering.addUnaryNode(engine::Activate{.function = function});
}

}  // namespace

std::vector<OperationDefinition> activationOperations() {
    using Function = engine::Activate::Function;
    return {
            {.type = OperationType::RELU,
             .signatures = elementTypeSignatures(HalVersion::V1_0, {}),
             .validate = validateRelu,
             .lower = lower<Function::RELU>},
            {.type = OperationType::RELU1,
             .signatures = elementTypeSignatures(HalVersion::V1_0, {}),
             .validate = validateRelu,
             .lower = lower<Function::RELU1>},
            {.type = OperationType::RELU6,
             .signatures = elementTypeSignatures(HalVersion::V1_0, {}),
             .validate = validateRelu,
             .lower = lower<Function::RELU6>},
            {.type = OperationType::LOGISTIC,
             .signatures = elementTypeSignatures(HalVersion::V1_0, {}),
             .validate = validateLogistic,
             .lower = lower<Function::LOGISTIC>},
            {.type = OperationType::HARD_SWISH,
             .signatures = elementTypeSignatures(HalVersion::V1_3, {}),
             .lower = lower<Function::HARD_SWISH>},
    };
}

}  // namespace halyard::driver
