// SPDX-License-Identifier: Apache-2.0
//
// The vendor test suite's model mutations: each makes the model invalid for getSupportedOperations
// and prepareModel alike, in every version. The suite's name for a mutation stands in its comment.

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/driver/model/validation_fixture.h"
#include "tests/driver/model_builder.h"

namespace halyard::driver {
namespace {

using ModelMutation = ModelValidation;

TEST_F(ModelMutation, UnmutatedModelsAreValidInEveryVersion) {
    for (const HalVersion version : kVersions) {
        for (const Model& model : {floatConvModel(), quantConvModel()}) {
            const Result<std::vector<bool>> supported =
                    mDevice->supportedOperations(model, version);
            ASSERT_TRUE(supported.ok()) << supported.status().toString();
            EXPECT_EQ(*supported, std::vector<bool>(3, true));
            const Status prepared = mDevice->prepare(model, version, {}).status();
            EXPECT_TRUE(prepared.ok()) << prepared.toString();
        }
    }
}

// mutateExecutionOrderTest
TEST_F(ModelMutation, OperationsOutOfOrder) {
    for (size_t i = 0; i < 3; ++i) {
        for (size_t j = i + 1; j < 3; ++j) {
            expectMutationInvalid("swapped operations", [&](Model& model) {
                std::swap(model.main.operations[i], model.main.operations[j]);
            });
        }
    }
}

// mutateOperandTypeTest
TEST_F(ModelMutation, OperandOfUnknownType) {
    for (const int32_t code : {-1, 16, 9999, 10002, 0xFFFF, 0x10000, 0x7FFFFFFF}) {
        expectEachOperandInvalid("type " + std::to_string(code),
                                 [&](Model& /*model*/, Operand& operand) {
                                     operand.type = static_cast<OperandType>(code);
                                     return true;
                                 });
    }
}

// mutateOperandRankTest
TEST_F(ModelMutation, OperandOfWrongRank) {
    expectEachOperandInvalid("dimensions of a scalar", [](Model& /*model*/, Operand& operand) {
        operand.dimensions.push_back(1);
        return !findOperandType(operand.type)->isTensor();
    });
    expectEachOperandInvalid("no rank of a constant", [](Model& /*model*/, Operand& operand) {
        operand.dimensions.clear();
        return findOperandType(operand.type)->isTensor() &&
               (operand.lifetime == OperandLifeTime::CONSTANT_COPY ||
                operand.lifetime == OperandLifeTime::CONSTANT_REFERENCE);
    });
}

TEST_F(ModelMutation, UnknownRankBefore1_2) {
    Model model = floatConvModel();
    model.main.operands[conv_model::kRelu].dimensions.clear();
    expectInvalid(model, HalVersion::V1_0, "no rank");
    expectInvalid(model, HalVersion::V1_1, "no rank");
    EXPECT_TRUE(mDevice->prepare(model, HalVersion::V1_2, {}).ok());
    EXPECT_TRUE(mDevice->prepare(model, HalVersion::V1_3, {}).ok());
}

// mutateOperandScaleTest
TEST_F(ModelMutation, OperandScaleOutsideItsType) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    for (const float scale : {-1.0F, kInfinity, kNan}) {
        expectEachOperandInvalid("scale " + std::to_string(scale),
                                 [&](Model& /*model*/, Operand& operand) {
                                     operand.scale = scale;
                                     return true;
                                 });
    }
    expectEachOperandInvalid("scale 0", [](Model& /*model*/, Operand& operand) {
        operand.scale = 0.0F;
        return operand.type == OperandType::TENSOR_QUANT8_ASYMM;
    });
    expectEachOperandInvalid("scale 1", [](Model& /*model*/, Operand& operand) {
        operand.scale = 1.0F;
        return operand.type == OperandType::TENSOR_FLOAT32 || operand.type == OperandType::INT32;
    });
}

// mutateOperandZeroPointTest
TEST_F(ModelMutation, OperandZeroPointOutsideItsType) {
    for (const int32_t zeroPoint : {-1, 1, 256, std::numeric_limits<int32_t>::min()}) {
        expectEachOperandInvalid(
                "zero point " + std::to_string(zeroPoint), [&](Model& /*model*/, Operand& operand) {
                    operand.zeroPoint = zeroPoint;
                    return operand.type != OperandType::TENSOR_QUANT8_ASYMM || zeroPoint != 1;
                });
    }
}

// mutateOperandLifeTimeTest
TEST_F(ModelMutation, OperandOfAnotherLifetime) {
    for (int32_t code = -1; code <= 7; ++code) {
        const auto lifetime = static_cast<OperandLifeTime>(code);
        expectEachOperandInvalid("lifetime " + std::to_string(code),
                                 [&](Model& /*model*/, Operand& operand) {
                                     if (operand.lifetime == lifetime) {
                                         return false;
                                     }
                                     const bool wasConstant = operand.location.length != 0;
                                     operand.lifetime = lifetime;
                                     if (lifetime != OperandLifeTime::CONSTANT_COPY &&
                                         lifetime != OperandLifeTime::CONSTANT_REFERENCE) {
                                         operand.location = {};
                                         return true;
                                     }
                                     return !wasConstant;  // it may well lie in the other place
                                 });
    }
}

// mutateOperandInputOutputTest
TEST_F(ModelMutation, InputsAndOutputsThatAreNotExactlyTheOperandsOfThatLifetime) {
    using namespace conv_model;  // NOLINT(google-build-using-namespace): operand names
    expectMutationInvalid("a constant as input",
                          [](Model& model) { model.main.inputIndexes.push_back(kFilter); });
    expectMutationInvalid("a temporary as output",
                          [](Model& model) { model.main.outputIndexes.push_back(kRelu); });
    expectMutationInvalid("an input twice",
                          [](Model& model) { model.main.inputIndexes.push_back(kInput); });
    expectMutationInvalid("an input left out",
                          [](Model& model) { model.main.inputIndexes.clear(); });
    expectMutationInvalid("an output left out",
                          [](Model& model) { model.main.outputIndexes.clear(); });
    expectMutationInvalid("an input that does not exist",
                          [](Model& model) { model.main.inputIndexes = {0xFFFFFFFF}; });
    expectMutationInvalid("an output that does not exist",
                          [](Model& model) { model.main.outputIndexes = {9}; });
}

// mutateOperandNumberOfConsumersTest
TEST_F(ModelMutation, WrongNumberOfConsumers) {
    expectEachOperandInvalid("one consumer more", [](Model& /*model*/, Operand& operand) {
        ++operand.numberOfConsumers;
        return true;
    });
    expectEachOperandInvalid("one consumer less", [](Model& /*model*/, Operand& operand) {
        --operand.numberOfConsumers;
        return true;
    });
}

// mutateOperandAddWriterTest
TEST_F(ModelMutation, OperandWrittenTwiceOrNotWritable) {
    for (uint32_t operand = 0; operand <= conv_model::kOutput; ++operand) {
        expectMutationInvalid("another writer of operand " + std::to_string(operand),
                              [&](Model& model) {
                                  ++model.main.operands[conv_model::kConv].numberOfConsumers;
                                  model.main.operations.push_back({.type = OperationType::RELU,
                                                                   .inputs = {conv_model::kConv},
                                                                   .outputs = {operand}});
                              });
    }
}

// mutateOperationOperandTypeTest
TEST_F(ModelMutation, OperandOfATypeThatTheOperationDoesNotTake) {
    for (int32_t code = 0; code <= 15; ++code) {
        const auto type = static_cast<OperandType>(code);
        expectEachOperandInvalid("type " + describe(type), [&](Model& /*model*/, Operand& operand) {
            if (operand.type == type) {
                return false;
            }
            const OperandTypeInfo& info = *findOperandType(type);
            // As consistent in itself as it can be, so that only the operation objects.
            operand.type = type;
            operand.zeroPoint = 0;
            operand.scale = 0.0F;
            if (!info.isTensor()) {
                operand.dimensions.clear();
            } else if (operand.dimensions.empty()) {
                operand.dimensions = {1};
            }
            if (describe(type).find("QUANT") != std::string::npos &&
                type != OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL) {
                operand.scale = 0.5F;
            }
            return true;
        });
    }
}

// mutateOperationTypeTest
TEST_F(ModelMutation, OperationOfUnknownType) {
    for (const int32_t code : {-1, 102, 9999, 10001, 0x10000}) {
        expectMutationInvalid("operation " + std::to_string(code), [&](Model& model) {
            model.main.operations[1].type = static_cast<OperationType>(code);
        });
    }
}

// mutateOperationInputOperandIndexTest, mutateOperationOutputOperandIndexTest
TEST_F(ModelMutation, OperationOnOperandsThatDoNotExist) {
    for (const uint32_t index : {9U, 0x7FFFFFFFU, 0xFFFFFFFFU}) {
        for (size_t operation = 0; operation < 3; ++operation) {
            expectMutationInvalid("an input", [&](Model& model) {
                model.main.operations[operation].inputs[0] = index;
            });
            expectMutationInvalid("an output", [&](Model& model) {
                model.main.operations[operation].outputs[0] = index;
            });
        }
    }
}

// mutateOperationRemoveWriteTest
TEST_F(ModelMutation, OperandThatNoOperationWrites) {
    expectMutationInvalid("a temporary without a writer", [](Model& model) {
        model.main.operands.push_back(model.main.operands[conv_model::kRelu]);
        model.main.operands.back().numberOfConsumers = 0;
        model.main.operations[1].outputs[0] = conv_model::kOutput + 1;
    });
}

// removeOperandTest
TEST_F(ModelMutation, OperandRemoved) {
    for (size_t index = 0; index <= conv_model::kOutput; ++index) {
        expectMutationInvalid("operand " + std::to_string(index), [&](Model& model) {
            model.main.operands.erase(model.main.operands.begin() +
                                      static_cast<std::ptrdiff_t>(index));
        });
    }
}

// removeOperationTest
TEST_F(ModelMutation, OperationRemoved) {
    for (size_t index = 0; index < 3; ++index) {
        expectMutationInvalid("operation " + std::to_string(index), [&](Model& model) {
            for (const uint32_t input : model.main.operations[index].inputs) {
                --model.main.operands[input].numberOfConsumers;
            }
            model.main.operations.erase(model.main.operations.begin() +
                                        static_cast<std::ptrdiff_t>(index));
        });
    }
    expectMutationInvalid("all operations", [](Model& model) { model.main.operations.clear(); });
    expectMutationInvalid("everything", [](Model& model) { model.main = {}; });
}

// removeOperationInputTest, removeOperationOutputTest
TEST_F(ModelMutation, OperationInputOrOutputRemoved) {
    for (size_t operation = 0; operation < 3; ++operation) {
        const size_t count = floatConvModel().main.operations[operation].inputs.size();
        for (size_t input = 0; input < count; ++input) {
            expectMutationInvalid("input " + std::to_string(input), [&](Model& model) {
                std::vector<uint32_t>& inputs = model.main.operations[operation].inputs;
                --model.main.operands[inputs[input]].numberOfConsumers;
                inputs.erase(inputs.begin() + static_cast<std::ptrdiff_t>(input));
            });
        }
        expectMutationInvalid("the output", [&](Model& model) {
            model.main.operations[operation].outputs.clear();
        });
    }
}

// addOperationInputTest, addOperationOutputTest
TEST_F(ModelMutation, OperationInputOrOutputAdded) {
    for (size_t operation = 0; operation < 3; ++operation) {
        expectMutationInvalid("an input", [&](Model& model) {
            Operand extra;
            extra.type = OperandType::INT32;
            extra.lifetime = OperandLifeTime::SUBGRAPH_INPUT;
            extra.numberOfConsumers = 1;
            model.main.operands.push_back(extra);
            model.main.inputIndexes.push_back(conv_model::kOutput + 1);
            model.main.operations[operation].inputs.push_back(conv_model::kOutput + 1);
        });
        expectMutationInvalid("an output", [&](Model& model) {
            Operand extra;
            extra.type = OperandType::INT32;
            extra.lifetime = OperandLifeTime::SUBGRAPH_OUTPUT;
            model.main.operands.push_back(extra);
            model.main.outputIndexes.push_back(conv_model::kOutput + 1);
            model.main.operations[operation].outputs.push_back(conv_model::kOutput + 1);
        });
    }
}

// mutateExecutionPreferenceTest, mutateExecutionPriorityTest
TEST_F(ModelMutation, UnknownPreferenceAndPriority) {
    for (const int32_t code : {-1, 3}) {
        PrepareOptions options;
        options.preference = static_cast<ExecutionPreference>(code);
        expectInvalid(floatConvModel(), HalVersion::V1_1, "preference", options);
        options = {};
        options.priority = static_cast<Priority>(code);
        expectInvalid(floatConvModel(), HalVersion::V1_3, "priority", options);
    }
}

TEST_F(ModelMutation, ConstantOutsideItsMemory) {
    constexpr uint32_t kMax = std::numeric_limits<uint32_t>::max();
    for (const DataLocation& location :
         {DataLocation{0, kMax, 32}, DataLocation{0, 1U << 31U, 32}, DataLocation{0, 40, 32},
          DataLocation{1, 0, 32}, DataLocation{kMax, 0, 32}, DataLocation{0, 0, kMax},
          DataLocation{0, 0, 31}, DataLocation{0, 0, 0}}) {
        for (const uint32_t operand : {conv_model::kFilter, conv_model::kBias}) {
            expectMutationInvalid("a location", [&](Model& model) {
                model.main.operands[operand].location = location;
            });
        }
    }
    expectMutationInvalid("a location of a temporary", [](Model& model) {
        model.main.operands[conv_model::kConv].location.offset = 1;
    });
}

TEST_F(ModelMutation, DimensionsWhoseProductOverflows) {
    for (const std::vector<uint32_t>& dimensions :
         std::vector<std::vector<uint32_t>>{{0x10000, 0x10000, 1, 1},
                                            {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF},
                                            {0x80000000, 2, 1, 1},
                                            std::vector<uint32_t>(100, 2)}) {
        expectEachOperandInvalid("dimensions", [&](Model& /*model*/, Operand& operand) {
            operand.dimensions = dimensions;
            return findOperandType(operand.type)->isTensor();
        });
    }
}

TEST_F(ModelMutation, PoolWithoutHandleOrWithUnknownName) {
    expectMutationInvalid("no handle", [](Model& model) {
        auto pool = std::make_shared<FakeMemory>(8);
        pool->hasHandle = false;
        model.pools[0] = pool;
    });
    expectMutationInvalid("no pool", [](Model& model) { model.pools[0] = nullptr; });
    expectMutationInvalid("an unknown name", [](Model& model) {
        auto pool = std::make_shared<FakeMemory>(8);
        pool->memoryName = "mmap";
        model.pools[0] = pool;
    });
}

TEST_F(ModelMutation, HardwareBufferPoolBefore1_2) {
    Model model = floatConvModel();
    auto pool = std::make_shared<FakeMemory>(8);
    pool->memoryName = "hardware_buffer_blob";
    model.pools[0] = pool;
    expectInvalid(model, HalVersion::V1_1, "hardware buffer");
    EXPECT_TRUE(mDevice->prepare(model, HalVersion::V1_2, {}).ok());
}

}  // namespace
}  // namespace halyard::driver
