// SPDX-License-Identifier: Apache-2.0
//
// Depthwise convolutions of small feature maps that CpuAcc computes together with the pointwise
// convolution before them. Results are CpuRef's, node by node.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/backends/cpu/depthwise/fused_pointwise_depthwise.h"
#include "engine/backends/cpu/gemm/amx_int8_gemm.h"
#include "engine/plan/node_by_node.h"
#include "tests/engine/cpu_acc/emulated_tiles.h"
#include "tests/engine/cpu_acc/fused_model.h"
#include "tests/engine/cpu_acc/weighted_layer.h"

namespace halyard::engine {
namespace {

using fused_test::Model;
using ref_test::RandomValues;
using ref_test::typeOf;
using ref_test::Values;

struct FusedPointwiseDepthwiseOptions {
    bool activates = false;      // between the two
    bool activatesLast = false;  // behind the two
    int32_t most = 24;           // lines and columns of the feature map
    int32_t reach = 1;           // of the first convolution
    int32_t filter = 0;          // of the second; 0: one that fits
    int32_t dilation = 1;
    int32_t multiplier = 1;
    bool unknownShape = false;
    bool readTwice = false;  // the expanded feature map is
    bool relaxed = false;
    float weight = 0.0F;  // one of the second convolution's; 0: as the others
};

Model fusedPointwiseDepthwise(RandomValues& random, const FusedPointwiseDepthwiseOptions& options) {
    Model model;
    const auto floats = [](const Shape& shape) { return typeOf(DataType::FLOAT32, shape); };
    const auto constant = [&](const Shape& shape) {
        return model.addConstant(random.values(floats(shape)));
    };
    const auto activation = [&] { return static_cast<Activation>(random.integer(0, 3)); };
    const int32_t depth = random.integer(1, 70);
    const int32_t expanded = random.integer(1, 150);
    const int32_t channels = expanded * options.multiplier;
    const int32_t filter = options.filter != 0 ? options.filter : 3 + 2 * random.integer(0, 1);
    Window2d window = {.padding = PaddingScheme::SAME,
                       .dilationH = options.dilation,
                       .dilationW = options.dilation};
    if (options.dilation == 1) {
        window.strideH = random.integer(1, 3);
        window.strideW = random.integer(1, 3);
    }
    const int32_t least = options.dilation * (filter - 1) + 1;
    const Shape featureMap = {random.integer(1, 2), random.integer(least, options.most),
                              random.integer(least, options.most), depth};
    if (random.coin()) {
        window.padding = PaddingScheme::EXPLICIT;
        for (int32_t* const side : {&window.top, &window.bottom, &window.left, &window.right}) {
            *side = random.integer(0, filter + 1);
        }
    }
    const TensorId x = model.addInput(random.values(floats(featureMap)), options.unknownShape);
    const TensorId wide = model.addNode(
            Conv2d{.window = {.padding = PaddingScheme::SAME}, .activation = activation()},
            {x, constant({expanded, options.reach, options.reach, depth}), constant({expanded})},
            floats({}));
    TensorId middle = wide;
    if (options.activates) {
        middle = model.addNode(Activate{.function = Activate::Function::HARD_SWISH}, {wide},
                               floats({}));
    }
    std::vector<float> weights(static_cast<size_t>(filter * filter * channels));
    for (float& weight : weights) {
        weight = static_cast<float>(random.integer(-100, 100)) / 100.0F;
    }
    if (options.weight != 0.0F) {
        weights[static_cast<size_t>(random.integer(0, static_cast<int32_t>(weights.size()) - 1))] =
                options.weight;
    }
    const TensorId filtered = model.addNode(
            DepthwiseConv2d{
                    .window = window, .multiplier = options.multiplier, .activation = activation()},
            {middle,
             model.addConstant(ref_test::pack(floats({1, filter, filter, channels}), weights)),
             constant({channels})},
            floats({}));
    std::vector<TensorId> inputs = {x};
    std::vector<TensorId> outputs = {filtered};
    if (options.activatesLast) {
        outputs = {model.addNode(Activate{.function = Activate::Function::HARD_SWISH}, {filtered},
                                 floats({}))};
    }
    if (options.readTwice) {
        outputs.push_back(
                model.addNode(Activate{.function = Activate::Function::RELU}, {wide}, floats({})));
    }
    model.finish(inputs, outputs);
    model.graph.setRelaxedFloat(options.relaxed);
    return model;
}

void expectTogether(const Model& model, size_t nodes) {
    fused_test::expectTogether(model, "fused_pointwise_depthwise", nodes);
}

TEST(FusedPointwiseDepthwise, IsComputedChannelByChannel) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 16 && !testing::Test::HasFailure(); ++round) {
        SCOPED_TRACE("round " + std::to_string(round));
        const bool activates = round % 2 == 1;
        const bool activatesLast = round % 4 >= 2;
        expectTogether(fusedPointwiseDepthwise(
                               random, {.activates = activates, .activatesLast = activatesLast}),
                       2U + (activates ? 1U : 0U) + (activatesLast ? 1U : 0U));
    }
}

TEST(FusedPointwiseDepthwise, LeavesOutWhatLiesBesideTheFeatureMap) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const float weight :
         {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
        expectTogether(fusedPointwiseDepthwise(random, {.weight = weight}), 2);
    }
}

TEST(FusedPointwiseDepthwise, StaysApartWhereItDoesNotPayOrOthersSeeIt) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    expectTogether(fusedPointwiseDepthwise(random, {.unknownShape = true}), 0);
    expectTogether(fusedPointwiseDepthwise(random, {.readTwice = true}), 0);
    expectTogether(fusedPointwiseDepthwise(random, {.reach = 2}), 0);
    expectTogether(fusedPointwiseDepthwise(random, {.filter = 4}), 0);
    expectTogether(fusedPointwiseDepthwise(random, {.dilation = 2}), 0);
    expectTogether(fusedPointwiseDepthwise(random, {.multiplier = 2}), 0);
}

// Their products may be faster in parts of float16's precision, which take rows as they are.
TEST(FusedPointwiseDepthwise, StaysApartInRelaxedModels) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    const auto tuned = makeCpuAcc();
    const auto program =
            fused_test::build(fusedPointwiseDepthwise(random, {.relaxed = true}), *tuned, 1);
    for (const NodePlacement& node : program->placement()) {
        EXPECT_EQ(node.kernel.find("fused_pointwise_depthwise"), std::string::npos) << node.kernel;
    }
}

// ---- Bytes --------------------------------------------------------------------------------------

// Computes pairs of nodes together, whether that pays or not, with tiles that the test makes up.
class FusedPointwiseDepthwiseBytesAlone final : public Backend {
  public:
    explicit FusedPointwiseDepthwiseBytesAlone(cpu::InstructionSet set)
        : mTarget(cpu::CpuTarget::of(set, cpu::describeThisCpu())) {}

    std::string_view name() const override { return "FusedPointwiseDepthwiseBytesAlone"; }
    Status supports(const Graph& /*graph*/, NodeId /*node*/) const override { return {}; }
    Result<std::unique_ptr<CompiledPartition>> compile(
            const CompileArguments& arguments) const override {
        FusedStep step = {.nodes = {}, .compile = [this](const KernelArguments& own) {
                              return cpu::compileFusedPointwiseDepthwiseBytes(
                                      own, cpu::emulatedAmxInt8Gemm(mTarget.set), mTarget);
                          }};
        for (size_t i = 0; i < arguments.partition.nodes.size(); ++i) {
            step.nodes.push_back(i);
        }
        const auto none =
                [](const KernelArguments& /*own*/) -> Result<std::unique_ptr<const StepKernel>> {
            return internalError("a node stands alone");
        };
        return compileNodeByNode(arguments, none, {&step, 1});
    }

  private:
    const cpu::CpuTarget mTarget;
};

struct ByteOptions {
    DataType x = DataType::QUANT8_ASYMM_SIGNED;
    DataType weights = DataType::QUANT8_SYMM_PER_CHANNEL;
    bool activates = false;
    bool activatesLast = false;
    int32_t channels = 0;  // 0: any number
    int32_t depth = 0;
    int32_t side = 0;  // of the feature map
};

Model fusedPointwiseDepthwiseBytes(RandomValues& random, const ByteOptions& options) {
    Model model;
    const auto orAny = [&](int32_t chosen, int32_t least, int32_t most) {
        return chosen != 0 ? chosen : random.integer(least, most);
    };
    const int32_t filter = 3 + 2 * random.integer(0, 1);
    const int32_t depth = orAny(options.depth, 1, 140);
    const int32_t channels = orAny(options.channels, 1, 200);
    const int32_t fewest = options.side != 0 ? options.side : filter;
    const int32_t most = options.side != 0 ? options.side : 19;
    const auto activation = [&] { return static_cast<Activation>(random.integer(0, 3)); };
    const auto biasOf = [&](TensorType type) {
        type.shape = {channels};
        std::vector<int32_t> bias(static_cast<size_t>(channels));
        for (int32_t& element : bias) {
            element = random.integer(-20000, 20000);
        }
        return model.addConstant(ref_test::pack(type, bias));
    };
    cpu_test::Types first = cpu_test::typesFor(random, options.x, options.weights, channels, 0);
    first.x.shape = {random.integer(1, 2), random.integer(fewest, most),
                     random.integer(fewest, most), depth};
    first.weights.shape = {channels, 1, 1, depth};
    cpu_test::Types second = cpu_test::typesFor(random, options.x, options.weights, channels, 3);
    second.weights.shape = {1, filter, filter, channels};
    Window2d window = {.padding = PaddingScheme::SAME,
                       .strideH = random.integer(1, 3),
                       .strideW = random.integer(1, 3)};
    if (options.side != 0) {
        window.strideH = window.strideW = 1;
    } else if (random.coin()) {
        window.padding = PaddingScheme::EXPLICIT;
        for (int32_t* const edge : {&window.top, &window.bottom, &window.left, &window.right}) {
            *edge = random.integer(0, filter + 1);
        }
    }
    const TensorId x = model.addInput(random.values(first.x));
    TensorId last = model.addNode(
            Conv2d{.window = {.padding = PaddingScheme::SAME}, .activation = activation()},
            {x, model.addConstant(random.values(first.weights)), biasOf(first.bias)}, first.output);
    const auto activate = [&](TensorType type) {
        last = model.addNode(Activate{.function = Activate::Function::HARD_SWISH}, {last}, type);
    };
    TensorType wide = first.output;
    if (options.activates) {
        wide = random.quantization(options.x, 0.5F);
        activate(wide);
    }
    if (second.bias.quantization.scale != 0.0F) {
        second.bias.quantization.scale =
                wide.quantization.scale * second.weights.quantization.scale;
    }
    last = model.addNode(
            DepthwiseConv2d{.window = window, .activation = activation()},
            {last, model.addConstant(random.values(second.weights)), biasOf(second.bias)},
            second.output);
    if (options.activatesLast) {
        activate(random.quantization(options.x, 0.5F));
    }
    model.finish({x}, {last});
    return model;
}

void expectBytesTogether(const Model& model) {
    const auto reference = makeCpuRef();
    const fused_test::Outcome expected = run(model, build(model, *reference, 2));
    for (const cpu::InstructionSet set : cpu::availableInstructionSets()) {
        const FusedPointwiseDepthwiseBytesAlone together(set);
        for (const size_t threads : {size_t{1}, size_t{2}, size_t{4}, size_t{7}}) {
            SCOPED_TRACE(std::string(toString(set)) + ", threads: " + std::to_string(threads));
            const auto program = build(model, together, threads);
            const fused_test::Outcome actual = run(model, program);
            EXPECT_EQ(actual.allocations, 0U);
            EXPECT_EQ(actual.outputs, expected.outputs);
        }
    }
}

TEST(FusedPointwiseDepthwiseBytes, AreThoseOfTheNodesOneByOne) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 16 && !testing::Test::HasFailure(); ++round) {
        SCOPED_TRACE("round " + std::to_string(round));
        const bool isSigned = round % 2 == 0;
        expectBytesTogether(fusedPointwiseDepthwiseBytes(
                random, {.x = isSigned ? DataType::QUANT8_ASYMM_SIGNED : DataType::QUANT8_ASYMM,
                         .weights = round % 3 == 0 ? DataType::QUANT8_SYMM_PER_CHANNEL
                                    : isSigned     ? DataType::QUANT8_ASYMM_SIGNED
                                                   : DataType::QUANT8_ASYMM,
                         .activates = round % 4 >= 2,
                         .activatesLast = round % 8 >= 4}));
    }
}

// Whole blocks of channels, as MobileNets have them, and depths that rows are read in place for.
TEST(FusedPointwiseDepthwiseBytes, OfWholeBlocksAreThoseOfTheNodesOneByOne) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const int32_t depth : {64, 96, 128}) {
        for (const int32_t side : {7, 14}) {
            expectBytesTogether(fusedPointwiseDepthwiseBytes(
                    random, {.channels = 192, .depth = depth, .side = side}));
        }
    }
}

// The kernel that CpuAcc computes the first node with.
std::string kernelOf(const Model& model, size_t threads) {
    const auto backend = makeCpuAcc(cpu::InstructionSet::AVX512_AMX);
    const auto program = build(model, *backend, threads);
    return std::string(program->placement().front().kernel);
}

TEST(FusedPointwiseDepthwiseBytes, AreOfSmallFeatureMapsOnManyThreads) {
    if (cpu::amxInt8Gemm(cpu::InstructionSet::AVX512_AMX) == nullptr) {
        GTEST_SKIP() << "no processor of this architecture has AMX";
    }
    // Nothing is run by tiles here, but kernels of AVX-512 are asked what they are.
    if (!std::ranges::count(cpu::availableInstructionSets(), cpu::InstructionSet::AVX512)) {
        GTEST_SKIP() << "this processor has no AVX-512";
    }
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    const auto isTogether = [&](const ByteOptions& options, size_t threads) {
        return kernelOf(fusedPointwiseDepthwiseBytes(random, options), threads)
                       .find("fused_pointwise_depthwise_8bit") != std::string::npos;
    };
    const ByteOptions usual = {.channels = 384, .depth = 64, .side = 14};
    EXPECT_TRUE(isTogether(usual, 4));
    EXPECT_TRUE(isTogether(usual, 16));
    EXPECT_FALSE(isTogether(usual, 1)) << "no phase is gained";
    EXPECT_FALSE(isTogether({.channels = 64, .depth = 64, .side = 14}, 16))
            << "most threads would be without a unit";
    EXPECT_FALSE(isTogether({.channels = 200, .depth = 64, .side = 14}, 4))
            << "a block would have few channels";
    EXPECT_FALSE(isTogether({.channels = 384, .depth = 64, .side = 112}, 4))
            << "the featureMap is large";
    EXPECT_FALSE(isTogether({.x = DataType::QUANT8_ASYMM,
                             .weights = DataType::QUANT8_ASYMM,
                             .channels = 384,
                             .depth = 4,
                             .side = 14},
                            4))
            << "vectors are faster than tiles";
}

}  // namespace
}  // namespace halyard::engine
