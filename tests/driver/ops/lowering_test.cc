// SPDX-License-Identifier: Apache-2.0
//
// Results of operations once they are lowered: attributes reach their nodes, layouts and paddings
// mean what NNAPI says. Expected values are worked out by hand.

#include "driver/ops/lowering.h"

#include <gtest/gtest.h>

#include <string>

#include "engine/base/half.h"
#include "tests/driver/device_fixture.h"
#include "tests/driver/model_builder.h"

namespace halyard::driver {
namespace {

using enum OperandType;

class Lowered : public testing::Test {
  protected:
    std::shared_ptr<PreparedModel> prepare(const Model& model) {
        Result<std::shared_ptr<PreparedModel>> prepared =
                mDevice->prepare(model, HalVersion::V1_3, {});
        EXPECT_TRUE(prepared.ok()) << prepared.status().toString();
        return prepared.ok() ? *prepared : nullptr;
    }

    // Runs a model of float inputs and one float output of at most `room` elements.
    std::vector<float> run(const Model& model, const std::vector<std::vector<float>>& inputs,
                           size_t room = 64) {
        const std::shared_ptr<PreparedModel> prepared = prepare(model);
        if (prepared == nullptr) {
            return {};
        }
        RequestBuilder request;
        for (const std::vector<float>& input : inputs) {
            request.input(input);
        }
        request.output(room * sizeof(float));
        const ExecutionResult result = prepared->execute(request.request(), HalVersion::V1_3, {});
        EXPECT_TRUE(result.status.ok()) << result.status.toString();
        size_t count = 1;
        for (const uint32_t dimension :
             result.status.ok() ? result.outputShapes[0].dimensions : std::vector<uint32_t>{0}) {
            count *= dimension;
        }
        return request.result<float>(0, count);
    }

    Status prepareStatus(const Model& model) {
        Status prepared = mDevice->prepare(model, HalVersion::V1_3, {}).status();
        const Result<std::vector<bool>> supported =
                mDevice->supportedOperations(model, HalVersion::V1_3);
        // The promise and the deed.
        EXPECT_EQ(supported.ok() && (*supported)[0], prepared.ok()) << prepared.toString();
        return prepared;
    }

    std::unique_ptr<Device> mDevice = makeDevice();
};

struct ConvForm {
    std::vector<int32_t> scalars;  // between the bias and the layout
    std::vector<uint32_t> input;
    bool nchw = false;
    std::vector<int32_t> dilation = {};  // width, height
    std::vector<uint32_t> filter = {1, 2, 2, 1};
};

Model convModel(const ConvForm& form, OperationType type = OperationType::CONV_2D) {
    ModelBuilder builder;
    std::vector<uint32_t> inputs = {builder.input(floats(form.input))};
    size_t weights = 1;
    for (const uint32_t dimension : form.filter) {
        weights *= dimension;
    }
    inputs.push_back(builder.constant(floats(form.filter), std::vector<float>(weights, 1.0F)));
    const uint32_t channels = type == OperationType::CONV_2D ? form.filter[0] : form.filter[3];
    inputs.push_back(builder.constant(floats({channels}), std::vector<float>(channels, 0.0F)));
    for (const int32_t scalar : form.scalars) {
        inputs.push_back(builder.int32(scalar));
    }
    if (form.nchw || !form.dilation.empty()) {
        inputs.push_back(builder.boolean(form.nchw));
    }
    for (const int32_t dilation : form.dilation) {
        inputs.push_back(builder.int32(dilation));
    }
    const uint32_t output = builder.output(floats({0, 0, 0, 0}));
    builder.operation(type, inputs, {output});
    return builder.build();
}

const std::vector<float> kNine = {1, 2, 3, 4, 5, 6, 7, 8, 9};

TEST_F(Lowered, ConvolutionPadsByScheme) {
    // VALID, strides 1: sums of the four 2x2 windows.
    EXPECT_EQ(run(convModel({.scalars = {2, 1, 1, 0}, .input = {1, 3, 3, 1}}), {kNine}),
              (std::vector<float>{12, 16, 24, 28}));
    // SAME, strides 2: the padding of one goes to the right and the bottom.
    EXPECT_EQ(run(convModel({.scalars = {1, 2, 2, 0}, .input = {1, 3, 3, 1}}), {kNine}),
              (std::vector<float>{12, 9, 15, 9}));
}

TEST_F(Lowered, ConvolutionPadsLeftRightTopBottom) {
    // Left 1, top 1 and strides 2: windows begin outside the upper left corner.
    EXPECT_EQ(run(convModel({.scalars = {1, 0, 1, 0, 2, 2, 0}, .input = {1, 3, 3, 1}}), {kNine}),
              (std::vector<float>{1, 5, 11, 28}));
    // Left 1 only: one column more than without.
    EXPECT_EQ(run(convModel({.scalars = {1, 0, 0, 0, 1, 1, 0}, .input = {1, 3, 3, 1}}), {kNine}),
              (std::vector<float>{5, 12, 16, 11, 24, 28}));
    // Bottom 1 only: one row more.
    EXPECT_EQ(run(convModel({.scalars = {0, 0, 0, 1, 1, 1, 0}, .input = {1, 3, 3, 1}}), {kNine}),
              (std::vector<float>{12, 16, 24, 28, 15, 17}));
}

TEST_F(Lowered, ConvolutionStridesByWidthThenHeight) {
    EXPECT_EQ(run(convModel({.scalars = {2, 1, 2, 0}, .input = {1, 3, 3, 1}}), {kNine}),
              (std::vector<float>{12, 16}));
    EXPECT_EQ(run(convModel({.scalars = {2, 2, 1, 0}, .input = {1, 3, 3, 1}}), {kNine}),
              (std::vector<float>{12, 24}));
}

TEST_F(Lowered, ConvolutionDilatesByWidthThenHeight) {
    EXPECT_EQ(run(convModel({.scalars = {2, 1, 1, 0}, .input = {1, 3, 3, 1}, .dilation = {2, 1}}),
                  {kNine}),
              (std::vector<float>{1 + 3 + 4 + 6, 4 + 6 + 7 + 9}));
    EXPECT_EQ(run(convModel({.scalars = {2, 1, 1, 0}, .input = {1, 3, 3, 1}, .dilation = {1, 2}}),
                  {kNine}),
              (std::vector<float>{1 + 2 + 7 + 8, 2 + 3 + 8 + 9}));
}

TEST_F(Lowered, ConvolutionActivates) {
    ConvForm form = {.scalars = {2, 1, 1, 3}, .input = {1, 3, 3, 1}};
    EXPECT_EQ(run(convModel(form), {kNine}), std::vector<float>(4, 6.0F));
    form.scalars.back() = 2;
    EXPECT_EQ(run(convModel(form), {kNine}), std::vector<float>(4, 1.0F));
}

TEST_F(Lowered, ConvolutionTakesChannelsFirst) {
    // Two channels in, one out: [1, 2, 2, 3] as C, H, W planes.
    const std::vector<float> planes = {1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60};
    EXPECT_EQ(run(convModel({.scalars = {2, 1, 1, 0},
                             .input = {1, 2, 2, 3},
                             .nchw = true,
                             .filter = {1, 2, 2, 2}}),
                  {planes}),
              (std::vector<float>{12 + 120, 16 + 160}));
}

TEST_F(Lowered, DepthwiseConvolutionTakesChannelsFirst) {
    const std::vector<float> planes = {1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60};
    EXPECT_EQ(run(convModel({.scalars = {2, 1, 1, 1, 0},
                             .input = {1, 2, 2, 3},
                             .nchw = true,
                             .filter = {1, 2, 2, 2}},
                            OperationType::DEPTHWISE_CONV_2D),
                  {planes}),
              (std::vector<float>{12, 16, 120, 160}));
}

TEST_F(Lowered, DepthwiseConvolutionReadsItsExplicitForm) {
    EXPECT_EQ(run(convModel({.scalars = {0, 0, 0, 0, 1, 1, 2, 3},
                             .input = {1, 3, 3, 1},
                             .filter = {1, 2, 2, 2}},
                            OperationType::DEPTHWISE_CONV_2D),
                  {kNine}),
              std::vector<float>(8, 6.0F));
}

TEST_F(Lowered, ConvolutionRejectsScalarsOutOfRange) {
    const std::vector<uint32_t> input = {1, 3, 3, 1};
    for (const std::vector<int32_t>& scalars :
         std::vector<std::vector<int32_t>>{{0, 1, 1, 0},
                                           {3, 1, 1, 0},
                                           {2, 0, 1, 0},
                                           {2, 1, -1, 0},
                                           {2, 1, 1, 4},
                                           {2, 1, 1, -1},
                                           {-1, 0, 0, 0, 1, 1, 0},
                                           {0, 0, 0, -2147483647 - 1, 1, 1, 0},
                                           {2147483647, 2147483647, 0, 0, 1, 1, 0}}) {
        const Status status = prepareStatus(convModel({.scalars = scalars, .input = input}));
        EXPECT_EQ(status.code(), StatusCode::UNSUPPORTED) << status.toString();
        EXPECT_NE(status.message().find("operation 0 (CONV_2D)"), std::string_view::npos);
    }
    for (const std::vector<int32_t>& dilation :
         std::vector<std::vector<int32_t>>{{0, 1}, {1, -1}, {2147483647, 1}}) {
        const Status status = prepareStatus(
                convModel({.scalars = {2, 1, 1, 0}, .input = input, .dilation = dilation}));
        EXPECT_EQ(status.code(), StatusCode::UNSUPPORTED) << status.toString();
    }
}

TEST_F(Lowered, ConvolutionTakesFilterAndBiasFromInputs) {
    ModelBuilder builder;
    const uint32_t input = builder.input(floats({1, 2, 2, 1}));
    const uint32_t filter = builder.input(floats({1, 2, 2, 1}));
    const uint32_t bias = builder.input(floats({1}));
    const uint32_t scheme = builder.int32(2);
    const uint32_t one = builder.int32(1);
    const uint32_t none = builder.int32(0);
    const uint32_t output = builder.output(floats({1, 1, 1, 1}));
    builder.operation(OperationType::CONV_2D, {input, filter, bias, scheme, one, one, none},
                      {output});
    EXPECT_EQ(run(builder.build(), {{1, 2, 3, 4}, {1, 10, 100, 1000}, {0.5F}}),
              std::vector<float>{4321.5F});
}

TEST_F(Lowered, ScalarsThatAreNotConstantAreUnsupported) {
    ModelBuilder builder;
    const uint32_t a = builder.input(floats({2}));
    const uint32_t activation = builder.input({INT32, {}});
    const uint32_t output = builder.output(floats({2}));
    builder.operation(OperationType::ADD, {a, a, activation}, {output});
    const Status status = prepareStatus(builder.build());
    EXPECT_EQ(status.code(), StatusCode::UNSUPPORTED);
    EXPECT_EQ(status.message(),
              "operation 0 (ADD): the activation (input 2, operand 1) is not a constant");
}

TEST_F(Lowered, PoolingReadsBothForms) {
    const auto pool = [](OperationType type, const std::vector<int32_t>& scalars, bool nchw) {
        ModelBuilder builder;
        std::vector<uint32_t> inputs = {builder.input(floats(
                nchw ? std::vector<uint32_t>{1, 1, 3, 3} : std::vector<uint32_t>{1, 3, 3, 1}))};
        for (const int32_t scalar : scalars) {
            inputs.push_back(builder.int32(scalar));
        }
        inputs.push_back(builder.boolean(nchw));
        builder.operation(type, inputs, {builder.output(floats({0, 0, 0, 0}))});
        return builder.build();
    };
    for (const bool nchw : {false, true}) {
        // VALID, stride 1, filter 2 wide and 3 high.
        EXPECT_EQ(run(pool(OperationType::MAX_POOL_2D, {2, 1, 1, 2, 3, 0}, nchw), {kNine}),
                  (std::vector<float>{8, 9}));
        // Left 1, the rest 0, strides 2, filter 2x2: padding does not count in an average.
        EXPECT_EQ(run(pool(OperationType::AVERAGE_POOL_2D, {1, 0, 0, 0, 2, 2, 2, 2, 0}, nchw),
                      {kNine}),
                  (std::vector<float>{2.5F, 4}));
    }
    for (const std::vector<int32_t>& scalars : std::vector<std::vector<int32_t>>{
                 {2, 1, 1, 0, 1, 0}, {2, 1, 1, 1, -1, 0}, {2, 1, 0, 1, 1, 0}, {0, 1, 1, 1, 1, 0}}) {
        EXPECT_EQ(prepareStatus(pool(OperationType::MAX_POOL_2D, scalars, false)).code(),
                  StatusCode::UNSUPPORTED);
    }
}

TEST_F(Lowered, FullyConnectedSeesItsInputAsABatch) {
    ModelBuilder builder;
    const uint32_t input = builder.input(floats({2, 1, 2}));
    const uint32_t weights = builder.constant<float>(floats({3, 2}), {1, 0, 0, 1, 1, 1});
    const uint32_t bias = builder.constant<float>(floats({3}), {0, 0, 100});
    const uint32_t output = builder.output(floats({2, 3}));
    builder.operation(OperationType::FULLY_CONNECTED, {input, weights, bias, builder.int32(0)},
                      {output});
    EXPECT_EQ(run(builder.build(), {{1, 2, 3, 4}}), (std::vector<float>{1, 2, 103, 3, 4, 107}));
}

TEST_F(Lowered, AddAndMulBroadcastAndActivate) {
    for (const auto& [type, expected] :
         {std::pair{OperationType::ADD, std::vector<float>{2, 6, 4, 6}},
          std::pair{OperationType::MUL, std::vector<float>{1, 6, 3, 6}}}) {
        ModelBuilder builder;
        const uint32_t a = builder.input(floats({2, 2}));
        const uint32_t b = builder.constant<float>(floats({2}), {1, 5});
        builder.operation(type, {a, b, builder.int32(3)}, {builder.output(floats({2, 2}))});
        EXPECT_EQ(run(builder.build(), {{1, 2, 3, 4}}), expected);
    }
}

TEST_F(Lowered, IntegersAddWithoutActivation) {
    const auto model = [](int32_t activation) {
        ModelBuilder builder;
        const uint32_t a = builder.input({TENSOR_INT32, {3}});
        const uint32_t b = builder.constant<int32_t>({TENSOR_INT32, {1}}, {5});
        const uint32_t output = builder.output({TENSOR_INT32, {3}});
        builder.operation(OperationType::ADD, {a, b, builder.int32(activation)}, {output});
        return builder.build();
    };
    const std::shared_ptr<PreparedModel> prepared = prepare(model(0));
    RequestBuilder request;
    request.input<int32_t>({-7, 0, 7}).output(12);
    ASSERT_TRUE(prepared->execute(request.request(), HalVersion::V1_3, {}).status.ok());
    EXPECT_EQ(request.result<int32_t>(0, 3), (std::vector<int32_t>{-2, 5, 12}));
    EXPECT_EQ(prepareStatus(model(1)).code(), StatusCode::UNSUPPORTED);
}

TEST_F(Lowered, SoftmaxTakesAnAxisFromEitherEnd) {
    const auto model = [](std::vector<int32_t> axis) {
        ModelBuilder builder;
        std::vector<uint32_t> inputs = {builder.input(floats({2, 2})), builder.float32(1.0F)};
        if (!axis.empty()) {
            inputs.push_back(builder.int32(axis[0]));
        }
        builder.operation(OperationType::SOFTMAX, inputs, {builder.output(floats({2, 2}))});
        return builder.build();
    };
    // Equal along an axis: halves. One apart along the other: 1 / (1 + e) and e / (1 + e).
    const std::vector<float> input = {1, 1, 2, 2};
    const std::vector<float> rows = {0.5F, 0.5F, 0.5F, 0.5F};
    EXPECT_EQ(run(model({}), {input}), rows);
    EXPECT_EQ(run(model({1}), {input}), rows);
    EXPECT_EQ(run(model({-1}), {input}), rows);
    for (const int32_t axis : {0, -2}) {
        const std::vector<float> columns = run(model({axis}), {input});
        ASSERT_EQ(columns.size(), 4U);
        EXPECT_NEAR(columns[0], 0.26894142F, 1e-6F);
        EXPECT_NEAR(columns[2], 0.73105858F, 1e-6F);
    }
    EXPECT_EQ(prepareStatus(model({2})).code(), StatusCode::UNSUPPORTED);
    EXPECT_EQ(prepareStatus(model({-3})).code(), StatusCode::UNSUPPORTED);
}

TEST_F(Lowered, SoftmaxOfHalvesReadsItsBetaAsHalf) {
    const auto model = [](float beta) {
        ModelBuilder builder;
        const uint32_t input = builder.input({TENSOR_FLOAT16, {1, 2}});
        const uint32_t scale = builder.constant<uint16_t>({FLOAT16, {}}, {toHalf(beta).bits});
        const uint32_t output = builder.output({TENSOR_FLOAT16, {1, 2}});
        builder.operation(OperationType::SOFTMAX, {input, scale}, {output});
        return builder.build();
    };
    const std::shared_ptr<PreparedModel> prepared = prepare(model(2.0F));
    RequestBuilder request;
    request.input<uint16_t>({toHalf(0.0F).bits, toHalf(0.5F).bits}).output(4);
    ASSERT_TRUE(prepared->execute(request.request(), HalVersion::V1_3, {}).status.ok());
    EXPECT_NEAR(toFloat(Half{request.result<uint16_t>(0, 2)[1]}), 0.7310586F, 1e-3F);
    EXPECT_EQ(prepareStatus(model(0.0F)).code(), StatusCode::UNSUPPORTED);
    EXPECT_EQ(prepareStatus(model(-1.0F)).code(), StatusCode::UNSUPPORTED);
}

TEST_F(Lowered, MeanKeepsDimensionsWhenAsked) {
    const auto model = [](const std::vector<int32_t>& axes, int32_t keepDims) {
        ModelBuilder builder;
        const uint32_t input = builder.input(floats({2, 2}));
        const uint32_t constant =
                builder.constant({TENSOR_INT32, {static_cast<uint32_t>(axes.size())}}, axes);
        const uint32_t output = builder.output(floats({}));
        builder.operation(OperationType::MEAN, {input, constant, builder.int32(keepDims)},
                          {output});
        return builder.build();
    };
    const auto shapeOf = [&](const Model& mean) {
        RequestBuilder request;
        request.input<float>({1, 2, 3, 5}).output(64);
        return prepare(mean)
                ->execute(request.request(), HalVersion::V1_3, {})
                .outputShapes[0]
                .dimensions;
    };
    EXPECT_EQ(run(model({0}, 0), {{1, 2, 3, 5}}), (std::vector<float>{2, 3.5F}));
    EXPECT_EQ(run(model({-1, 1}, 0), {{1, 2, 3, 5}}), (std::vector<float>{1.5F, 4}));
    EXPECT_EQ(shapeOf(model({0}, 0)), (std::vector<uint32_t>{2}));
    EXPECT_EQ(shapeOf(model({0}, 1)), (std::vector<uint32_t>{1, 2}));
    // Of a tensor reduced along all axes one element is left.
    EXPECT_EQ(shapeOf(model({0, 1}, 0)), (std::vector<uint32_t>{1}));
    EXPECT_EQ(prepareStatus(model({2}, 0)).code(), StatusCode::UNSUPPORTED);
    EXPECT_EQ(prepareStatus(model({-3}, 0)).code(), StatusCode::UNSUPPORTED);
}

TEST_F(Lowered, PadSurroundsWithZeros) {
    const auto model = [](const std::vector<int32_t>& paddings) {
        ModelBuilder builder;
        const uint32_t input = builder.input(floats({1, 2}));
        const uint32_t constant = builder.constant({TENSOR_INT32, {2, 2}}, paddings);
        builder.operation(OperationType::PAD, {input, constant}, {builder.output(floats({0, 0}))});
        return builder.build();
    };
    EXPECT_EQ(run(model({1, 0, 0, 2}), {{1, 2}}), (std::vector<float>{0, 0, 0, 0, 1, 2, 0, 0}));
    EXPECT_EQ(prepareStatus(model({-1, 0, 0, 0})).code(), StatusCode::UNSUPPORTED);
    EXPECT_EQ(prepareStatus(model({2147483647, 2147483647, 0, 0})).code(), StatusCode::UNSUPPORTED);
}

TEST_F(Lowered, ConcatenationJoinsAlongItsAxis) {
    const auto model = [](int32_t axis) {
        ModelBuilder builder;
        const uint32_t a = builder.input(floats({2, 1}));
        const uint32_t b = builder.input(floats({2, 2}));
        builder.operation(OperationType::CONCATENATION, {a, b, builder.int32(axis)},
                          {builder.output(floats({0, 0}))});
        return builder.build();
    };
    for (const int32_t axis : {1, -1}) {
        EXPECT_EQ(run(model(axis), {{1, 4}, {2, 3, 5, 6}}), (std::vector<float>{1, 2, 3, 4, 5, 6}));
    }
    for (const int32_t axis : {-3, -2, 0, 2, 2147483647}) {
        EXPECT_EQ(prepareStatus(model(axis)).code(), StatusCode::UNSUPPORTED) << axis;
    }
}

TEST_F(Lowered, ConcatenationRequantisesFrom1_2) {
    ModelBuilder builder;
    const uint32_t a = builder.input({TENSOR_QUANT8_ASYMM, {2}, 0.5F, 0});
    const uint32_t b = builder.input({TENSOR_QUANT8_ASYMM, {1}, 2.0F, 10});
    const uint32_t output = builder.output({TENSOR_QUANT8_ASYMM, {3}, 1.0F, 100});
    builder.operation(OperationType::CONCATENATION, {a, b, builder.int32(0)}, {output});
    const std::shared_ptr<PreparedModel> prepared = prepare(builder.build());
    RequestBuilder request;
    request.input<uint8_t>({4, 20}).input<uint8_t>({9}).output(3);
    ASSERT_TRUE(prepared->execute(request.request(), HalVersion::V1_2, {}).status.ok());
    EXPECT_EQ(request.result<uint8_t>(0, 3), (std::vector<uint8_t>{102, 110, 98}));
}

TEST_F(Lowered, QuantizeAndDequantizeAreInverse) {
    ModelBuilder builder;
    const uint32_t input = builder.input(floats({4}));
    const uint32_t middle = builder.temporary({TENSOR_QUANT8_ASYMM_SIGNED, {4}, 0.5F, -3});
    const uint32_t output = builder.output(floats({4}));
    builder.operation(OperationType::QUANTIZE, {input}, {middle})
            .operation(OperationType::DEQUANTIZE, {middle}, {output});
    EXPECT_EQ(run(builder.build(), {{-1.5F, 0, 0.5F, 1000}}),
              (std::vector<float>{-1.5F, 0, 0.5F, 65}));
}

TEST_F(Lowered, TensorsBeyondTheEngineAreUnsupported) {
    // 2^31 bytes: NNAPI can count them, the engine's extents can't.
    const OperandSpec huge = {TENSOR_QUANT8_ASYMM, {0x80000000}, 1.0F};
    ModelBuilder builder;
    const uint32_t input = builder.input(huge);
    builder.operation(OperationType::RELU, {input}, {builder.output(huge)});
    EXPECT_EQ(prepareStatus(builder.build()).code(), StatusCode::UNSUPPORTED);
}

TEST_F(Lowered, ConstantsInPoolsAreReadWhenTheModelIsPreparedWhereTheyDecideShapes) {
    ModelBuilder builder;
    const uint32_t input = builder.input(floats({2, 3}));
    const uint32_t shape = builder.pooled<int32_t>({TENSOR_INT32, {2}}, {3, 2});
    const uint32_t output = builder.output(floats({0, 0}));
    builder.operation(OperationType::RESHAPE, {input, shape}, {output});
    const Model model = builder.build();
    const std::shared_ptr<PreparedModel> prepared = prepare(model);
    // A client that changes its mind afterwards.
    const std::vector<int32_t> hostile = {-5, 1 << 30};
    std::memcpy(model.pools[0]->map()->data(), hostile.data(), 8);
    RequestBuilder request;
    request.input<float>({1, 2, 3, 4, 5, 6}).output(24);
    const ExecutionResult result = prepared->execute(request.request(), HalVersion::V1_2, {});
    ASSERT_TRUE(result.status.ok()) << result.status.toString();
    EXPECT_EQ(result.outputShapes[0].dimensions, (std::vector<uint32_t>{3, 2}));
}

}  // namespace
}  // namespace halyard::driver
