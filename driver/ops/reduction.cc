// SPDX-License-Identifier: Apache-2.0
//
// MEAN, REDUCE_*: several axes of a tensor become one element each. ARGMAX, ARGMIN: one axis
// becomes an index.

#include <utility>

#include "driver/ops/families.h"
#include "driver/ops/lowering.h"
#include "driver/ops/rules.h"

namespace halyard::driver {
namespace {

using enum HalVersion;
using enum OperandType;
using Function = engine::Reduce::Function;

Status validate(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRankAtMost(view.input("input"), 4));
    HALYARD_RETURN_IF_ERROR(requireRank(view.input("axes"), 1));
    return requireSameQuantization(view.input("input"), view.output("output"));
}

Status lowerMean(Lowering& lowering) {
    HALYARD_ASSIGN_OR_RETURN(const int32_t keepDims, lowering.int32("keep_dims"));
    return lowering.addNodeOf(engine::Reduce{.function = Function::MEAN, .keepDims = keepDims > 0},
                              {"input", "axes"});
}

template <Function function>
Status lowerReduce(Lowering& lowering) {
    HALYARD_ASSIGN_OR_RETURN(const bool keepDims, lowering.boolean("keep_dims"));
    return lowering.addNodeOf(engine::Reduce{.function = function, .keepDims = keepDims},
                              {"input", "axes"});
}

template <Function function>
OperationDefinition reduction(OperationType type, std::vector<TypeRow> rows) {
    return {.type = type,
            .forms = {{V1_2,
                       {tensor("input", kTensor), int32Tensor("axes"), boolean("keep_dims")},
                       {tensor("output", kTensor)}}},
            .rows = std::move(rows),
            .validate = validate,
            .lower = lowerReduce<function>};
}

template <engine::ArgMinMax::Function function>
Status lowerArg(Lowering& lowering) {
    HALYARD_ASSIGN_OR_RETURN(const int32_t axis, lowering.int32("axis"));
    return lowering.addNodeOf(engine::ArgMinMax{.function = function, .axis = axis}, {"input"});
}

template <engine::ArgMinMax::Function function>
OperationDefinition arg(OperationType type) {
    return {.type = type,
            .forms = {{V1_2, {tensor("input", kTensor), int32("axis")}, {int32Tensor("output")}}},
            .rows = numberTypes(),
            .lower = lowerArg<function>};
}

}  // namespace

std::vector<OperationDefinition> reductionOperations() {
    const std::vector<TypeRow> floats = {{V1_2, {TENSOR_FLOAT16}}, {V1_2, {TENSOR_FLOAT32}}};
    const std::vector<TypeRow> reals = {{V1_2, {TENSOR_FLOAT16}},
                                        {V1_2, {TENSOR_FLOAT32}},
                                        {V1_2, {TENSOR_QUANT8_ASYMM}},
                                        {V1_3, {TENSOR_QUANT8_ASYMM_SIGNED}}};
    const std::vector<TypeRow> truths = {{V1_2, {TENSOR_BOOL8}}};
    return {
            {.type = OperationType::MEAN,
             .forms = {{V1_1,
                        {tensor("input", kTensor), int32Tensor("axes"), int32("keep_dims")},
                        {tensor("output", kTensor)}}},
             .rows = elementTypes(),
             .validate = validate,
             .lower = lowerMean},
            reduction<Function::ALL>(OperationType::REDUCE_ALL, truths),
            reduction<Function::ANY>(OperationType::REDUCE_ANY, truths),
            reduction<Function::MAX>(OperationType::REDUCE_MAX, reals),
            reduction<Function::MIN>(OperationType::REDUCE_MIN, reals),
            reduction<Function::PROD>(OperationType::REDUCE_PROD, floats),
            reduction<Function::SUM>(OperationType::REDUCE_SUM, floats),
            arg<engine::ArgMinMax::Function::MAX>(OperationType::ARGMAX),
            arg<engine::ArgMinMax::Function::MIN>(OperationType::ARGMIN),
    };
}

}  // namespace halyard::driver
