// SPDX-License-Identifier: Apache-2.0
//
// L2_NORMALIZATION, LOCAL_RESPONSE_NORMALIZATION, INSTANCE_NORMALIZATION.

#include <string>

#include "driver/ops/families.h"
#include "driver/ops/lowering.h"
#include "driver/ops/rules.h"

namespace halyard::driver {
namespace {

using enum HalVersion;
using enum OperandType;

// Along the last axis of four in the first versions.
Status requireImageBefore12(const OperationView& view) {
    const OperandView& input = view.input("input");
    HALYARD_RETURN_IF_ERROR(requireRankAtMost(input, 4));
    const size_t rank = input.operand->dimensions.size();
    if (view.version() < V1_2 && rank != 4) {
        return invalidArgument("before HAL 1.2 " + input.name() + " has rank 4, not " +
                               std::to_string(rank));
    }
    return {};
}

Status validateL2(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireImageBefore12(view));
    const OperandView& output = view.output("output");
    switch (output.operand->type) {
        case TENSOR_QUANT8_ASYMM:
            return requireQuantization(output, 1.0F / 128.0F, 128);
        case TENSOR_QUANT8_ASYMM_SIGNED:
            return requireQuantization(output, 1.0F / 128.0F, 0);
        default:
            return {};
    }
}

Status validateInstance(const OperationView& view) {
    return requireRank(view.input("input"), 4);
}

// The last one where the form has none.
Result<int32_t> readAxis(const Lowering& lowering) {
    return lowering.has("axis") ? lowering.int32("axis") : -1;
}

Status lowerL2(Lowering& lowering) {
    engine::L2Normalize node;
    HALYARD_ASSIGN_OR_RETURN(node.axis, readAxis(lowering));
    return lowering.addNodeOf(node, {"input"});
}

Status lowerLocalResponse(Lowering& lowering) {
    engine::LocalResponseNormalize node;
    HALYARD_ASSIGN_OR_RETURN(node.radius, lowering.int32AtLeast("radius", 0));
    HALYARD_ASSIGN_OR_RETURN(node.bias, lowering.real("bias"));
    HALYARD_ASSIGN_OR_RETURN(node.alpha, lowering.real("alpha"));
    HALYARD_ASSIGN_OR_RETURN(node.beta, lowering.real("beta"));
    HALYARD_ASSIGN_OR_RETURN(node.axis, readAxis(lowering));
    return lowering.addNodeOf(node, {"input"});
}

Status lowerInstance(Lowering& lowering) {
    engine::InstanceNormalize node;
    HALYARD_ASSIGN_OR_RETURN(node.gamma, lowering.real("gamma"));
    HALYARD_ASSIGN_OR_RETURN(node.beta, lowering.real("beta"));
    HALYARD_ASSIGN_OR_RETURN(node.epsilon, lowering.real("epsilon"));
    HALYARD_ASSIGN_OR_RETURN(const bool nchw, lowering.isNchw("layout"));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId input, lowering.nhwcInput(nchw));
    return lowering.addNhwcNode(node, {input}, nchw);
}

}  // namespace

std::vector<OperationDefinition> normalizationOperations() {
    const OperandForms output = {tensor("output", kTensor)};
    const OperandForms localResponse = {tensor("input", kTensor), int32("radius"),
                                        real("bias", kScalar), real("alpha", kScalar),
                                        real("beta", kScalar)};
    return {
            {.type = OperationType::L2_NORMALIZATION,
             .forms = {{V1_0, {tensor("input", kTensor)}, output},
                       {V1_2, {tensor("input", kTensor), int32("axis")}, output}},
             .rows = {{V1_0, {TENSOR_FLOAT32}},
                      {V1_2, {TENSOR_FLOAT16}},
                      {V1_2, {TENSOR_QUANT8_ASYMM}},
                      {V1_3, {TENSOR_QUANT8_ASYMM_SIGNED}}},
             .validate = validateL2,
             .lower = lowerL2},
            {.type = OperationType::LOCAL_RESPONSE_NORMALIZATION,
             .forms = {{V1_0, localResponse, output},
                       {V1_2, join({localResponse, {int32("axis")}}), output}},
             .rows = {{V1_0, {TENSOR_FLOAT32, FLOAT32}}, {V1_2, {TENSOR_FLOAT16, FLOAT16}}},
             .validate = requireImageBefore12,
             .lower = lowerLocalResponse},
            {.type = OperationType::INSTANCE_NORMALIZATION,
             .forms = {{V1_2,
                        {tensor("input", kTensor), real("gamma", kScalar), real("beta", kScalar),
                         real("epsilon", kScalar), boolean("layout")},
                        output}},
             .rows = {{V1_2, {TENSOR_FLOAT32, FLOAT32}}, {V1_2, {TENSOR_FLOAT16, FLOAT16}}},
             .validate = validateInstance,
             .lower = lowerInstance},
    };
}

}  // namespace halyard::driver
