// SPDX-License-Identifier: Apache-2.0
//
// Nodes that CpuAcc computes together: additions and activations with the convolution or the fully
// connected layer before them, and inverted residual blocks. Results are CpuRef's, node by node.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/backends/cpu/cpu_acc.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/backends/ref/cpu_ref.h"
#include "engine/plan/profile.h"
#include "engine/plan/program.h"
#include "tests/engine/cpu_acc/fused_model.h"
#include "tests/engine/reference/random_values.h"

namespace halyard::engine {
namespace {

using cpu::InstructionSet;
using fused_test::build;
using fused_test::expectClose;
using fused_test::Model;
using fused_test::Outcome;
using fused_test::run;
using ref_test::RandomValues;
using ref_test::typeOf;
using ref_test::Values;

enum class Kind { CONVOLUTION, POINTWISE, DEPTHWISE, FULLY_CONNECTED };

size_t stepsWithEpilogue(const Program& program) {
    return static_cast<size_t>(
            std::ranges::count_if(program.placement(), [](const NodePlacement& node) {
                return node.kernel.find(" + ") != std::string::npos;
            }));
}

// On every instruction set, `fused` nodes are part of a step with an epilogue.
void expectSameAsReference(const Model& model, size_t fused) {
    const auto reference = makeCpuRef();
    const Outcome expected = run(model, build(model, *reference, 1));
    for (const InstructionSet set : cpu::availableInstructionSets()) {
        const auto tuned = makeCpuAcc(set);
        for (size_t threads = 1; threads <= 4; ++threads) {
            SCOPED_TRACE(std::string(toString(set)) + ", threads: " + std::to_string(threads));
            const auto program = build(model, *tuned, threads);
            EXPECT_EQ(stepsWithEpilogue(*program), fused);
            const Outcome actual = run(model, program);
            EXPECT_EQ(actual.allocations, 0U);
            for (size_t i = 0; i < expected.outputs.size(); ++i) {
                expectClose(actual.outputs[i], expected.outputs[i],
                            model.graph.tensor(model.graph.outputs()[i]).type.type);
            }
        }
    }
}

// Where a producer's result is, and what it is like.
struct Producer {
    TensorId x = kNoTensor;
    TensorId result = kNoTensor;
    TensorType type;  // with its shape
};

struct ProducerOptions {
    bool keepsShape = false;  // the result has the shape of x
    bool unknownShape = false;
    int32_t moreChannels = 0;
};

Producer addProducer(Model& model, RandomValues& random, Kind kind, DataType type,
                     const ProducerOptions& options = {}) {
    const bool wide = random.integer(0, 2) == 0;
    const bool hasOneDepth = options.keepsShape || kind == Kind::DEPTHWISE;
    const int32_t depth =
            random.integer(1, wide ? 70 : 20) + (hasOneDepth ? options.moreChannels : 0);
    const int32_t channels =
            hasOneDepth ? depth : random.integer(1, wide ? 90 : 20) + options.moreChannels;
    const int32_t stride = options.keepsShape || kind == Kind::POINTWISE ? 1 : random.integer(1, 2);
    const int32_t filter = kind == Kind::POINTWISE ? 1 : 1 + 2 * random.integer(0, 2);
    const auto activation = static_cast<Activation>(random.integer(0, 3));
    const bool bytes = !isFloat(type);
    TensorType x = bytes ? random.quantization(type, 0.02F) : typeOf(type, {});
    TensorType weights = bytes ? random.quantization(type, 0.01F) : typeOf(type, {});
    TensorType bias = typeOf(bytes ? DataType::INT32 : type, {channels});
    bias.quantization.scale = bytes ? x.quantization.scale * weights.quantization.scale : 0.0F;
    Producer producer;
    producer.type = bytes ? random.quantization(type, 0.3F) : typeOf(type, {});
    const Window2d window = {.padding = PaddingScheme::SAME, .strideH = stride, .strideW = stride};
    NodeDescriptor descriptor;
    if (kind == Kind::FULLY_CONNECTED) {
        x.shape = {random.integer(1, 40), depth};
        weights.shape = {channels, depth};
        producer.type.shape = {x.shape[0], channels};
        descriptor = FullyConnected{.activation = activation};
    } else {
        x.shape = {random.integer(1, 3), random.integer(1, 17), random.integer(1, 17), depth};
        producer.type.shape = {x.shape[0], (x.shape[1] + stride - 1) / stride,
                               (x.shape[2] + stride - 1) / stride, channels};
        if (kind == Kind::DEPTHWISE) {
            weights.shape = {1, filter, filter, channels};
            descriptor = DepthwiseConv2d{.window = window, .activation = activation};
        } else {
            weights.shape = {channels, filter, filter, depth};
            descriptor = Conv2d{.window = window, .activation = activation};
        }
    }
    producer.x = model.addInput(random.values(x), options.unknownShape);
    const auto constant = [&](const Values& values) {
        return model.graph.addConstant(values.type, {.owner = nullptr, .bytes = values.bytes})
                .value();
    };
    std::vector<int32_t> biases(static_cast<size_t>(channels));
    for (int32_t& element : biases) {
        element = random.integer(-9000, 9000);
    }
    const TensorId w = constant(random.values(weights));
    const TensorId b = constant(bytes ? ref_test::pack(bias, biases) : random.values(bias));
    producer.result = model.addNode(descriptor, {producer.x, w, b}, producer.type);
    return producer;
}

// The type of a function's result.
TensorType activatedType(RandomValues& random, Activate::Function function, TensorType x) {
    if (isFloat(x.type)) {
        return x;
    }
    const int32_t zero = x.type == DataType::QUANT8_ASYMM_SIGNED ? -128 : 0;
    switch (function) {
        case Activate::Function::LOGISTIC:
            x.quantization.scale = 1.0F / 256;
            x.quantization.zeroPoint = zero;
            break;
        case Activate::Function::HARD_SWISH:
            x.quantization = random.quantization(x.type, 0.1F).quantization;
            break;
        default:
            break;
    }
    return x;
}

constexpr Activate::Function kFunctions[] = {Activate::Function::HARD_SWISH,
                                             Activate::Function::LOGISTIC, Activate::Function::RELU,
                                             Activate::Function::RELU6, Activate::Function::RELU1};

class Epilogues : public testing::TestWithParam<DataType> {
  protected:
    static constexpr int kRounds = 8;

    template <typename Body>
    void forRounds(Body body) {
        RandomValues random;
        SCOPED_TRACE(random.seedText());
        for (int round = 0; round < kRounds && !HasFailure(); ++round) {
            const auto kind = static_cast<Kind>(round % 4);
            SCOPED_TRACE("round " + std::to_string(round));
            body(random, kind);
        }
    }
    TensorType randomSumType(RandomValues& random, TensorType like) const {
        if (!isFloat(like.type)) {
            like.quantization = random.quantization(like.type, 0.3F).quantization;
        }
        return like;
    }
};

TEST_P(Epilogues, AddEitherOperandAndActivate) {
    forRounds([&](RandomValues& random, Kind kind) {
        Model model;
        const Producer producer = addProducer(model, random, kind, GetParam());
        const TensorId addend = model.addInput(random.values(randomSumType(random, producer.type)));
        std::vector<TensorId> operands = {producer.result, addend};
        if (random.coin()) {
            std::swap(operands[0], operands[1]);
        }
        TensorType type = randomSumType(random, producer.type);
        const auto activation = static_cast<Activation>(random.integer(0, 3));
        TensorId result =
                model.addNode(Binary{.function = Binary::Function::ADD, .activation = activation},
                              operands, type);
        size_t fused = 2;
        if (random.coin()) {
            const Activate::Function function = kFunctions[random.integer(0, 4)];
            type = activatedType(random, function, type);
            result = model.addNode(Activate{.function = function}, {result}, type);
            ++fused;
        }
        model.finish({producer.x, addend}, {result});
        expectSameAsReference(model, fused);
    });
}

TEST_P(Epilogues, AddTheProducersOwnInput) {
    forRounds([&](RandomValues& random, Kind kind) {
        Model model;
        const Producer producer =
                addProducer(model, random, kind, GetParam(), {.keepsShape = true});
        const TensorId result =
                model.addNode(Binary{.function = Binary::Function::ADD},
                              {producer.x, producer.result}, randomSumType(random, producer.type));
        model.finish({producer.x}, {result});
        expectSameAsReference(model, 2);
    });
}

TEST_P(Epilogues, AddWhatAnotherProducerMakesJustOnce) {
    forRounds([&](RandomValues& random, Kind kind) {
        Model model;
        const Producer a = addProducer(model, random, kind, GetParam(), {.keepsShape = true});
        // Of the same x, by a filter that is a copy.
        const Node first = model.graph.nodes()[0];
        const TensorId b = model.addNode(first.descriptor, first.inputs, a.type);
        const TensorId result = model.addNode(Binary{.function = Binary::Function::ADD},
                                              {a.result, b}, randomSumType(random, a.type));
        model.finish({a.x}, {result});
        expectSameAsReference(model, 2);
    });
}

TEST_P(Epilogues, ActivateForAnyShapes) {
    forRounds([&](RandomValues& random, Kind kind) {
        Model model;
        const Producer producer =
                addProducer(model, random, kind, GetParam(), {.unknownShape = random.coin()});
        const Activate::Function function = kFunctions[random.integer(0, 4)];
        const TensorId result = model.addNode(Activate{.function = function}, {producer.result},
                                              activatedType(random, function, producer.type));
        model.finish({producer.x}, {result});
        expectSameAsReference(model, 2);
    });
}

TEST_P(Epilogues, CombineWithConstantsOfTheChannels) {
    constexpr Binary::Function kCombined[] = {Binary::Function::PRELU,   Binary::Function::MAXIMUM,
                                              Binary::Function::MINIMUM, Binary::Function::MUL,
                                              Binary::Function::SUB,     Binary::Function::ADD};
    forRounds([&](RandomValues& random, Kind kind) {
        for (const Binary::Function function : kCombined) {
            SCOPED_TRACE(static_cast<int>(function));
            Model model;
            // Of so many channels the constant is read where it lies.
            const int32_t more = function == Binary::Function::PRELU ? 500 : 0;
            const Producer producer =
                    addProducer(model, random, kind, GetParam(), {.moreChannels = more});
            const int32_t channels = producer.type.shape[producer.type.shape.rank() - 1];
            TensorType type = randomSumType(random, producer.type);
            type.shape = random.coin() ? Shape{1, channels}
                                       : (random.coin() ? Shape{channels} : Shape{1});
            const Values values = random.values(type);
            const TensorId constant =
                    model.graph.addConstant(type, {.owner = nullptr, .bytes = values.bytes})
                            .value();
            std::vector<TensorId> operands = {producer.result, constant};
            if (function != Binary::Function::PRELU && random.coin()) {
                std::swap(operands[0], operands[1]);
            }
            type = randomSumType(random, producer.type);
            TensorId result = model.addNode(Binary{.function = function}, operands, type);
            std::vector<TensorId> inputs = {producer.x};
            size_t fused = 2;
            if (random.coin()) {  // what lies at the same place, behind the constant's input
                inputs.push_back(model.addInput(random.values(type)));
                type = randomSumType(random, type);
                result = model.addNode(Binary{.function = Binary::Function::ADD},
                                       {result, inputs.back()}, type);
                ++fused;
            }
            model.finish(inputs, {result});
            expectSameAsReference(model, fused);
        }
    });
}

TEST_P(Epilogues, LeaveAloneConstantsOfOtherAxes) {
    forRounds([&](RandomValues& random, Kind kind) {
        Model model;
        const Producer producer = addProducer(model, random, kind, GetParam());
        const Shape& shape = producer.type.shape;
        TensorType type = randomSumType(random, producer.type);
        const bool isWhole = random.coin();
        if (!isWhole) {  // one for each row
            type.shape[shape.rank() - 1] = 1;
        }
        // One for all elements is left to the test above.
        if (*type.shape.elementCount() == 1 ||
            *type.shape.elementCount() == shape[shape.rank() - 1]) {
            return;
        }
        const Values values = random.values(type);
        const TensorId constant =
                model.graph.addConstant(type, {.owner = nullptr, .bytes = values.bytes}).value();
        const TensorId result =
                model.addNode(Binary{.function = Binary::Function::PRELU},
                              {producer.result, constant}, randomSumType(random, producer.type));
        model.finish({producer.x}, {result});
        expectSameAsReference(model, 0);
    });
}

TEST_P(Epilogues, LeaveAloneWhatOthersSee) {
    forRounds([&](RandomValues& random, Kind kind) {
        for (int variant = 0; variant < 4; ++variant) {
            SCOPED_TRACE("variant " + std::to_string(variant));
            Model model;
            const Producer producer =
                    addProducer(model, random, kind, GetParam(), {.unknownShape = variant == 3});
            std::vector<TensorId> inputs = {producer.x};
            std::vector<TensorId> outputs;
            TensorId addend = producer.result;
            if (variant != 1) {
                TensorType type = randomSumType(random, producer.type);
                if (variant == 2) {  // broadcast
                    type.shape = {producer.type.shape[producer.type.shape.rank() - 1]};
                }
                addend = model.addInput(random.values(type));
                inputs.push_back(addend);
            }
            const TensorId sum =
                    model.addNode(Binary{.function = Binary::Function::ADD},
                                  {producer.result, addend}, randomSumType(random, producer.type));
            outputs.push_back(sum);
            if (variant == 0) {
                outputs.push_back(producer.result);
            }
            model.finish(inputs, outputs);
            expectSameAsReference(model, 0);
        }
    });
}

INSTANTIATE_TEST_SUITE_P(, Epilogues,
                         testing::Values(DataType::FLOAT32, DataType::FLOAT16,
                                         DataType::QUANT8_ASYMM, DataType::QUANT8_ASYMM_SIGNED),
                         [](const testing::TestParamInfo<DataType>& instance) {
                             return std::string(toString(instance.param));
                         });

struct ScaledOptions {
    bool scalesFirst = false;  // the multiplication's first input
    bool adds = false;         // something to the result
    bool readTwice = false;    // the scaled feature map, by another node as well
    bool oneForAll = false;    // the same scales for each batch
    bool relaxed = false;
    int32_t filter = 1;
};

// A feature map, scaled channel by channel, and a convolution of it.
Model scaledProduct(RandomValues& random, const ScaledOptions& options) {
    Model model;
    const int32_t depth = random.integer(1, 70);
    const int32_t channels = random.integer(1, 70);
    const Shape featureMap = {2, random.integer(1, 20), random.integer(1, 20), depth};
    const auto floats = [](const Shape& shape) { return typeOf(DataType::FLOAT32, shape); };
    const auto constant = [&](const Shape& shape) {
        const Values values = random.values(floats(shape));
        return model.graph.addConstant(values.type, {.owner = nullptr, .bytes = values.bytes})
                .value();
    };
    const TensorId x = model.addInput(random.values(floats(featureMap)));
    const TensorId scales =
            model.addInput(random.values(floats({options.oneForAll ? 1 : 2, 1, 1, depth})));
    std::vector<TensorId> inputs = {x, scales};
    const TensorId scaled =
            model.addNode(Binary{.function = Binary::Function::MUL},
                          options.scalesFirst ? std::vector{scales, x} : std::vector{x, scales},
                          floats(featureMap));
    TensorId result = model.addNode(
            Conv2d{.window = {.padding = PaddingScheme::SAME}, .activation = Activation::RELU},
            {scaled, constant({channels, options.filter, options.filter, depth}),
             constant({channels})},
            floats({}));
    if (options.adds) {
        const Shape shape = {featureMap[0], featureMap[1], featureMap[2], channels};
        inputs.push_back(model.addInput(random.values(floats(shape))));
        result = model.addNode(Binary(), {inputs.back(), result}, floats(shape));
    }
    std::vector<TensorId> outputs = {result};
    if (options.readTwice) {
        outputs.push_back(model.addNode(Activate(), {scaled}, floats(featureMap)));
    }
    model.finish(inputs, outputs);
    model.graph.setRelaxedFloat(options.relaxed);
    return model;
}

void expectScaled(const Model& model, size_t nodes) {
    const auto tuned = makeCpuAcc();
    EXPECT_EQ(std::ranges::count_if(build(model, *tuned, 1)->placement(),
                                    [](const NodePlacement& node) {
                                        return node.kernel.find("of scaled rows") !=
                                               std::string::npos;
                                    }),
              nodes);
    expectSameAsReference(model, model.inputs.size() == 3 ? (nodes == 0 ? 2 : nodes) : 0);
}

TEST(SeScaledConvs, AreComputedAsOne) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 8 && !testing::Test::HasFailure(); ++round) {
        SCOPED_TRACE("round " + std::to_string(round));
        const bool adds = round % 4 >= 2;
        expectScaled(scaledProduct(random, {.scalesFirst = round % 2 == 1, .adds = adds}),
                     adds ? 3 : 2);
    }
}

TEST(SeScaledConvs, StayApartWhereTheyAreNot) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    expectScaled(scaledProduct(random, {.readTwice = true}), 0);
    expectScaled(scaledProduct(random, {.oneForAll = true}), 0);
    expectScaled(scaledProduct(random, {.filter = 3}), 0);
    expectScaled(scaledProduct(random, {.relaxed = true}), 0);
}

TEST(EpiloguesOfWinograd, AddAndActivateTiles) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    Model model;
    // Tiles pass the edge, and columns are of two chunks and a part.
    const Shape featureMap = {2, 33, 31, 40};
    const TensorType type = typeOf(DataType::FLOAT32, featureMap);
    const TensorId x = model.addInput(random.values(type));
    const TensorId addend = model.addInput(random.values(type));
    const auto constant = [&](Shape shape) {
        const Values values = random.values(typeOf(DataType::FLOAT32, shape));
        return model.graph.addConstant(values.type, {.owner = nullptr, .bytes = values.bytes})
                .value();
    };
    const TensorId product = model.addNode(Conv2d{.window = {.padding = PaddingScheme::SAME}},
                                           {x, constant({40, 3, 3, 40}), constant({40})}, type);
    const TensorId sum = model.addNode(Binary(), {addend, product}, type);
    model.finish({x, addend}, {model.addNode(Activate{.function = Activate::Function::HARD_SWISH},
                                             {sum}, type)});
    const auto tuned = makeCpuAcc();
    EXPECT_NE(build(model, *tuned, 1)->placement()[0].kernel.find("winograd"), std::string::npos);
    expectSameAsReference(model, 3);
}

// A step of several nodes is one line of a profile, and names all of them.
TEST(EpiloguesInProfiles, NameAllNodesOfTheStep) {
    RandomValues random;
    Model model;
    const Producer producer = addProducer(model, random, Kind::POINTWISE, DataType::FLOAT32);
    const TensorId addend = model.addInput(random.values(producer.type));
    const TensorId sum = model.addNode(Binary{.function = Binary::Function::ADD},
                                       {producer.result, addend}, producer.type);
    const TensorId result = model.addNode(Activate{.function = Activate::Function::HARD_SWISH},
                                          {sum}, producer.type);
    model.finish({producer.x, addend}, {result});
    const auto tuned = makeCpuAcc();
    const auto program = build(model, *tuned, 1);
    Profile profile(program);
    Execution execution = Execution::create(program).value();
    std::vector<InputBinding> in;
    for (const Values& values : model.inputs) {
        in.push_back({.bytes = values.bytes, .shape = values.type.shape});
    }
    std::vector<uint8_t> bytes(producer.type.byteSize().value());
    const OutputBinding out = {.bytes = bytes};
    ASSERT_TRUE(execution.run(in, {&out, 1}, {.trace = &profile}, nullptr).ok());
    profile.endRun();
    const std::vector<NodeProfile> nodes = profile.nodes();
    ASSERT_EQ(nodes.size(), 1U);
    EXPECT_EQ(nodes[0].placement, (std::vector<size_t>{0, 1, 2}));
    EXPECT_NE(nodes[0].kernel.find(" + Binary + Activate"), std::string::npos) << nodes[0].kernel;
}

}  // namespace
}  // namespace halyard::engine
