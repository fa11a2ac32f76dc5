// SPDX-License-Identifier: Apache-2.0
//
// ROI_ALIGN, BOX_WITH_NMS_LIMIT: regions of interest, each by the corners of its box.

#include <string>

#include "driver/ops/families.h"
#include "driver/ops/lowering.h"
#include "driver/ops/rules.h"

namespace halyard::driver {
namespace {

using enum HalVersion;
using enum OperandType;

constexpr Column kData{0};
constexpr Column kBoxes{1};
constexpr Column kReal{2};

std::vector<TypeRow> rows() {
    return {{V1_2, {TENSOR_FLOAT32, TENSOR_FLOAT32, FLOAT32}},
            {V1_2, {TENSOR_FLOAT16, TENSOR_FLOAT16, FLOAT16}},
            {V1_2, {TENSOR_QUANT8_ASYMM, TENSOR_QUANT16_ASYMM, FLOAT32}},
            {V1_3, {TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_QUANT16_ASYMM, FLOAT32}}};
}

// Quantised boxes count eighths of a pixel.
Status requireBoxes(const OperandView& boxes) {
    HALYARD_RETURN_IF_ERROR(requireRank(boxes, 2));
    return boxes.operand->type == TENSOR_QUANT16_ASYMM ? requireQuantization(boxes, 0.125F, 0)
                                                       : Status();
}

Status validateRoiAlign(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRank(view.input("input"), 4));
    HALYARD_RETURN_IF_ERROR(requireBoxes(view.input("boxes")));
    return requireRank(view.input("batches"), 1);
}

Status validateBoxWithNmsLimit(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRank(view.input("scores"), 2));
    HALYARD_RETURN_IF_ERROR(requireBoxes(view.input("boxes")));
    HALYARD_RETURN_IF_ERROR(requireRank(view.input("batches"), 1));
    HALYARD_RETURN_IF_ERROR(requireBoxes(view.output("boxes")));
    return requireSameQuantization(view.input("scores"), view.output("scores"));
}

Status lowerRoiAlign(Lowering& lowering) {
    engine::RoiAlign node;
    HALYARD_ASSIGN_OR_RETURN(node.height, lowering.int32AtLeast("output_height", 1));
    HALYARD_ASSIGN_OR_RETURN(node.width, lowering.int32AtLeast("output_width", 1));
    HALYARD_ASSIGN_OR_RETURN(node.heightRatio, lowering.real("height_ratio"));
    HALYARD_ASSIGN_OR_RETURN(node.widthRatio, lowering.real("width_ratio"));
    HALYARD_ASSIGN_OR_RETURN(node.samplesH, lowering.int32AtLeast("height_samples", 0));
    HALYARD_ASSIGN_OR_RETURN(node.samplesW, lowering.int32AtLeast("width_samples", 0));
    HALYARD_ASSIGN_OR_RETURN(const bool nchw, lowering.isNchw("layout"));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId input, lowering.nhwcInput(nchw));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId boxes, lowering.input("boxes"));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId batches, lowering.input("batches"));
    return lowering.addNhwcNode(node, {input, boxes, batches}, nchw);
}

Result<engine::BoxWithNmsLimit::Kernel> readKernel(const Lowering& lowering) {
    using Kernel = engine::BoxWithNmsLimit::Kernel;
    HALYARD_ASSIGN_OR_RETURN(const int32_t code, lowering.int32("nms_kernel"));
    switch (code) {
        case 0:
            return Kernel::HARD;
        case 1:
            return Kernel::LINEAR;
        case 2:
            return Kernel::GAUSSIAN;
        default:
            return invalidArgument(lowering.view().input("nms_kernel").name() + " is " +
                                   std::to_string(code) + ", not 0..2");
    }
}

Status lowerBoxWithNmsLimit(Lowering& lowering) {
    engine::BoxWithNmsLimit node;
    HALYARD_ASSIGN_OR_RETURN(node.scoreThreshold, lowering.real("score_threshold"));
    HALYARD_ASSIGN_OR_RETURN(node.maxDetections, lowering.int32("max_boxes"));
    HALYARD_ASSIGN_OR_RETURN(node.kernel, readKernel(lowering));
    HALYARD_ASSIGN_OR_RETURN(node.iouThreshold, lowering.real("iou_threshold"));
    HALYARD_ASSIGN_OR_RETURN(node.sigma, lowering.real("sigma"));
    HALYARD_ASSIGN_OR_RETURN(node.nmsScoreThreshold, lowering.real("nms_score_threshold"));
    return lowering.addNodeOf(node, {"scores", "boxes", "batches"},
                              {"scores", "boxes", "classes", "batches"});
}

}  // namespace

std::vector<OperationDefinition> detectionOperations() {
    return {
            {.type = OperationType::ROI_ALIGN,
             .forms = {{V1_2,
                        {tensor("input", kData), tensor("boxes", kBoxes), int32Tensor("batches"),
                         int32("output_height"), int32("output_width"), real("height_ratio", kReal),
                         real("width_ratio", kReal), int32("height_samples"),
                         int32("width_samples"), boolean("layout")},
                        {tensor("output", kData)}}},
             .rows = rows(),
             .validate = validateRoiAlign,
             .lower = lowerRoiAlign},
            {.type = OperationType::BOX_WITH_NMS_LIMIT,
             .forms = {{V1_2,
                        {tensor("scores", kData), tensor("boxes", kBoxes), int32Tensor("batches"),
                         real("score_threshold", kReal), int32("max_boxes"), int32("nms_kernel"),
                         real("iou_threshold", kReal), real("sigma", kReal),
                         real("nms_score_threshold", kReal)},
                        {tensor("scores", kData), tensor("boxes", kBoxes), int32Tensor("classes"),
                         int32Tensor("batches")}}},
             .rows = rows(),
             .validate = validateBoxWithNmsLimit,
             .lower = lowerBoxWithNmsLimit},
    };
}

}  // namespace halyard::driver
