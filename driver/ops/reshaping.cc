// SPDX-License-Identifier: Apache-2.0
//
// RESHAPE, SQUEEZE, EXPAND_DIMS, TRANSPOSE, CONCATENATION, SPLIT, PACK: elements move, values stay.

#include <string>
#include <utility>

#include "driver/ops/families.h"
#include "driver/ops/lowering.h"
#include "driver/ops/rules.h"

namespace halyard::driver {
namespace {

using enum HalVersion;
using enum OperandType;

Status validateReshape(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRankAtMost(view.input("input"), 4));
    HALYARD_RETURN_IF_ERROR(requireRank(view.input("shape"), 1));
    return requireSameQuantization(view.input("input"), view.output("output"));
}

Status validateExpandDims(const OperationView& view) {
    return requireSameQuantization(view.input("input"), view.output("output"));
}

Status validateSqueeze(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRankAtMost(view.input("input"), 4));
    HALYARD_RETURN_IF_ERROR(requireRank(view.input("axes"), 1));
    return requireSameQuantization(view.input("input"), view.output("output"));
}

Status validateTranspose(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRankAtMost(view.input("input"), 4));
    HALYARD_RETURN_IF_ERROR(requireRank(view.input("permutation"), 1));
    return requireSameQuantization(view.input("input"), view.output("output"));
}

Status validateSplit(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRankAtMost(view.input("input"), 4));
    for (const OperandView& output : view.outputs("outputs")) {
        HALYARD_RETURN_IF_ERROR(requireSameQuantization(view.input("input"), output));
    }
    return {};
}

Status validateConcatenation(const OperationView& view) {
    for (const OperandView& input : view.inputs("inputs")) {
        HALYARD_RETURN_IF_ERROR(requireRankAtMost(input, 4));
        if (view.version() < V1_2) {
            HALYARD_RETURN_IF_ERROR(requireSameQuantization(view.output("output"), input));
        }
    }
    return {};
}

// INT32 came with the stable AIDL interface.
std::vector<TypeRow> reshapeTypes() {
    std::vector<TypeRow> rows = elementTypes();
    rows.push_back({AIDL_V2, {TENSOR_INT32, FLOAT32}});
    return rows;
}

Status lowerReshape(Lowering& lowering) {
    return lowering.addNodeOf(engine::Reshape{}, {"input", "shape"});
}

Status lowerExpandDims(Lowering& lowering) {
    HALYARD_ASSIGN_OR_RETURN(const int32_t axis, lowering.int32("axis"));
    return lowering.addNodeOf(engine::ExpandDims{.axis = axis}, {"input"});
}

Status lowerSqueeze(Lowering& lowering) {
    return lowering.addNodeOf(engine::Squeeze{}, {"input", "axes"});
}

Status lowerTranspose(Lowering& lowering) {
    return lowering.addNodeOf(engine::Transpose{}, {"input", "permutation"});
}

Status lowerConcatenation(Lowering& lowering) {
    HALYARD_ASSIGN_OR_RETURN(const int32_t axis, lowering.int32("axis"));
    HALYARD_ASSIGN_OR_RETURN(std::vector<engine::TensorId> inputs, lowering.inputs("inputs"));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId output, lowering.output("output"));
    lowering.addNode(engine::Concat{.axis = axis}, std::move(inputs), output);
    return {};
}

Status lowerSplit(Lowering& lowering) {
    HALYARD_ASSIGN_OR_RETURN(const int32_t axis, lowering.int32("axis"));
    HALYARD_ASSIGN_OR_RETURN(const int32_t count, lowering.int32AtLeast("count", 1));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId input, lowering.input("input"));
    HALYARD_ASSIGN_OR_RETURN(std::vector<engine::TensorId> outputs, lowering.outputs("outputs"));
    if (outputs.size() != static_cast<size_t>(count)) {
        return invalidArgument(lowering.view().input("count").name() + " is " +
                               std::to_string(count) + ", but the number of outputs is " +
                               std::to_string(outputs.size()));
    }
    lowering.addNode(engine::Split{.axis = axis}, {input}, std::move(outputs));
    return {};
}

Status validatePack(const OperationView& view) {
    for (const OperandView& input : view.inputs("inputs")) {
        HALYARD_RETURN_IF_ERROR(requireSameQuantization(view.output("output"), input));
    }
    return {};
}

Status lowerPack(Lowering& lowering) {
    HALYARD_ASSIGN_OR_RETURN(const int32_t axis, lowering.int32AtLeast("axis", 0));
    HALYARD_ASSIGN_OR_RETURN(std::vector<engine::TensorId> inputs, lowering.inputs("inputs"));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId output, lowering.output("output"));
    lowering.addNode(engine::Pack{.axis = axis}, std::move(inputs), output);
    return {};
}

}  // namespace

std::vector<OperationDefinition> reshapingOperations() {
    return {
            {.type = OperationType::RESHAPE,
             .forms = {{V1_0,
                        {tensor("input", kTensor), int32Tensor("shape")},
                        {tensor("output", kTensor)}}},
             .rows = reshapeTypes(),
             .validate = validateReshape,
             .lower = lowerReshape},
            {.type = OperationType::EXPAND_DIMS,
             .forms = {{V1_2,
                        {tensor("input", kTensor), int32("axis")},
                        {tensor("output", kTensor)}}},
             .rows = numberTypes(),
             .validate = validateExpandDims,
             .lower = lowerExpandDims},
            {.type = OperationType::CONCATENATION,
             .forms = {{V1_0,
                        {tensor("inputs", kTensor).repeated(), int32("axis")},
                        {tensor("output", kTensor)}}},
             .rows = elementTypes(),
             .validate = validateConcatenation,
             .lower = lowerConcatenation},
            {.type = OperationType::SQUEEZE,
             .forms = {{V1_1,
                        {tensor("input", kTensor), int32Tensor("axes").orOmitted()},
                        {tensor("output", kTensor)}}},
             .rows = elementTypes(),
             .validate = validateSqueeze,
             .lower = lowerSqueeze},
            {.type = OperationType::TRANSPOSE,
             .forms = {{V1_1,
                        {tensor("input", kTensor), int32Tensor("permutation").orOmitted()},
                        {tensor("output", kTensor)}}},
             .rows = elementTypes(),
             .validate = validateTranspose,
             .lower = lowerTranspose},
            {.type = OperationType::SPLIT,
             .forms = {{V1_2,
                        {tensor("input", kTensor), int32("axis"), int32("count")},
                        {tensor("outputs", kTensor).repeated()}}},
             .rows = numberTypes(),
             .validate = validateSplit,
             .lower = lowerSplit},
            {.type = OperationType::PACK,
             .forms = {{AIDL_V2,
                        {int32("axis"), tensor("inputs", kTensor).repeated()},
                        {tensor("output", kTensor)}}},
             .rows = numberTypes(),
             .validate = validatePack,
             .lower = lowerPack},
    };
}

}  // namespace halyard::driver
