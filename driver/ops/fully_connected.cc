// SPDX-License-Identifier: Apache-2.0

#include "driver/ops/families.h"
#include "driver/ops/lowering.h"
#include "driver/ops/rules.h"

namespace halyard::driver {
namespace {

using enum HalVersion;
using enum OperandType;

constexpr Column kData{0};  // of input, weights and output
constexpr Column kBias{1};

Status validate(const OperationView& view) {
    const OperandView& input = view.input("input");
    const OperandView& weights = view.input("weights");
    const OperandView& bias = view.input("bias");
    HALYARD_RETURN_IF_ERROR(requireRankAtMost(input, 4));
    HALYARD_RETURN_IF_ERROR(requireRank(weights, 2));
    HALYARD_RETURN_IF_ERROR(requireRank(bias, 1));
    HALYARD_RETURN_IF_ERROR(requireBiasScale(input, weights, bias));
    return requireCoarserOutput(view, input, weights, view.output("output"));
}

Status lower(Lowering& lowering) {
    HALYARD_ASSIGN_OR_RETURN(const engine::Activation activation,
                             lowering.activation("activation"));
    return lowering.addNodeOf(engine::FullyConnected{.activation = activation},
                              {"input", "weights", "bias"});
}

}  // namespace

std::vector<OperationDefinition> fullyConnectedOperations() {
    return {{.type = OperationType::FULLY_CONNECTED,
             .forms = {{V1_0,
                        {tensor("input", kData), tensor("weights", kData), tensor("bias", kBias),
                         int32("activation")},
                        {tensor("output", kData)}}},
             .rows = {{V1_0, {TENSOR_FLOAT32, TENSOR_FLOAT32}},
                      {V1_2, {TENSOR_FLOAT16, TENSOR_FLOAT16}},
                      {V1_0, {TENSOR_QUANT8_ASYMM, TENSOR_INT32}},
                      {V1_3, {TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_INT32}}},
             .validate = validate,
             .lower = lower}};
}

}  // namespace halyard::driver
