// SPDX-License-Identifier: Apache-2.0
//
// DEPTH_TO_SPACE, SPACE_TO_DEPTH, BATCH_TO_SPACE_ND, SPACE_TO_BATCH_ND: blocks of pixels become
// channels or batches and back. CHANNEL_SHUFFLE: blocks of channels change places.

#include "driver/ops/families.h"
#include "driver/ops/lowering.h"
#include "driver/ops/rules.h"

namespace halyard::driver {
namespace {

using enum HalVersion;

// From 1.2 on with the layout, too.
std::vector<Form> formsSince(HalVersion since, const OperandForms& inputs) {
    const OperandForms outputs = {tensor("output", kTensor)};
    return {{since, inputs, outputs}, {V1_2, join({inputs, {boolean("layout")}}), outputs}};
}

Status validate(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRank(view.input("input"), 4));
    return requireSameQuantization(view.input("input"), view.output("output"));
}

Status validateBatchToSpace(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRank(view.input("block"), 1));
    return validate(view);
}

Status validateSpaceToBatch(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRank(view.input("block"), 1));
    HALYARD_RETURN_IF_ERROR(requireRank(view.input("paddings"), 2));
    HALYARD_RETURN_IF_ERROR(requireZeroPointZero(view, view.input("input")));
    return validate(view);
}

Status validateShuffle(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRankAtMost(view.input("input"), 4));
    return requireSameQuantization(view.input("input"), view.output("output"));
}

template <typename Descriptor>
Status lowerDepth(Lowering& lowering) {
    HALYARD_ASSIGN_OR_RETURN(const int32_t block, lowering.int32AtLeast("block", 1));
    HALYARD_ASSIGN_OR_RETURN(const bool nchw, lowering.isNchw("layout"));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId input, lowering.nhwcInput(nchw));
    return lowering.addNhwcNode(Descriptor{.block = block}, {input}, nchw);
}

Status lowerBatchToSpace(Lowering& lowering) {
    HALYARD_ASSIGN_OR_RETURN(const bool nchw, lowering.isNchw("layout"));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId input, lowering.nhwcInput(nchw));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId block, lowering.input("block"));
    return lowering.addNhwcNode(engine::BatchToSpace{}, {input, block}, nchw);
}

Status lowerSpaceToBatch(Lowering& lowering) {
    HALYARD_ASSIGN_OR_RETURN(const bool nchw, lowering.isNchw("layout"));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId input, lowering.nhwcInput(nchw));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId block, lowering.input("block"));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId paddings, lowering.input("paddings"));
    return lowering.addNhwcNode(engine::SpaceToBatch{}, {input, block, paddings}, nchw);
}

Status lowerShuffle(Lowering& lowering) {
    engine::ChannelShuffle node;
    HALYARD_ASSIGN_OR_RETURN(node.groups, lowering.int32AtLeast("groups", 1));
    HALYARD_ASSIGN_OR_RETURN(node.axis, lowering.int32("axis"));
    return lowering.addNodeOf(node, {"input"});
}

}  // namespace

std::vector<OperationDefinition> blockOperations() {
    using enum OperandType;
    const OperandForm input = tensor("input", kTensor);
    return {
            {.type = OperationType::DEPTH_TO_SPACE,
             .forms = formsSince(V1_0, {input, int32("block")}),
             .rows = elementTypes(),
             .validate = validate,
             .lower = lowerDepth<engine::DepthToSpace>},
            {.type = OperationType::SPACE_TO_DEPTH,
             .forms = formsSince(V1_0, {input, int32("block")}),
             .rows = elementTypes(),
             .validate = validate,
             .lower = lowerDepth<engine::SpaceToDepth>},
            {.type = OperationType::BATCH_TO_SPACE_ND,
             .forms = formsSince(V1_1, {input, int32Tensor("block")}),
             .rows = elementTypes(),
             .validate = validateBatchToSpace,
             .lower = lowerBatchToSpace},
            {.type = OperationType::SPACE_TO_BATCH_ND,
             .forms = formsSince(V1_1, {input, int32Tensor("block"), int32Tensor("paddings")}),
             .rows = elementTypes(),
             .validate = validateSpaceToBatch,
             .lower = lowerSpaceToBatch},
            {.type = OperationType::CHANNEL_SHUFFLE,
             .forms = {{V1_2,
                        {input, int32("groups"), int32("axis")},
                        {tensor("output", kTensor)}}},
             .rows = {{V1_2, {TENSOR_FLOAT16}},
                      {V1_2, {TENSOR_FLOAT32}},
                      {V1_2, {TENSOR_QUANT8_ASYMM}},
                      {V1_3, {TENSOR_QUANT8_ASYMM_SIGNED}}},
             .validate = validateShuffle,
             .lower = lowerShuffle},
    };
}

}  // namespace halyard::driver
