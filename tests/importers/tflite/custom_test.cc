// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "tests/importers/tflite/flexbuffer_writer.h"
#include "tests/importers/tflite/one_operator.h"

namespace halyard::tflite {
namespace {

TEST(CustomTest, UnknownOnesAreRefusedByWhoKnowsThem) {
    for (const auto& [name, reason] : std::map<std::string, std::string>{
                 {"FlexErf", "Flex delegate"}, {"Mine", "only its own runtime knows"}}) {
        OfOne model({1});
        model.builder.add(OperatorCode::CUSTOM, {model.x}, model.outputs).customName = name;
        EXPECT_TRUE(has(model.reason(), reason)) << model.reason();
    }
}

// Two anchors of the extent 1, at x of 0.5 and 10.5, which do not move.
struct Detection {
    ModelBuilder builder;
    std::map<std::string, FlexValue> options = {{"max_detections", flexInteger(2)},
                                                {"max_classes_per_detection", flexInteger(1)},
                                                {"nms_score_threshold", flexFloat(0.5F)},
                                                {"nms_iou_threshold", flexFloat(0.5F)},
                                                {"num_classes", flexInteger(2)},
                                                {"y_scale", flexFloat(1)},
                                                {"x_scale", flexFloat(1)},
                                                {"h_scale", flexFloat(1)},
                                                {"w_scale", flexFloat(1)}};
    std::vector<uint8_t> bytes;
    int32_t boxes = 0;
    int32_t scores = 0;
    std::vector<int32_t> outputs;

    explicit Detection(int32_t columns) {
        boxes = builder.input(ElementType::FLOAT32, {1, 2, 4});
        scores = builder.input(ElementType::FLOAT32, {1, 2, columns});
        for (int i = 0; i < 4; ++i) {
            outputs.push_back(builder.tensor(ElementType::FLOAT32, {}));
            builder.output(outputs.back());
        }
    }
    void add() {
        bytes = flexMap(options);
        const int32_t anchors = builder.floats({2, 4}, {0.5F, 0.5F, 1, 1, 0.5F, 10.5F, 1, 1});
        Operator& op = builder.add(OperatorCode::CUSTOM, {boxes, scores, anchors}, outputs);
        op.customName = "TFLite_Detection_PostProcess";
        op.customOptions = bytes;
    }
    Outcome found(const Floats& given) {
        add();
        return run(builder.model(), {{scores, bytesOf(given)}});
    }
    std::string reason() {
        add();
        return reasonOf(builder.model());
    }
};

TEST(DetectionTest, BoxesClassesScoresAndCountsAreFloats) {
    for (const bool hasBackground : {false, true}) {
        Detection detection(hasBackground ? 3 : 2);
        const Outcome found =
                detection.found(hasBackground ? Floats{1, 0.1F, 0.75F, 1, 0.875F, 0.2F}
                                              : Floats{0.1F, 0.75F, 0.875F, 0.2F});
        ASSERT_TRUE(found.status.ok()) << found.status.toString();
        EXPECT_EQ(found[detection.outputs[0]].shape, (Extents{1, 2, 4}));
        EXPECT_EQ(found.floats(detection.outputs[0]), (Floats{0, 10, 1, 11, 0, 0, 1, 1}));
        EXPECT_EQ(found.floats(detection.outputs[1]), (Floats{0, 1}));
        EXPECT_EQ(found.floats(detection.outputs[2]), (Floats{0.875F, 0.75F}));
        EXPECT_EQ(found.floats(detection.outputs[3]), (Floats{2}));
    }
}

TEST(DetectionTest, SeveralClassesOfADetectionCountOnce) {
    Detection detection(2);
    detection.options["max_classes_per_detection"] = flexInteger(2);
    const Outcome found = detection.found({0.1F, 0.75F, 0.25F, 0.2F});
    ASSERT_TRUE(found.status.ok()) << found.status.toString();
    EXPECT_EQ(found.floats(detection.outputs[1]), (Floats{1, 0, 0, 0}));
    EXPECT_EQ(found.floats(detection.outputs[3]), (Floats{1}));
}

TEST(DetectionTest, RegularSuppressionLeavesRoomForWhatIsNotThere) {
    Detection detection(2);
    detection.options["max_classes_per_detection"] = flexInteger(2);
    detection.options["use_regular_nms"] = flexBool(true);
    const Outcome found = detection.found({0.1F, 0.75F, 0.875F, 0.2F});
    ASSERT_TRUE(found.status.ok()) << found.status.toString();
    EXPECT_EQ(found[detection.outputs[0]].shape, (Extents{1, 4, 4}));
    EXPECT_EQ(found.floats(detection.outputs[2]), (Floats{0.875F, 0.75F, 0, 0}));
    EXPECT_EQ(found.floats(detection.outputs[3]), (Floats{2}));
}

TEST(DetectionTest, RefusesOptionsThatAreMissingOrDoNotFit) {
    Detection missing(2);
    missing.options.erase("y_scale");
    EXPECT_TRUE(has(missing.reason(), "no option y_scale"));
    Detection negative(2);
    negative.options["max_detections"] = flexInteger(-1);
    EXPECT_TRUE(has(negative.reason(), "its max_detections is -1"));
    Detection many(2);
    many.options["max_classes_per_detection"] = flexInteger(3);
    EXPECT_TRUE(has(many.reason(), "3 classes for each detection"));
    Detection huge(2);
    huge.options["max_detections"] = flexInteger(1 << 30);
    huge.options["max_classes_per_detection"] = flexInteger(2);
    EXPECT_TRUE(has(huge.reason(), "it has room for"));
    Detection columns(5);
    EXPECT_TRUE(has(columns.reason(), "of 2 classes"));
    Detection type(2);
    type.builder.graph().tensors[static_cast<size_t>(type.boxes)].type = ElementType::INT8;
    EXPECT_TRUE(has(type.reason(), "its boxes are INT8"));
    Detection result(2);
    result.builder.graph().tensors[static_cast<size_t>(result.outputs[1])].type =
            ElementType::INT32;
    EXPECT_TRUE(has(result.reason(), "INT32, not FLOAT32"));
}

// ---- MediaPipe's --------------------------------------------------------------------------------

constexpr int32_t kSame = 1;
constexpr int32_t kValid = 2;

struct MediaPipe {
    ModelBuilder builder;
    Bytes bytes;
    std::vector<int32_t> inputs;
    std::vector<int32_t> outputs;

    MediaPipe(const std::string& name, const Ints& words, const std::vector<Extents>& given,
              const std::vector<Extents>& results)
        : bytes(bytesOf(words)) {
        for (const Extents& shape : given) {
            inputs.push_back(builder.input(ElementType::FLOAT32, shape));
        }
        for (const Extents& shape : results) {
            outputs.push_back(builder.tensor(ElementType::FLOAT32, shape));
            builder.output(outputs.back());
        }
        Operator& op = builder.add(OperatorCode::CUSTOM, inputs, outputs);
        op.customName = name;
        op.customOptions = bytes;
    }
    Outcome run(const std::vector<Floats>& values) {
        std::map<int32_t, Bytes> given;
        for (size_t i = 0; i < values.size(); ++i) {
            given[inputs[i]] = bytesOf(values[i]);
        }
        return tflite::run(builder.model(), given);
    }
    std::string reason() { return reasonOf(builder.model()); }
};

MediaPipe transposed(const Ints& words, const Extents& output) {
    return {"Convolution2DTransposeBias", words, {{1, 1, 2, 1}, {1, 1, 2, 1}, {1}}, {output}};
}

TEST(MediaPipeTest, TransposedConvolutionCutsOffWhatTheFileSays) {
    MediaPipe model = transposed({kValid, 2, 1}, {1, 1, 4, 1});
    const Outcome found = model.run({{1, 2}, {1, 10}, {0.5F}});
    ASSERT_TRUE(found.status.ok()) << found.status.toString();
    EXPECT_EQ(found.floats(model.outputs[0]), (Floats{1.5F, 10.5F, 2.5F, 20.5F}));
    MediaPipe cut = transposed({kSame, 2, 1}, {1, 1, 3, 1});
    const Outcome less = cut.run({{1, 2}, {1, 10}, {0.5F}});
    ASSERT_TRUE(less.status.ok()) << less.status.toString();
    EXPECT_EQ(less.floats(cut.outputs[0]), (Floats{1.5F, 10.5F, 2.5F}));
}

TEST(MediaPipeTest, RefusesOptionsThatAreNot) {
    EXPECT_TRUE(has(transposed({kValid, 2, 1}, {1, 1, 3, 1}).reason(), "its output is"));
    EXPECT_TRUE(has(transposed({kValid, 2, 1}, {1, 1, 4, 2}).reason(), "it makes"));
    EXPECT_TRUE(has(transposed({kValid, 2}, {1, 1, 4, 1}).reason(), "have 8 bytes"));
    EXPECT_TRUE(has(transposed({kValid, 0, 1}, {1, 1, 4, 1}).reason(), "strides and extents is 0"));
    EXPECT_TRUE(has(transposed({3, 2, 1}, {1, 1, 4, 1}).reason(), "its padding is 3"));
    EXPECT_TRUE(has(transposed({kValid, 2, 1, 1}, {1, 1, 4, 1}).reason(), "fused activation is 1"));
}

TEST(MediaPipeTest, PoolingTellsThePlaceOfTheFirstLargest) {
    MediaPipe model("MaxPoolingWithArgmax2D", {kValid, 2, 2, 2, 2}, {{1, 2, 4, 1}},
                    {{1, 1, 2, 1}, {1, 1, 2, 1}});
    const Outcome found = model.run({{0, 5, 7, 7, 5, 1, 0, 0}});
    ASSERT_TRUE(found.status.ok()) << found.status.toString();
    EXPECT_EQ(found.floats(model.outputs[0]), (Floats{5, 7}));
    EXPECT_EQ(found.floats(model.outputs[1]), (Floats{1.1F, 0.1F}));
}

TEST(MediaPipeTest, PoolingPadsWithWhatIsNeverTheLargest) {
    MediaPipe model("MaxPoolingWithArgmax2D", {kSame, 2, 2, 2, 2}, {{1, 1, 1, 1}},
                    {{1, 1, 1, 1}, {1, 1, 1, 1}});
    const Outcome found = model.run({{-8}});
    ASSERT_TRUE(found.status.ok()) << found.status.toString();
    EXPECT_EQ(found.floats(model.outputs[0]), (Floats{-8}));
    EXPECT_EQ(found.floats(model.outputs[1]), (Floats{0.1F}));
}

TEST(MediaPipeTest, UnpoolingPutsEachBack) {
    MediaPipe model("MaxUnpooling2D", {kValid, 2, 2, 2, 2}, {{1, 1, 2, 1}, {1, 1, 2, 1}},
                    {{1, 2, 4, 1}});
    const Outcome found = model.run({{5, 7}, {3.1F, 0.1F}});
    ASSERT_TRUE(found.status.ok()) << found.status.toString();
    EXPECT_EQ(found.floats(model.outputs[0]), (Floats{0, 0, 7, 0, 0, 5, 0, 0}));
    MediaPipe overlapping("MaxUnpooling2D", {kValid, 1, 1, 2, 2}, {{1, 1, 1, 1}, {1, 1, 1, 1}},
                          {{1, 2, 2, 1}});
    EXPECT_TRUE(has(overlapping.reason(), "side by side"));
}

}  // namespace
}  // namespace halyard::tflite
