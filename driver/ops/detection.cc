// SPDX-License-Identifier: Apache-2.0
//
// ROI_ALIGN, ROI_POOLING, BOX_WITH_NMS_LIMIT, HEATMAP_MAX_KEYPOINT: regions of interest, each by
// the corners of its box.

#include <string>

#include "driver/ops/boxes.h"
#include "driver/ops/families.h"
#include "driver/ops/lowering.h"
#include "driver/ops/rules.h"

namespace halyard::driver {
namespace {

using enum HalVersion;

// ROI_ALIGN and ROI_POOLING.
Status validateRoi(const OperationView& view) {
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

Status validateRoiPooling(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(validateRoi(view));
    return requireSameQuantization(view.input("input"), view.output("output"));
}

Status validateHeatmap(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRank(view.input("heatmaps"), 4));
    HALYARD_RETURN_IF_ERROR(requireBoxes(view.input("boxes")));
    return requireCoordinates(view.output("keypoints"));
}

template <typename Node>
Status addRoiNode(Lowering& lowering, Node node) {
    HALYARD_ASSIGN_OR_RETURN(node.height, lowering.int32AtLeast("output_height", 1));
    HALYARD_ASSIGN_OR_RETURN(node.width, lowering.int32AtLeast("output_width", 1));
    HALYARD_ASSIGN_OR_RETURN(node.heightRatio, lowering.real("height_ratio"));
    HALYARD_ASSIGN_OR_RETURN(node.widthRatio, lowering.real("width_ratio"));
    HALYARD_ASSIGN_OR_RETURN(const bool nchw, lowering.isNchw("layout"));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId input, lowering.nhwcInput(nchw));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId boxes, lowering.input("boxes"));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId batches, lowering.input("batches"));
    return lowering.addNhwcNode(node, {input, boxes, batches}, nchw);
}

Status lowerRoiAlign(Lowering& lowering) {
    engine::RoiAlign node;
    HALYARD_ASSIGN_OR_RETURN(node.samplesH, lowering.int32AtLeast("height_samples", 0));
    HALYARD_ASSIGN_OR_RETURN(node.samplesW, lowering.int32AtLeast("width_samples", 0));
    return addRoiNode(lowering, node);
}

Status lowerRoiPooling(Lowering& lowering) {
    return addRoiNode(lowering, engine::RoiPool());
}

Status lowerHeatmap(Lowering& lowering) {
    HALYARD_ASSIGN_OR_RETURN(const bool nchw, lowering.isNchw("layout"));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId heatmaps, lowering.nhwcInput(nchw, "heatmaps"));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId boxes, lowering.input("boxes"));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId scores, lowering.output("scores"));
    HALYARD_ASSIGN_OR_RETURN(const engine::TensorId keypoints, lowering.output("keypoints"));
    lowering.addNode(engine::HeatmapMaxKeypoint(), {heatmaps, boxes},
                     std::vector<engine::TensorId>{scores, keypoints});
    return {};
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
                        {tensor("input", kBoxData), tensor("boxes", kBoxes), int32Tensor("batches"),
                         int32("output_height"), int32("output_width"),
                         real("height_ratio", kBoxReal), real("width_ratio", kBoxReal),
                         int32("height_samples"), int32("width_samples"), boolean("layout")},
                        {tensor("output", kBoxData)}}},
             .rows = boxTypes(),
             .validate = validateRoi,
             .lower = lowerRoiAlign},
            {.type = OperationType::ROI_POOLING,
             .forms = {{V1_2,
                        {tensor("input", kBoxData), tensor("boxes", kBoxes), int32Tensor("batches"),
                         int32("output_height"), int32("output_width"),
                         real("height_ratio", kBoxReal), real("width_ratio", kBoxReal),
                         boolean("layout")},
                        {tensor("output", kBoxData)}}},
             .rows = boxTypes(),
             .validate = validateRoiPooling,
             .lower = lowerRoiPooling},
            {.type = OperationType::HEATMAP_MAX_KEYPOINT,
             .forms = {{V1_2,
                        {tensor("heatmaps", kBoxData), tensor("boxes", kBoxes), boolean("layout")},
                        {tensor("scores", kBoxData), tensor("keypoints", kBoxes)}}},
             .rows = boxTypes(),
             .validate = validateHeatmap,
             .lower = lowerHeatmap},
            {.type = OperationType::BOX_WITH_NMS_LIMIT,
             .forms = {{V1_2,
                        {tensor("scores", kBoxData), tensor("boxes", kBoxes),
                         int32Tensor("batches"), real("score_threshold", kBoxReal),
                         int32("max_boxes"), int32("nms_kernel"), real("iou_threshold", kBoxReal),
                         real("sigma", kBoxReal), real("nms_score_threshold", kBoxReal)},
                        {tensor("scores", kBoxData), tensor("boxes", kBoxes),
                         int32Tensor("classes"), int32Tensor("batches")}}},
             .rows = boxTypes(),
             .validate = validateBoxWithNmsLimit,
             .lower = lowerBoxWithNmsLimit},
    };
}

}  // namespace halyard::driver
