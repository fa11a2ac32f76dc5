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

Model loopModel(OperationType body) {
    const auto subgraph = [](OperationType type, const OperandSpec& result) {
        ModelBuilder builder;
        const uint32_t value = builder.input(floats({1}));
        const uint32_t limit = builder.input(floats({1}));
        builder.operation(type, {value, limit}, {builder.output(result)});
        return builder.build().main;
    };
    ModelBuilder builder;
    std::vector<uint32_t> inputs;
    for (const uint32_t index : {0U, 1U}) {
        inputs.push_back(builder.temporary({OperandType::SUBGRAPH, {}}));
        builder.operand(inputs.back()).lifetime = OperandLifeTime::SUBGRAPH;
        builder.operand(inputs.back()).location.offset = index;
    }
    inputs.push_back(builder.input(floats({1})));
    inputs.push_back(builder.input(floats({1})));
    builder.operation(OperationType::WHILE, inputs, {builder.output(floats({1}))});
    Model model = builder.build();
    model.referenced = {subgraph(OperationType::LESS, {OperandType::TENSOR_BOOL8, {1}}),
                        subgraph(body, floats({1}))};
    return model;
}

}  // namespace halyard::driver
