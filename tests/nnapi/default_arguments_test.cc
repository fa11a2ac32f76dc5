// SPDX-License-Identifier: Apache-2.0
//
// Arguments that say what holds without them, which devices of earlier versions do not know.

#include <cstdint>
#include <vector>

#include "nnapi/model.h"
#include "tests/nnapi/c_objects.h"

namespace halyard::nnapi_test {
namespace {

uint32_t truth(ModelText& text, bool value) {
    const uint32_t index = text.operand(scalar(ANEURALNETWORKS_BOOL));
    const uint8_t byte = value ? 1 : 0;
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksModel_setOperandValue(
            text.get(), static_cast<int32_t>(index), &byte, 1));
    return index;
}

enum class Padding : uint8_t { EXPLICIT, SCHEME };

struct Convolution {
    Padding padding = Padding::EXPLICIT;
    bool isNchw = false;
    int32_t dilation = 1;  // of both axes
};

// How many inputs a CONV_2D of 1x1 has in the finished model.
size_t inputsOf(const Convolution& convolution) {
    ModelText text;
    const std::vector<float> one = {2};
    const std::vector<uint32_t> extents = convolution.isNchw ? std::vector<uint32_t>{1, 1, 2, 2}
                                                             : std::vector<uint32_t>{1, 2, 2, 1};
    const uint32_t image = text.floats(extents);
    std::vector<uint32_t> inputs = {image, text.constant({1, 1, 1, 1}, one),
                                    text.constant({1}, one)};
    if (convolution.padding == Padding::EXPLICIT) {
        for (int i = 0; i < 4; ++i) {
            inputs.push_back(text.number(0));
        }
    } else {
        inputs.push_back(text.number(ANEURALNETWORKS_PADDING_VALID));
    }
    for (const int32_t value : {1, 1, int32_t{ANEURALNETWORKS_FUSED_NONE}}) {
        inputs.push_back(text.number(value));
    }
    inputs.push_back(truth(text, convolution.isNchw));
    inputs.push_back(text.number(convolution.dilation));
    inputs.push_back(text.number(convolution.dilation));
    const uint32_t output = text.floats(extents);
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksModel_addOperation(text.get(), ANEURALNETWORKS_CONV_2D,
                                                              static_cast<uint32_t>(inputs.size()),
                                                              inputs.data(), 1, &output));
    text.identify({image}, {output});
    const Model model = text.finish();
    const Compilation compilation = compile(model, {"whole"});
    const Execution execution = newExecution(compilation);
    const std::vector<float> pixels = {1, 2, 3, 4};
    std::vector<float> result(4);
    HALYARD_EXPECT_NO_ERROR(setInput(execution, 0, pixels));
    HALYARD_EXPECT_NO_ERROR(setOutput(execution, 0, result));
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksExecution_compute(execution.get()));
    EXPECT_EQ(result, (std::vector<float>{4, 6, 8, 10}));
    return model->finished()->model.main.operations.front().inputs.size();
}

TEST(NnapiDefaultArguments, AreNotTold) {
    EXPECT_EQ(inputsOf({}), 10U);
    EXPECT_EQ(inputsOf({.padding = Padding::SCHEME}), 7U);
}

TEST(NnapiDefaultArguments, AreToldWhereTheySayMore) {
    EXPECT_EQ(inputsOf({.dilation = 2}), 13U);
    EXPECT_EQ(inputsOf({.padding = Padding::SCHEME, .dilation = 2}), 10U);
    // What comes behind the layout goes alone.
    EXPECT_EQ(inputsOf({.isNchw = true}), 11U);
}

size_t softmaxInputs(bool isConstant, int32_t axis) {
    ModelText text;
    const uint32_t x = text.floats({2, 3});
    const uint32_t beta = text.operand(scalar(ANEURALNETWORKS_FLOAT32));
    const float one = 1;
    HALYARD_EXPECT_NO_ERROR(ANeuralNetworksModel_setOperandValue(
            text.get(), static_cast<int32_t>(beta), &one, sizeof one));
    const uint32_t along =
            isConstant ? text.number(axis) : text.operand(scalar(ANEURALNETWORKS_INT32));
    const uint32_t y = text.floats({2, 3});
    text.operation(ANEURALNETWORKS_SOFTMAX, {x, beta, along}, {y});
    if (isConstant) {
        text.identify({x}, {y});
    } else {
        text.identify({x, along}, {y});
    }
    return text.finish()->finished()->model.main.operations.front().inputs.size();
}

TEST(NnapiDefaultArguments, AreConstantsOfTheModel) {
    EXPECT_EQ(softmaxInputs(true, -1), 2U);
    EXPECT_EQ(softmaxInputs(true, 0), 3U);
    EXPECT_EQ(softmaxInputs(false, 0), 3U);
}

}  // namespace
}  // namespace halyard::nnapi_test
