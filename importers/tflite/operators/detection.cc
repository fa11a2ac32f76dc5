// SPDX-License-Identifier: Apache-2.0
//
// TFLite_Detection_PostProcess, a custom operator that TFLite's interpreter has built in.

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "importers/tflite/flexbuffer.h"
#include "importers/tflite/operators/axes.h"
#include "importers/tflite/operators/custom.h"
#include "importers/tflite/operators/real_numbers.h"

namespace halyard::tflite {
namespace {

using engine::DataType;
using engine::TensorType;

enum Input : size_t { kBoxes, kScores, kAnchors };
enum Output : size_t { kFoundBoxes, kFoundClasses, kFoundScores, kFoundCounts, kOutputs };

Result<double> numberOf(const FlexMap& options, std::string_view key,
                        std::optional<double> otherwise = std::nullopt) {
    HALYARD_ASSIGN_OR_RETURN(const std::optional<double> found, options.number(key));
    if (!found.has_value() && !otherwise.has_value()) {
        return unsupported("it has no option " + std::string(key));
    }
    return found.has_value() ? *found : *otherwise;
}

Result<int32_t> integerOf(const FlexMap& options, std::string_view key,
                          std::optional<double> otherwise = std::nullopt) {
    HALYARD_ASSIGN_OR_RETURN(const double found, numberOf(options, key, otherwise));
    if (!(found >= 0.0 && found <= std::numeric_limits<int32_t>::max()) ||
        found != std::floor(found)) {
        return unsupported("its " + std::string(key) + " is " + std::to_string(found));
    }
    return static_cast<int32_t>(found);
}

struct Options {
    engine::DetectionPostprocess node;
    int32_t classes = 0;
    int32_t together = 1;  // results for each detection
    int32_t room = 0;      // results that TFLite has room for
};

Result<Options> readOptions(std::span<const uint8_t> bytes) {
    HALYARD_ASSIGN_OR_RETURN(const FlexMap map, FlexMap::create(bytes));
    Options options;
    engine::DetectionPostprocess& node = options.node;
    const auto real = [&](std::string_view key, float& to) -> Status {
        HALYARD_ASSIGN_OR_RETURN(const double found, numberOf(map, key));
        to = static_cast<float>(found);
        return {};
    };
    HALYARD_RETURN_IF_ERROR(real("y_scale", node.scaleY));
    HALYARD_RETURN_IF_ERROR(real("x_scale", node.scaleX));
    HALYARD_RETURN_IF_ERROR(real("h_scale", node.scaleH));
    HALYARD_RETURN_IF_ERROR(real("w_scale", node.scaleW));
    HALYARD_RETURN_IF_ERROR(real("nms_score_threshold", node.scoreThreshold));
    HALYARD_RETURN_IF_ERROR(real("nms_iou_threshold", node.iouThreshold));
    HALYARD_ASSIGN_OR_RETURN(const double regular, numberOf(map, "use_regular_nms", 0.0));
    node.regular = regular != 0.0;
    HALYARD_ASSIGN_OR_RETURN(node.maxDetections, integerOf(map, "max_detections"));
    HALYARD_ASSIGN_OR_RETURN(node.maxClassesPerDetection,
                             integerOf(map, "max_classes_per_detection"));
    HALYARD_ASSIGN_OR_RETURN(node.detectionsPerClass, integerOf(map, "detections_per_class", 100));
    HALYARD_ASSIGN_OR_RETURN(options.classes, integerOf(map, "num_classes"));
    if (!node.regular && node.maxClassesPerDetection > options.classes) {
        return unsupported("it has " + std::to_string(node.maxClassesPerDetection) +
                           " classes for each detection, and there are " +
                           std::to_string(options.classes));
    }
    const int64_t room = int64_t{node.maxDetections} * node.maxClassesPerDetection;
    if (room > std::numeric_limits<int32_t>::max()) {
        return unsupported("it has room for " + std::to_string(room) + " results");
    }
    options.room = static_cast<int32_t>(room);
    // Regular suppression leaves a class for each detection.
    options.together = node.regular ? 1 : node.maxClassesPerDetection;
    return options;
}

TensorType typeOf(DataType type) {
    return {.type = type, .shape = engine::Shape::unknownRank(), .quantization = {}};
}

// With a class for the background first, as the engine has them always.
Result<TensorId> readScores(Mapper& mapper, int32_t classes) {
    HALYARD_ASSIGN_OR_RETURN(const TensorId scores, readReal(mapper, kScores));
    HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> extents, mapper.extents(scores));
    if (extents.size() != 3 || extents[0] != 1 ||
        (extents[2] != classes && extents[2] != int64_t{classes} + 1)) {
        return unsupported("its scores are " + mapper.typeOf(scores).shape.toString() + ", of " +
                           std::to_string(classes) + " classes");
    }
    if (extents[2] != classes) {
        return scores;
    }
    HALYARD_ASSIGN_OR_RETURN(const TensorId paddings,
                             pairs(mapper, std::vector<int32_t>{0, 0, 0, 0, 1, 0}));
    return mapper.emitInner(engine::Pad{}, {scores, paddings, engine::kNoTensor},
                            mapper.typeOf(scores));
}

// Results as an output, with zeros behind them where TFLite has room for more.
Status emitResults(Mapper& mapper, TensorId results, int32_t more, int32_t output) {
    if (more == 0) {
        return mapper.alias(output, results);
    }
    std::vector<int32_t> amounts(2 * mapper.typeOf(results).shape.rank());
    amounts[3] = more;
    HALYARD_ASSIGN_OR_RETURN(const TensorId paddings, pairs(mapper, amounts));
    return mapper.emitTo(engine::Pad{}, {results, paddings, engine::kNoTensor},
                         std::span(&output, 1));
}

}  // namespace

// TFLite's classes and counts are floats; of several classes together for a detection it counts the
// detections, and the engine the classes.
Status mapDetectionPostprocess(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(3, 3));
    HALYARD_RETURN_IF_ERROR(mapper.checkOutputCount(kOutputs, kOutputs));
    HALYARD_ASSIGN_OR_RETURN(const Options options, readOptions(mapper.op().customOptions));
    HALYARD_ASSIGN_OR_RETURN(const int32_t boxes, mapper.input(kBoxes));
    HALYARD_ASSIGN_OR_RETURN(const int32_t anchors, mapper.input(kAnchors));
    const ElementType type = mapper.tensor(boxes).type;
    if (mapper.tensor(anchors).type != type ||
        (type != ElementType::FLOAT32 && type != ElementType::UINT8)) {
        return unsupported("its boxes are " + toString(type) + ", and its anchors " +
                           toString(mapper.tensor(anchors).type));
    }
    for (size_t place = 0; place < kOutputs; ++place) {
        HALYARD_ASSIGN_OR_RETURN(const int32_t output, mapper.output(place));
        if (mapper.tensor(output).type != ElementType::FLOAT32) {
            return unsupported(mapper.shown(output) + " is " +
                               toString(mapper.tensor(output).type) + ", not FLOAT32");
        }
    }
    HALYARD_ASSIGN_OR_RETURN(const TensorId scores, readScores(mapper, options.classes));
    HALYARD_ASSIGN_OR_RETURN(const TensorId deltas, readReal(mapper, kBoxes));
    HALYARD_ASSIGN_OR_RETURN(const TensorId around, readReal(mapper, kAnchors));
    const TensorType real = typeOf(DataType::FLOAT32);
    const TensorType integer = typeOf(DataType::INT32);
    HALYARD_ASSIGN_OR_RETURN(const std::vector<TensorId> found,
                             mapper.emitInnerN(options.node, {scores, deltas, around},
                                               {real, real, integer, integer}));
    const std::vector<int32_t>& outputs = mapper.op().outputs;
    const int32_t more = options.room - options.node.maxDetections * options.together;
    HALYARD_RETURN_IF_ERROR(emitResults(mapper, found[1], more, outputs[kFoundBoxes]));
    HALYARD_RETURN_IF_ERROR(emitResults(mapper, found[0], more, outputs[kFoundScores]));
    HALYARD_ASSIGN_OR_RETURN(const TensorId classes,
                             mapper.emitInner(engine::Cast{}, {found[2]}, real));
    HALYARD_RETURN_IF_ERROR(emitResults(mapper, classes, more, outputs[kFoundClasses]));
    HALYARD_ASSIGN_OR_RETURN(TensorId counts, mapper.emitInner(engine::Cast{}, {found[3]}, real));
    if (options.together != 1) {
        HALYARD_ASSIGN_OR_RETURN(const TensorId each, mapper.scalar(real, options.together));
        HALYARD_ASSIGN_OR_RETURN(
                counts, mapper.emitInner(engine::Binary{.function = engine::Binary::Function::DIV},
                                         {counts, each}, real));
    }
    return mapper.alias(outputs[kFoundCounts], counts);
}

}  // namespace halyard::tflite
