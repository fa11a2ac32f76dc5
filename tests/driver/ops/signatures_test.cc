// SPDX-License-Identifier: Apache-2.0
//
// Version gating and the rules that operations have beyond their structure.

#include <gtest/gtest.h>

#include <string>

#include "driver/ops/operation.h"
#include "tests/driver/device_fixture.h"
#include "tests/driver/model_builder.h"

namespace halyard::driver {
namespace {

using enum OperandType;

// One operation whose operands all come from, or go to, the outside.
class SingleOperation {
  public:
    explicit SingleOperation(OperationType type) : mType(type) {}
    SingleOperation& input(const OperandSpec& spec) {
        mInputs.push_back(mBuilder.input(spec));
        return *this;
    }
    SingleOperation& inputs(OperandType type, size_t count) {
        for (size_t i = 0; i < count; ++i) {
            input({type, {}});
        }
        return *this;
    }
    SingleOperation& output(const OperandSpec& spec) {
        mOutputs.push_back(mBuilder.output(spec));
        return *this;
    }
    Operand& operand(uint32_t index) { return mBuilder.operand(index); }
    ModelBuilder& builder() { return mBuilder; }
    Model build() {
        mBuilder.operation(mType, mInputs, mOutputs);
        return mBuilder.build();
    }

  private:
    OperationType mType;
    ModelBuilder mBuilder;
    std::vector<uint32_t> mInputs;
    std::vector<uint32_t> mOutputs;
};

void expectSince(const Model& model, HalVersion since, const std::string& what) {
    for (const HalVersion version : kVersions) {
        const Status status = validateOperations(model, version);
        EXPECT_EQ(status.code(), version < since ? StatusCode::INVALID_ARGUMENT : StatusCode::OK)
                << what << " in HAL " << toString(version) << ": " << status.toString();
    }
}

void expectNever(const Model& model, const std::string& what) {
    for (const HalVersion version : kVersions) {
        EXPECT_EQ(validateOperations(model, version).code(), StatusCode::INVALID_ARGUMENT)
                << what << " in HAL " << toString(version);
    }
}

// A quantised operand's scale and zero point that every rule accepts: inputs share one, outputs
// that are probabilities have theirs.
OperandSpec plausible(OperandType type) {
    switch (type) {
        case TENSOR_QUANT8_ASYMM:
        case TENSOR_QUANT8_ASYMM_SIGNED:
        case TENSOR_QUANT8_SYMM:
            return {type, {}, 1.0F / 256.0F, type == TENSOR_QUANT8_ASYMM_SIGNED ? -128 : 0};
        case TENSOR_INT32:
            return {type, {}, 1.0F / 65536.0F, 0};
        default:
            return {type, {}};
    }
}

TEST(Signatures, HoldFromTheirVersionOn) {
    ASSERT_GE(allOperations().size(), 18U);
    for (const OperationDefinition& definition : allOperations()) {
        ASSERT_FALSE(definition.signatures.empty());
        for (const Signature& signature : definition.signatures) {
            SingleOperation operation(definition.type);
            std::string what = describe(definition.type);
            for (const OperandType type : signature.inputs) {
                operation.input(plausible(type));
                what += " " + describe(type);
            }
            for (const OperandType type : signature.outputs) {
                operation.output(plausible(type));
            }
            if (definition.type == OperationType::SOFTMAX) {
                operation.operand(0).dimensions = {2, 2};  // its rank matters before 1.2
            }
            EXPECT_GE(signature.since, *introducedIn(definition.type)) << what;
            expectSince(operation.build(), signature.since, what);
        }
    }
}

TEST(Signatures, AreListedOnce) {
    for (const OperationDefinition& definition : allOperations()) {
        const std::vector<Signature>& all = definition.signatures;
        for (size_t i = 0; i < all.size(); ++i) {
            for (size_t j = i + 1; j < all.size(); ++j) {
                EXPECT_FALSE(all[i].inputs == all[j].inputs && all[i].outputs == all[j].outputs)
                        << describe(definition.type) << " " << i << " " << j;
            }
        }
    }
}

TEST(Signatures, RejectMeanIn1_0) {
    ModelBuilder builder;
    const uint32_t input = builder.input(floats({2, 2}));
    const uint32_t axes = builder.constant<int32_t>({TENSOR_INT32, {1}}, {0});
    const uint32_t keep = builder.int32(0);
    const uint32_t output = builder.output(floats({2}));
    builder.operation(OperationType::MEAN, {input, axes, keep}, {output});
    const std::unique_ptr<Device> device = makeDevice();
    for (const HalVersion version : kVersions) {
        EXPECT_EQ(device->prepare(builder.build(), version, {}).ok(), version > HalVersion::V1_0);
        EXPECT_EQ(device->supportedOperations(builder.build(), version).ok(),
                  version > HalVersion::V1_0);
    }
}

TEST(Signatures, RejectOmittedInputs) {
    ModelBuilder builder;
    const uint32_t input = builder.omitted(floats({2, 2}));
    const uint32_t output = builder.output(floats({2, 2}));
    builder.operation(OperationType::RELU, {input}, {output});
    expectNever(builder.build(), "RELU of nothing");
}

SingleOperation quantConv(float inputScale, float filterScale, float biasScale, float outputScale) {
    SingleOperation operation(OperationType::CONV_2D);
    operation.input({TENSOR_QUANT8_ASYMM, {}, inputScale})
            .input({TENSOR_QUANT8_ASYMM, {}, filterScale})
            .input({TENSOR_INT32, {}, biasScale})
            .inputs(INT32, 4)
            .output({TENSOR_QUANT8_ASYMM, {}, outputScale});
    return operation;
}

TEST(ConvolutionRules, NeedACoarserOutputBefore1_2) {
    expectSince(quantConv(0.5F, 0.5F, 0.25F, 0.26F).build(), HalVersion::V1_0, "coarser");
    expectSince(quantConv(0.5F, 0.5F, 0.25F, 0.25F).build(), HalVersion::V1_2, "equal");
    expectSince(quantConv(0.5F, 0.5F, 0.25F, 0.1F).build(), HalVersion::V1_2, "finer");
}

TEST(ConvolutionRules, NeedTheBiasScaleToBeTheProduct) {
    expectNever(quantConv(0.5F, 0.5F, 0.3F, 1.0F).build(), "another bias scale");
    expectNever(quantConv(0.5F, 0.5F, 0.0F, 1.0F).build(), "no bias scale");
    expectSince(quantConv(0.1F, 0.3F, 0.1F * 0.3F, 1.0F).build(), HalVersion::V1_0, "rounded");
}

TEST(ConvolutionRules, NeedRankFour) {
    for (const uint32_t operand : {0U, 1U}) {
        SingleOperation operation = quantConv(0.5F, 0.5F, 0.25F, 1.0F);
        operation.operand(operand).dimensions = {1, 2, 3};
        expectNever(operation.build(), "rank 3");
    }
}

TEST(ConvolutionRules, NeedChannelScalesAlongTheOutputChannels) {
    for (const auto& [type, scalars, right] :
         {std::tuple{OperationType::CONV_2D, size_t{4}, 0U},
          std::tuple{OperationType::DEPTHWISE_CONV_2D, size_t{5}, 3U}}) {
        for (const uint32_t channelDim : {0U, 1U, 2U, 3U}) {
            SingleOperation operation(type);
            operation.input({TENSOR_QUANT8_ASYMM, {}, 0.5F})
                    .input({TENSOR_QUANT8_SYMM_PER_CHANNEL, {2, 2, 2, 2}})
                    .input({TENSOR_INT32, {}})
                    .inputs(INT32, scalars)
                    .output({TENSOR_QUANT8_ASYMM, {}, 1.0F});
            operation.operand(1).extraParams =
                    SymmPerChannelQuantParams{.scales = {1, 1}, .channelDim = channelDim};
            if (channelDim == right) {
                expectSince(operation.build(), HalVersion::V1_2, describe(type));
            } else {
                expectNever(operation.build(), describe(type));
            }
        }
    }
}

TEST(ConvolutionRules, TellFormsApartByTheTypeOfTheirScalars) {
    const auto conv = [](const std::vector<OperandType>& scalars) {
        SingleOperation operation(OperationType::CONV_2D);
        operation.inputs(TENSOR_FLOAT32, 3);
        for (const OperandType scalar : scalars) {
            operation.input({scalar, {}});
        }
        return operation.output({TENSOR_FLOAT32, {}}).build();
    };
    const std::vector<OperandType> implicit(4, INT32);
    const std::vector<OperandType> explicitPadding(7, INT32);
    const auto with = [](std::vector<OperandType> scalars,
                         std::initializer_list<OperandType> tail) {
        scalars.insert(scalars.end(), tail);
        return scalars;
    };
    expectSince(conv(implicit), HalVersion::V1_0, "implicit");
    expectSince(conv(with(implicit, {BOOL})), HalVersion::V1_2, "layout");
    expectNever(conv(with(implicit, {INT32})), "a scalar too many");
    expectNever(conv(with(implicit, {BOOL, INT32})), "one dilation of two");
    expectSince(conv(with(implicit, {BOOL, INT32, INT32})), HalVersion::V1_2, "dilation");
    expectSince(conv(explicitPadding), HalVersion::V1_0, "explicit");
    expectSince(conv(with(explicitPadding, {BOOL})), HalVersion::V1_2, "explicit, layout");
    expectNever(conv(with(explicitPadding, {BOOL, INT32})), "explicit, one dilation of two");
    expectSince(conv(with(explicitPadding, {BOOL, INT32, INT32})), HalVersion::V1_2,
                "explicit, dilation");
}

TEST(ConcatenationRules, NeedOneQuantizationBefore1_2) {
    const auto concatenation = [](float second) {
        return SingleOperation(OperationType::CONCATENATION)
                .input({TENSOR_QUANT8_ASYMM, {}, 0.5F, 3})
                .input({TENSOR_QUANT8_ASYMM, {}, second, 3})
                .input({INT32, {}})
                .output({TENSOR_QUANT8_ASYMM, {}, 0.5F, 3})
                .build();
    };
    const auto ranked = [](Model model) {
        for (Operand& operand : model.main.operands) {
            if (operand.type == TENSOR_QUANT8_ASYMM) {
                operand.dimensions = {2};
            }
        }
        return model;
    };
    expectSince(ranked(concatenation(0.5F)), HalVersion::V1_0, "one scale");
    expectSince(ranked(concatenation(0.25F)), HalVersion::V1_2, "two scales");
}

TEST(ConcatenationRules, TakeAnyNumberOfTensorsOfOneType) {
    const auto concatenation = [](const std::vector<OperandType>& tensors) {
        SingleOperation operation(OperationType::CONCATENATION);
        for (const OperandType type : tensors) {
            operation.input({type, {2}});
        }
        return operation.input({INT32, {}}).output(floats({0})).build();
    };
    expectSince(concatenation({TENSOR_FLOAT32}), HalVersion::V1_0, "one");
    expectSince(concatenation(std::vector<OperandType>(40, TENSOR_FLOAT32)), HalVersion::V1_0,
                "many");
    expectNever(concatenation({}), "none");
    expectNever(concatenation({TENSOR_FLOAT32, TENSOR_INT32}), "two types");
}

TEST(SoftmaxRules, NeedRankTwoOrFourBefore1_2) {
    for (uint32_t rank = 1; rank <= 5; ++rank) {
        const Model model = SingleOperation(OperationType::SOFTMAX)
                                    .input(floats(std::vector<uint32_t>(rank, 2)))
                                    .input({FLOAT32, {}})
                                    .output(floats(std::vector<uint32_t>(rank, 2)))
                                    .build();
        if (rank > 4) {
            expectNever(model, "rank 5");
        } else {
            expectSince(model, rank % 2 == 0 ? HalVersion::V1_0 : HalVersion::V1_2,
                        "rank " + std::to_string(rank));
        }
    }
}

TEST(ProbabilityRules, NeedScale1Over256) {
    for (const OperationType type : {OperationType::LOGISTIC, OperationType::SOFTMAX}) {
        const auto model = [&](OperandType tensor, float scale, int32_t zeroPoint) {
            SingleOperation operation(type);
            operation.input({tensor, {2, 2}, 0.1F, 5});
            if (type == OperationType::SOFTMAX) {
                operation.input({FLOAT32, {}});
            }
            return operation.output({tensor, {2, 2}, scale, zeroPoint}).build();
        };
        expectSince(model(TENSOR_QUANT8_ASYMM, 1.0F / 256, 0), HalVersion::V1_0, describe(type));
        expectNever(model(TENSOR_QUANT8_ASYMM, 1.0F / 255, 0), "scale");
        expectNever(model(TENSOR_QUANT8_ASYMM, 1.0F / 256, 1), "zero point");
        expectSince(model(TENSOR_QUANT8_ASYMM_SIGNED, 1.0F / 256, -128), HalVersion::V1_3,
                    "signed");
        expectNever(model(TENSOR_QUANT8_ASYMM_SIGNED, 1.0F / 256, 0), "signed zero point");
    }
}

TEST(QuantizationRules, KeepScaleAndZeroPointWhereValuesOnlyMove) {
    for (const OperationType type :
         {OperationType::RELU, OperationType::RELU1, OperationType::RELU6}) {
        const auto model = [&](float scale, int32_t zeroPoint) {
            return SingleOperation(type)
                    .input({TENSOR_QUANT8_ASYMM, {2}, 0.5F, 10})
                    .output({TENSOR_QUANT8_ASYMM, {2}, scale, zeroPoint})
                    .build();
        };
        expectSince(model(0.5F, 10), HalVersion::V1_0, describe(type));
        expectNever(model(0.25F, 10), describe(type));
        expectNever(model(0.5F, 11), describe(type));
    }
}

TEST(PadRules, NeedZeroPoint0Before1_2) {
    for (const int32_t zeroPoint : {0, 9}) {
        const Model model = SingleOperation(OperationType::PAD)
                                    .input({TENSOR_QUANT8_ASYMM, {2}, 0.5F, zeroPoint})
                                    .input({TENSOR_INT32, {1, 2}})
                                    .output({TENSOR_QUANT8_ASYMM, {0}, 0.5F, zeroPoint})
                                    .build();
        expectSince(model, zeroPoint == 0 ? HalVersion::V1_1 : HalVersion::V1_2, "PAD");
    }
}

TEST(Rules, NameTheOperationTheOperandAndTheRule) {
    SingleOperation operation = quantConv(0.5F, 0.5F, 0.3F, 1.0F);
    const Status status = validateOperations(operation.build(), HalVersion::V1_3);
    EXPECT_EQ(status.message(),
              "operation 0 (CONV_2D): the scale of input 2 (operand 2) is not the product of those "
              "of input 0 (operand 0) and input 1 (operand 1)");
}

}  // namespace
}  // namespace halyard::driver
