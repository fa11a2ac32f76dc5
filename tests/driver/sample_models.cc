// SPDX-License-Identifier: Apache-2.0

#include "tests/driver/sample_models.h"

#include "tests/driver/model_builder.h"

namespace halyard::driver {
namespace {

void addConvOperations(ModelBuilder& builder) {
    using namespace conv_model;  // NOLINT(google-build-using-namespace): operand names, nothing
                                 // else
    builder.operation(OperationType::CONV_2D,
                      {kInput, kFilter, kBias, kScheme, kStride, kStride, kActivation}, {kConv})
            .operation(OperationType::RELU, {kConv}, {kRelu})
            .operation(OperationType::ADD, {kConv, kRelu, kActivation}, {kOutput});
}

}  // namespace

Model floatConvModel() {
    ModelBuilder builder;
    builder.input(floats({1, 3, 3, 1}));
    builder.constant<float>(floats({2, 2, 2, 1}), {1, 0, 0, 1, -1, 2, 0, 0});
    builder.pooled<float>(floats({2}), {0.5F, -1.0F});
    builder.int32(2);
    builder.int32(1);
    builder.int32(0);
    builder.temporary(floats({1, 2, 2, 2}));
    builder.temporary(floats({1, 2, 2, 2}));
    builder.output(floats({1, 2, 2, 2}));
    addConvOperations(builder);
    return builder.build();
}

Model quantConvModel() {
    const OperandType quant8 = OperandType::TENSOR_QUANT8_ASYMM;
    ModelBuilder builder;
    builder.input({quant8, {1, 3, 3, 1}, 0.5F, 128});
    builder.constant<uint8_t>({quant8, {2, 2, 2, 1}, 0.5F, 128},
                              {130, 128, 128, 130, 126, 132, 128, 128});
    builder.pooled<int32_t>({OperandType::TENSOR_INT32, {2}, 0.25F, 0}, {2, -4});
    builder.int32(2);
    builder.int32(1);
    builder.int32(0);
    builder.temporary({quant8, {1, 2, 2, 2}, 1.0F, 100});
    builder.temporary({quant8, {1, 2, 2, 2}, 1.0F, 100});
    builder.output({quant8, {1, 2, 2, 2}, 2.0F, 50});
    addConvOperations(builder);
    return builder.build();
}

Model reluModel() {
    ModelBuilder builder;
    const uint32_t input = builder.input(floats({2, 2}));
    const uint32_t output = builder.output(floats({2, 2}));
    builder.operation(OperationType::RELU, {input}, {output});
    return builder.build();
}

}  // namespace halyard::driver
