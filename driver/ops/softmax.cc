// SPDX-License-Identifier: Apache-2.0

#include <string>

#include "driver/ops/families.h"
#include "driver/ops/lowering.h"
#include "driver/ops/rules.h"

namespace halyard::driver {
namespace {

Status validate(const OperationView& view) {
    const OperandView& input = view.input("input");
    HALYARD_RETURN_IF_ERROR(requireRankAtMost(input, 4));
    const size_t rank = input.operand->dimensions.size();
    if (view.version() < HalVersion::V1_2 && rank != 2 && rank != 4) {
        return invalidArgument("before HAL 1.2 " + input.name() + " has rank 2 or 4, not " +
                               std::to_string(rank));
    }
    return requireProbabilityQuantization(view.output("output"));
}

Status lower(Lowering& lowering) {
    HALYARD_ASSIGN_OR_RETURN(const float beta, lowering.real("beta"));
    if (!(beta > 0.0F)) {
        return invalidArgument("beta is not positive");
    }
    int32_t axis = -1;  // before 1.2 always
    if (lowering.has("axis")) {
        HALYARD_ASSIGN_OR_RETURN(axis, lowering.int32("axis"));
    }
    return lowering.addNodeOf(engine::Softmax{.beta = beta, .axis = axis}, {"input"});
}

}  // namespace

std::vector<OperationDefinition> softmaxOperations() {
    return {{.type = OperationType::SOFTMAX,
             .forms = {{HalVersion::V1_0,
                        {tensor("input", kTensor), real("beta", kScalar)},
                        {tensor("output", kTensor)}},
                       {HalVersion::V1_2,
                        {tensor("input", kTensor), real("beta", kScalar), int32("axis")},
                        {tensor("output", kTensor)}}},
             .rows = elementTypes(),
             .validate = validate,
             .lower = lower}};
}

}  // namespace halyard::driver
