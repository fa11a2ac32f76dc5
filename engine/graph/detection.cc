// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/graph/node_rules.h"
#include "engine/graph/shape_inference.h"

namespace halyard::engine {
namespace {

constexpr TypeSet kCoordinates = {"QUANT16_ASYMM", {DataType::QUANT16_ASYMM}};
constexpr TypeSet kAnchors = {"QUANT16_SYMM", {DataType::QUANT16_SYMM}};

// The type of the coordinates that go with values of a type: the same float, or 16 bits.
Status checkBeside(const TensorType& values, std::string_view role, const TensorType& coordinates,
                   std::string_view coordinatesRole, const TypeSet& quantized = kCoordinates) {
    HALYARD_RETURN_IF_ERROR(checkType(values, role, kReals));
    return isFloat(values.type) ? checkSameType(values, role, coordinates, coordinatesRole)
                                : checkType(coordinates, coordinatesRole, quantized);
}

// The rules that RoiAlign and RoiPool share.
template <typename Roi>
Status inferRoi(const Roi& node, std::span<const KnownInput> inputs, TensorType& output) {
    HALYARD_RETURN_IF_ERROR(
            checkBeside(*inputs[0].type, "the input", *inputs[1].type, "the boxes"));
    HALYARD_RETURN_IF_ERROR(checkSameType(*inputs[0].type, "the input", output, "the output"));
    HALYARD_RETURN_IF_ERROR(checkType(*inputs[2].type, "the batches", kInt32));
    HALYARD_RETURN_IF_ERROR(checkAtLeast(node.height, 1, "the height"));
    HALYARD_RETURN_IF_ERROR(checkAtLeast(node.width, 1, "the width"));
    HALYARD_RETURN_IF_ERROR(checkPositive(node.heightRatio, "the ratio of the heights"));
    HALYARD_RETURN_IF_ERROR(checkPositive(node.widthRatio, "the ratio of the widths"));
    HALYARD_ASSIGN_OR_RETURN(const Shape x, asRank(inputs[0].shape(), 4, "the input"));
    int32_t rois = kUnknownDimension;
    int32_t four = 4;
    HALYARD_RETURN_IF_ERROR(agree(inputs[1].shape(), "the boxes", {&rois, &four}));
    HALYARD_RETURN_IF_ERROR(agree(inputs[2].shape(), "the batches", {&rois}));
    output.shape = {rois, node.height, node.width, x[3]};
    return {};
}

}  // namespace

Status inferShapes(const RoiAlign& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkAtLeast(node.samplesH, 0, "the number of samples"));
    HALYARD_RETURN_IF_ERROR(checkAtLeast(node.samplesW, 0, "the number of samples"));
    return inferRoi(node, inputs, outputs[0]);
}

Status inferShapes(const RoiPool& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(
            checkSameElements(*inputs[0].type, "the input", outputs[0], "the output"));
    return inferRoi(node, inputs, outputs[0]);
}

Status inferShapes(const BoxTransform& /*node*/, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    const TensorType& deltas = *inputs[1].type;
    HALYARD_RETURN_IF_ERROR(checkBeside(deltas, "the deltas", *inputs[0].type, "the boxes"));
    HALYARD_RETURN_IF_ERROR(checkBeside(deltas, "the deltas", *inputs[3].type, "the images"));
    HALYARD_RETURN_IF_ERROR(checkBeside(deltas, "the deltas", outputs[0], "the output"));
    HALYARD_RETURN_IF_ERROR(checkType(*inputs[2].type, "the batches", kInt32));
    int32_t rois = kUnknownDimension;
    int32_t numbers = kUnknownDimension;
    int32_t images = kUnknownDimension;
    int32_t four = 4;
    int32_t two = 2;
    HALYARD_RETURN_IF_ERROR(agree(inputs[0].shape(), "the boxes", {&rois, &four}));
    HALYARD_RETURN_IF_ERROR(agree(inputs[1].shape(), "the deltas", {&rois, &numbers}));
    HALYARD_RETURN_IF_ERROR(agree(inputs[2].shape(), "the batches", {&rois}));
    HALYARD_RETURN_IF_ERROR(agree(inputs[3].shape(), "the images", {&images, &two}));
    HALYARD_RETURN_IF_ERROR(divideExtent(numbers, 4, "the length of a row of deltas").status());
    outputs[0].shape = {rois, numbers};
    return {};
}

Status inferShapes(const BoxWithNmsLimit& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    const TensorType& scores = *inputs[0].type;
    const TensorType& boxes = *inputs[1].type;
    HALYARD_RETURN_IF_ERROR(checkBeside(scores, "the scores", boxes, "the boxes"));
    HALYARD_RETURN_IF_ERROR(checkType(*inputs[2].type, "the batches", kInt32));
    HALYARD_RETURN_IF_ERROR(
            checkSameElements(scores, "the scores", outputs[0], "the scores that are kept"));
    HALYARD_RETURN_IF_ERROR(
            checkSameElements(boxes, "the boxes", outputs[1], "the boxes that are kept"));
    HALYARD_RETURN_IF_ERROR(checkType(outputs[2], "the classes", kInt32));
    HALYARD_RETURN_IF_ERROR(checkType(outputs[3], "the batches that are kept", kInt32));
    if (node.kernel == BoxWithNmsLimit::Kernel::GAUSSIAN) {
        HALYARD_RETURN_IF_ERROR(checkPositive(node.sigma, "sigma"));
    }
    int32_t rois = kUnknownDimension;
    int32_t classes = kUnknownDimension;
    HALYARD_RETURN_IF_ERROR(agree(scores.shape, "the scores", {&rois, &classes}));
    HALYARD_ASSIGN_OR_RETURN(int32_t numbers,
                             multiplyExtents(classes, 4, "the length of a row of boxes"));
    HALYARD_RETURN_IF_ERROR(agree(boxes.shape, "the boxes", {&rois, &numbers}));
    HALYARD_RETURN_IF_ERROR(agree(inputs[2].shape(), "the batches", {&rois}));
    outputs[0].shape = {kUnknownDimension};
    outputs[1].shape = {kUnknownDimension, 4};
    outputs[2].shape = {kUnknownDimension};
    outputs[3].shape = {kUnknownDimension};
    return {};
}

Status inferShapes(const GenerateProposals& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    const TensorType& scores = *inputs[0].type;
    HALYARD_RETURN_IF_ERROR(
            checkBeside(scores, "the scores", *inputs[2].type, "the anchors", kAnchors));
    HALYARD_RETURN_IF_ERROR(checkBeside(scores, "the scores", *inputs[3].type, "the images"));
    HALYARD_RETURN_IF_ERROR(checkSameType(scores, "the scores", *inputs[1].type, "the deltas"));
    HALYARD_RETURN_IF_ERROR(
            checkSameElements(scores, "the scores", outputs[0], "the scores that are kept"));
    HALYARD_RETURN_IF_ERROR(checkBeside(scores, "the scores", outputs[1], "the boxes"));
    HALYARD_RETURN_IF_ERROR(checkType(outputs[2], "the batches", kInt32));
    HALYARD_RETURN_IF_ERROR(checkPositive(node.heightRatio, "the ratio of the heights"));
    HALYARD_RETURN_IF_ERROR(checkPositive(node.widthRatio, "the ratio of the widths"));
    int32_t batches = kUnknownDimension;
    int32_t height = kUnknownDimension;
    int32_t width = kUnknownDimension;
    int32_t anchors = kUnknownDimension;
    int32_t four = 4;
    int32_t two = 2;
    HALYARD_RETURN_IF_ERROR(agree(inputs[2].shape(), "the anchors", {&anchors, &four}));
    HALYARD_RETURN_IF_ERROR(
            agree(scores.shape, "the scores", {&batches, &height, &width, &anchors}));
    HALYARD_ASSIGN_OR_RETURN(int32_t numbers,
                             multiplyExtents(anchors, 4, "the numbers of all anchors"));
    HALYARD_RETURN_IF_ERROR(
            agree(inputs[1].shape(), "the deltas", {&batches, &height, &width, &numbers}));
    HALYARD_RETURN_IF_ERROR(agree(inputs[3].shape(), "the images", {&batches, &two}));
    outputs[0].shape = {kUnknownDimension};
    outputs[1].shape = {kUnknownDimension, 4};
    outputs[2].shape = {kUnknownDimension};
    return {};
}

Status inferShapes(const DetectionPostprocess& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    const TensorType& scores = *inputs[0].type;
    HALYARD_RETURN_IF_ERROR(checkType(scores, "the scores", kFloats));
    HALYARD_RETURN_IF_ERROR(checkSameType(scores, "the scores", *inputs[1].type, "the deltas"));
    HALYARD_RETURN_IF_ERROR(checkSameType(scores, "the scores", *inputs[2].type, "the anchors"));
    HALYARD_RETURN_IF_ERROR(checkSameType(scores, "the scores", outputs[0], "output 0"));
    HALYARD_RETURN_IF_ERROR(checkSameType(scores, "the scores", outputs[1], "output 1"));
    HALYARD_RETURN_IF_ERROR(checkType(outputs[2], "the classes", kInt32));
    HALYARD_RETURN_IF_ERROR(checkType(outputs[3], "the counts", kInt32));
    for (const float scale : {node.scaleY, node.scaleX, node.scaleH, node.scaleW}) {
        HALYARD_RETURN_IF_ERROR(checkPositive(scale, "a scale of the deltas"));
    }
    HALYARD_RETURN_IF_ERROR(checkAtLeast(node.maxDetections, 1, "the number of detections"));
    HALYARD_RETURN_IF_ERROR(node.regular ? checkAtLeast(node.detectionsPerClass, 1,
                                                        "the number of detections per class")
                                         : checkAtLeast(node.maxClassesPerDetection, 1,
                                                        "the number of classes per detection"));
    int32_t batches = kUnknownDimension;
    int32_t anchors = kUnknownDimension;
    int32_t classes = kUnknownDimension;
    int32_t numbers = kUnknownDimension;
    int32_t four = 4;
    HALYARD_RETURN_IF_ERROR(agree(scores.shape, "the scores", {&batches, &anchors, &classes}));
    HALYARD_RETURN_IF_ERROR(agree(inputs[1].shape(), "the deltas", {&batches, &anchors, &numbers}));
    HALYARD_RETURN_IF_ERROR(agree(inputs[2].shape(), "the anchors", {&anchors, &four}));
    if (numbers != kUnknownDimension) {
        HALYARD_RETURN_IF_ERROR(checkAtLeast(numbers, 4, "the length of a row of deltas"));
    }
    if (classes != kUnknownDimension) {
        HALYARD_RETURN_IF_ERROR(checkAtLeast(classes, 2, "the number of classes"));
    }
    HALYARD_ASSIGN_OR_RETURN(
            const int32_t room,
            node.regular ? node.maxDetections
                         : multiplyExtents(node.maxDetections, node.maxClassesPerDetection,
                                           "the number of detections"));
    outputs[0].shape = {batches, room};
    outputs[1].shape = {batches, room, 4};
    outputs[2].shape = {batches, room};
    outputs[3].shape = {batches};
    return {};
}

Status inferShapes(const HeatmapMaxKeypoint& /*node*/, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    const TensorType& heatmaps = *inputs[0].type;
    HALYARD_RETURN_IF_ERROR(checkBeside(heatmaps, "the heatmaps", *inputs[1].type, "the boxes"));
    HALYARD_RETURN_IF_ERROR(checkSameType(heatmaps, "the heatmaps", outputs[0], "the scores"));
    HALYARD_RETURN_IF_ERROR(checkBeside(heatmaps, "the heatmaps", outputs[1], "the positions"));
    int32_t rois = kUnknownDimension;
    int32_t size = kUnknownDimension;
    int32_t keypoints = kUnknownDimension;
    int32_t four = 4;
    HALYARD_RETURN_IF_ERROR(
            agree(heatmaps.shape, "the heatmaps", {&rois, &size, &size, &keypoints}));
    HALYARD_RETURN_IF_ERROR(agree(inputs[1].shape(), "the boxes", {&rois, &four}));
    if (size != kUnknownDimension) {
        HALYARD_RETURN_IF_ERROR(checkAtLeast(size, 2, "the size of a heatmap"));
    }
    outputs[0].shape = {rois, keypoints};
    outputs[1].shape = {rois, keypoints, 2};
    return {};
}

}  // namespace halyard::engine
