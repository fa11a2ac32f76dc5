// SPDX-License-Identifier: Apache-2.0
//
// SOFTMAX, LOG_SOFTMAX.

#include <string>

#include "driver/ops/families.h"
#include "driver/ops/lowering.h"
#include "driver/ops/rules.h"

namespace halyard::driver {
namespace {

using enum HalVersion;
using enum OperandType;

Status validate(const OperationView& view) {
    const OperandView& input = view.input("input");
    HALYARD_RETURN_IF_ERROR(requireRankAtMost(input, 4));
    const size_t rank = input.operand->dimensions.size();
    if (view.version() < V1_2 && rank != 2 && rank != 4) {
        return invalidArgument("before HAL 1.2 " + input.name() + " has rank 2 or 4, not " +
                               std::to_string(rank));
    }
    return requireProbabilityQuantization(view.output("output"));
}

template <typename Node>
Status lower(Lowering& lowering) {
    HALYARD_ASSIGN_OR_RETURN(const float beta, lowering.real("beta"));
    if (!(beta > 0.0F)) {
        return invalidArgument("beta is not positive");
    }
    int32_t axis = -1;  // before 1.2 always
    if (lowering.has("axis")) {
        HALYARD_ASSIGN_OR_RETURN(axis, lowering.int32("axis"));
    }
    return lowering.addNodeOf(Node{.beta = beta, .axis = axis}, {"input"});
}

}  // namespace

std::vector<OperationDefinition> softmaxOperations() {
    const OperandForms withoutAxis = {tensor("input", kTensor), real("beta", kScalar)};
    const OperandForms withAxis = join({withoutAxis, {int32("axis")}});
    const OperandForms output = {tensor("output", kTensor)};
    return {
            {.type = OperationType::SOFTMAX,
             .forms = {{V1_0, withoutAxis, output}, {V1_2, withAxis, output}},
             .rows = elementTypes(),
             .validate = validate,
             .lower = lower<engine::Softmax>},
            {.type = OperationType::LOG_SOFTMAX,
             .forms = {{V1_2, withAxis, output}},
             .rows = {{V1_2, {TENSOR_FLOAT32, FLOAT32}}, {V1_2, {TENSOR_FLOAT16, FLOAT16}}},
             .lower = lower<engine::LogSoftmax>},
    };
}

}  // namespace halyard::driver
