// SPDX-License-Identifier: Apache-2.0
//
// AXIS_ALIGNED_BBOX_TRANSFORM, GENERATE_PROPOSALS, DETECTION_POSTPROCESSING: boxes that a network
// moves, and anchors that it turns into boxes.

#include "driver/ops/boxes.h"
#include "driver/ops/families.h"
#include "driver/ops/lowering.h"
#include "driver/ops/rules.h"

namespace halyard::driver {
namespace {

using enum HalVersion;
using enum OperandType;

Status validateBoxTransform(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireBoxes(view.input("boxes")));
    HALYARD_RETURN_IF_ERROR(requireRank(view.input("deltas"), 2));
    HALYARD_RETURN_IF_ERROR(requireRank(view.input("batches"), 1));
    HALYARD_RETURN_IF_ERROR(requireBoxes(view.input("image_info")));
    return requireBoxes(view.output("output"));
}

Status validateGenerateProposals(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRank(view.input("scores"), 4));
    HALYARD_RETURN_IF_ERROR(requireRank(view.input("deltas"), 4));
    HALYARD_RETURN_IF_ERROR(requireBoxes(view.input("anchors")));
    HALYARD_RETURN_IF_ERROR(requireBoxes(view.input("image_info")));
    HALYARD_RETURN_IF_ERROR(requireBoxes(view.output("boxes")));
    return requireSameQuantization(view.input("scores"), view.output("scores"));
}

Status validateDetectionPostprocessing(const OperationView& view) {
    HALYARD_RETURN_IF_ERROR(requireRank(view.input("scores"), 3));
    HALYARD_RETURN_IF_ERROR(requireRank(view.input("deltas"), 3));
    return requireRank(view.input("anchors"), 2);
}

Status lowerBoxTransform(Lowering& lowering) {
    return lowering.addNodeOf(engine::BoxTransform(), {"boxes", "deltas", "batches", "image_info"});
}

Status lowerGenerateProposals(Lowering& lowering) {
    engine::GenerateProposals node;
    HALYARD_ASSIGN_OR_RETURN(node.heightRatio, lowering.real("height_ratio"));
    HALYARD_ASSIGN_OR_RETURN(node.widthRatio, lowering.real("width_ratio"));
    HALYARD_ASSIGN_OR_RETURN(node.maxBeforeNms, lowering.int32("max_boxes_before_nms"));
    HALYARD_ASSIGN_OR_RETURN(node.maxAfterNms, lowering.int32("max_boxes"));
    HALYARD_ASSIGN_OR_RETURN(node.iouThreshold, lowering.real("iou_threshold"));
    HALYARD_ASSIGN_OR_RETURN(node.minSize, lowering.real("min_size"));
    HALYARD_ASSIGN_OR_RETURN(const bool nchw, lowering.isNchw("layout"));
    std::vector<engine::TensorId> inputs;
    for (const std::string_view name : {"scores", "deltas"}) {
        HALYARD_ASSIGN_OR_RETURN(const engine::TensorId tensor, lowering.nhwcInput(nchw, name));
        inputs.push_back(tensor);
    }
    for (const std::string_view name : {"anchors", "image_info"}) {
        HALYARD_ASSIGN_OR_RETURN(const engine::TensorId tensor, lowering.input(name));
        inputs.push_back(tensor);
    }
    std::vector<engine::TensorId> outputs;
    for (const std::string_view name : {"scores", "boxes", "batches"}) {
        HALYARD_ASSIGN_OR_RETURN(const engine::TensorId tensor, lowering.output(name));
        outputs.push_back(tensor);
    }
    lowering.addNode(node, std::move(inputs), std::move(outputs));
    return {};
}

Status lowerDetectionPostprocessing(Lowering& lowering) {
    engine::DetectionPostprocess node;
    HALYARD_ASSIGN_OR_RETURN(node.scaleY, lowering.real("scale_y"));
    HALYARD_ASSIGN_OR_RETURN(node.scaleX, lowering.real("scale_x"));
    HALYARD_ASSIGN_OR_RETURN(node.scaleH, lowering.real("scale_h"));
    HALYARD_ASSIGN_OR_RETURN(node.scaleW, lowering.real("scale_w"));
    HALYARD_ASSIGN_OR_RETURN(node.regular, lowering.boolean("regular_nms"));
    HALYARD_ASSIGN_OR_RETURN(node.maxDetections, lowering.int32AtLeast("max_detections", 1));
    HALYARD_ASSIGN_OR_RETURN(node.maxClassesPerDetection,
                             lowering.int32("max_classes_per_detection"));
    HALYARD_ASSIGN_OR_RETURN(node.detectionsPerClass, lowering.int32("max_detections_per_class"));
    HALYARD_ASSIGN_OR_RETURN(node.scoreThreshold, lowering.realAtLeast("score_threshold", 0.0F));
    HALYARD_ASSIGN_OR_RETURN(node.iouThreshold, lowering.realAtLeast("iou_threshold", 0.0F));
    HALYARD_ASSIGN_OR_RETURN(node.backgroundIsClass, lowering.boolean("background_is_class"));
    return lowering.addNodeOf(node, {"scores", "deltas", "anchors"},
                              {"scores", "boxes", "classes", "counts"});
}

}  // namespace

std::vector<OperationDefinition> proposalsOperations() {
    return {
            {.type = OperationType::AXIS_ALIGNED_BBOX_TRANSFORM,
             .forms = {{V1_2,
                        {tensor("boxes", kBoxes), tensor("deltas", kBoxData),
                         int32Tensor("batches"), tensor("image_info", kBoxes)},
                        {tensor("output", kBoxes)}}},
             .rows = boxTypes(),
             .validate = validateBoxTransform,
             .lower = lowerBoxTransform},
            {.type = OperationType::GENERATE_PROPOSALS,
             .forms = {{V1_2,
                        {tensor("scores", kBoxData), tensor("deltas", kBoxData),
                         tensor("anchors", kAnchors), tensor("image_info", kBoxes),
                         real("height_ratio", kBoxReal), real("width_ratio", kBoxReal),
                         int32("max_boxes_before_nms"), int32("max_boxes"),
                         real("iou_threshold", kBoxReal), real("min_size", kBoxReal),
                         boolean("layout")},
                        {tensor("scores", kBoxData), tensor("boxes", kBoxes),
                         int32Tensor("batches")}}},
             .rows = boxTypes(),
             .validate = validateGenerateProposals,
             .lower = lowerGenerateProposals},
            {.type = OperationType::DETECTION_POSTPROCESSING,
             .forms = {{V1_2,
                        {tensor("scores", kTensor), tensor("deltas", kTensor),
                         tensor("anchors", kTensor), real("scale_y", kScalar),
                         real("scale_x", kScalar), real("scale_h", kScalar),
                         real("scale_w", kScalar), boolean("regular_nms"), int32("max_detections"),
                         int32("max_classes_per_detection"), int32("max_detections_per_class"),
                         real("score_threshold", kScalar), real("iou_threshold", kScalar),
                         boolean("background_is_class")},
                        {tensor("scores", kTensor), tensor("boxes", kTensor),
                         int32Tensor("classes"), int32Tensor("counts")}}},
             .rows = {{V1_2, {TENSOR_FLOAT32, FLOAT32}}, {V1_2, {TENSOR_FLOAT16, FLOAT16}}},
             .validate = validateDetectionPostprocessing,
             .lower = lowerDetectionPostprocessing},
    };
}

}  // namespace halyard::driver
