// SPDX-License-Identifier: Apache-2.0
//
// Which forms are chosen on described processors, and what is said of the others.

#include "engine/backends/cpu/choice/form_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/backends/cpu/choice/depthwise_choice.h"
#include "engine/backends/cpu/choice/fused_choice.h"
#include "engine/backends/cpu/choice/gemm_choice.h"
#include "engine/backends/cpu/depthwise/depthwise_line.h"
#include "engine/backends/cpu/gemm/float_gemm.h"
#include "tests/engine/cpu_acc/described_processors.h"

namespace halyard::engine::cpu {
namespace {

struct Processor {
    std::string_view name;
    CpuTarget target;
    int64_t lanes;  // floats of a vector
};

std::vector<Processor> processors() {
    return {{"Cortex-A53", cpu_test::cortexA53(), 4},
            {"Cortex-A55", cpu_test::cortexA55(), 4},
            {"Cortex-A76", cpu_test::cortexA76(), 4},
            {"Cortex-X", cpu_test::cortexX(), 4},
            {"Zen 4", cpu_test::zen4(), 16},
            {"Skylake-X", cpu_test::skylakeX(), 16},
            {"Sapphire Rapids", cpu_test::sapphireRapids(), 16}};
}

// Of each processor, in the order of processors().
using Forms = std::vector<Form>;

// Answers all questions about weights with yes but those that are named.
AskWeights weights(std::set<WeightFact> wrong = {}) {
    return [wrong](WeightFact fact) { return Result<bool>(!wrong.contains(fact)); };
}
AskWeights plainWeights() {
    return weights({WeightFact::ARE_BFLOAT16});
}

std::string whyNot(const LostForms& lost, Form form) {
    for (const LostForm& each : lost.all()) {
        if (each.form == form) {
            return each.why;
        }
    }
    return "";
}

struct GemmRow {
    std::string_view name;
    GemmLayer layer;
    Forms expected;
};

GemmLayer rough(GemmLayer layer) {
    layer.isRough = true;
    return layer;
}

constexpr Form kFloat = Form::FLOAT_GEMM;
constexpr Form kWinograd = Form::WINOGRAD_2X2;
constexpr Form kRoughWinograd = Form::WINOGRAD_4X4;
constexpr Form kSplit = Form::BF16_SPLIT_GEMM;
constexpr Form kAmx = Form::INT8_GEMM_AMX;
constexpr Form kDot = Form::INT8_GEMM_DOT;
constexpr Form kI8mm = Form::INT8_GEMM_I8MM;
constexpr Form kWidened = Form::INT8_GEMM_WIDENED;

// The forms of int8 without tiles.
Forms byVectors(Form onAmx) {
    return {kWidened, kDot, kDot, kI8mm, kDot, kDot, onAmx};
}

const std::vector<GemmRow>& gemmTable() {
    static const auto& table = *new std::vector<GemmRow>{
            {"first convolution", GemmLayer::convolution(112, 3, 32, 3, 2), Forms(7, kFloat)},
            {"1x1", GemmLayer::convolution(14, 256, 256, 1), Forms(7, kFloat)},
            {"3x3", GemmLayer::convolution(28, 128, 128, 3), Forms(7, kWinograd)},
            {"3x3 of few positions", GemmLayer::convolution(2, 128, 128, 3), Forms(7, kFloat)},
            {"3x3 of few channels", GemmLayer::convolution(56, 3, 8, 3), Forms(7, kFloat)},
            {"3x3 with stride 2", GemmLayer::convolution(28, 128, 128, 3, 2), Forms(7, kFloat)},
            {"rough 3x3", rough(GemmLayer::convolution(28, 128, 128, 3)), Forms(7, kRoughWinograd)},
            {"5x5", GemmLayer::convolution(28, 64, 64, 5), Forms(7, kFloat)},
            {"one row", GemmLayer::fullyConnected(1, 2048, 1000), Forms(7, kFloat)},
            {"transformer", GemmLayer::fullyConnected(128, 768, 3072), Forms(7, kFloat)},
            {"rough transformer",
             rough(GemmLayer::fullyConnected(128, 768, 3072)),
             {kFloat, kFloat, kFloat, kFloat, kFloat, kFloat, kSplit}},
            {"rough row", rough(GemmLayer::fullyConnected(1, 2048, 1000)), Forms(7, kFloat)},
            {"int8 first convolution", GemmLayer::convolution(112, 3, 32, 3, 2).ofInt8(),
             byVectors(kDot)},
            {"int8 1x1", GemmLayer::convolution(14, 256, 256, 1).ofInt8(), byVectors(kAmx)},
            {"int8 3x3", GemmLayer::convolution(28, 128, 128, 3).ofInt8(), byVectors(kAmx)},
            {"int8 row", GemmLayer::fullyConnected(1, 2048, 1000).ofInt8(), byVectors(kDot)},
            {"int8 transformer", GemmLayer::fullyConnected(128, 768, 3072).ofInt8(),
             byVectors(kAmx)},
    };
    return table;
}

TEST(GemmChoice, IsThatOfTheTable) {
    for (const GemmRow& row : gemmTable()) {
        for (size_t i = 0; i < row.expected.size(); ++i) {
            const Processor processor = processors()[i];
            const GemmChoice choice =
                    chooseGemm(row.layer, processor.target, plainWeights()).value();
            EXPECT_EQ(toString(choice.form), toString(row.expected[i]))
                    << row.name << " on " << processor.name << ": " << choice.lost.toString();
            EXPECT_GT(choice.cycles, 0.0) << row.name << " on " << processor.name;
        }
    }
}

// Of no form that was chosen, and of each other one that the layer could have at most once.
TEST(GemmChoice, SaysWhyFormsWereLost) {
    for (const GemmRow& row : gemmTable()) {
        for (const Processor& processor : processors()) {
            SCOPED_TRACE(std::string(row.name) + " on " + std::string(processor.name));
            const GemmChoice choice =
                    chooseGemm(row.layer, processor.target, plainWeights()).value();
            std::set<Form> lost;
            for (const LostForm& each : choice.lost.all()) {
                EXPECT_NE(each.form, choice.form) << each.toString();
                EXPECT_TRUE(lost.insert(each.form).second) << each.toString();
                EXPECT_FALSE(each.why.empty());
            }
            EXPECT_FALSE(lost.empty());
        }
    }
    const auto lostOn = [](const CpuTarget& target, const GemmLayer& layer, Form form) {
        return whyNot(chooseGemm(layer, target, plainWeights()).value().lost, form);
    };
    EXPECT_EQ(lostOn(cpu_test::zen4(), GemmLayer::convolution(14, 256, 256, 1).ofInt8(), kAmx),
              "avx512vnni has no tiles");
    EXPECT_EQ(lostOn(cpu_test::sapphireRapids(), GemmLayer::fullyConnected(1, 2048, 1000).ofInt8(),
                     kAmx),
              "costs 39712 cycles, and the GEMM by dot products 16128");
    EXPECT_EQ(lostOn(cpu_test::cortexA53(), GemmLayer::convolution(14, 256, 256, 1), kWinograd),
              "takes filters of 3x3, not of 1x1");
}

// Transforms take a quarter of the products by floats, of which binary16 has two at a time.
TEST(GemmChoice, OfHalvesMeasuresTransformsAgainstTheirOwnGemm) {
    struct Row {
        std::string_view name;
        GemmLayer layer;
        Form onFloats, onHalves;  // without and with arithmetic of binary16
    };
    const Row rows[] = {
            {"3x3 of 64 channels", rough(GemmLayer::convolution(56, 64, 64, 3)), kRoughWinograd,
             Form::HALF_GEMM},
            {"3x3 of 128 channels", rough(GemmLayer::convolution(28, 128, 128, 3)), kRoughWinograd,
             kRoughWinograd},
            {"3x3 of few positions", rough(GemmLayer::convolution(14, 256, 256, 3)), kWinograd,
             Form::HALF_GEMM},
            {"3x3 of few channels", rough(GemmLayer::convolution(56, 24, 24, 3)), kRoughWinograd,
             Form::HALF_GEMM},
            {"1x1", rough(GemmLayer::convolution(14, 256, 256, 1)), kFloat, Form::HALF_GEMM},
            {"strict 3x3", GemmLayer::convolution(28, 128, 128, 3), kWinograd, kWinograd},
    };
    const auto choiceOn = [](const CpuTarget& target, GemmLayer layer) {
        layer.elements = GemmLayer::Elements::HALF;
        return chooseGemm(layer, target, plainWeights()).value();
    };
    for (const Row& row : rows) {
        EXPECT_EQ(toString(choiceOn(cpu_test::cortexA53(), row.layer).form), toString(row.onFloats))
                << row.name;
        EXPECT_EQ(toString(choiceOn(cpu_test::cortexA76(), row.layer).form), toString(row.onHalves))
                << row.name;
    }
    const GemmChoice transformed = choiceOn(cpu_test::cortexA76(), rows[1].layer);
    EXPECT_TRUE(whyNot(transformed.lost, Form::HALF_GEMM).starts_with("costs "))
            << transformed.lost.toString();
    const GemmChoice direct = choiceOn(cpu_test::cortexA76(), rows[3].layer);
    EXPECT_TRUE(whyNot(direct.lost, kRoughWinograd).find(", and the half GEMM ") !=
                std::string::npos)
            << direct.lost.toString();
}

TEST(GemmChoice, IsOfTheWeights) {
    const GemmLayer three = GemmLayer::convolution(28, 128, 128, 3);
    const CpuTarget xeon = cpu_test::sapphireRapids();
    const auto formOf = [&](const GemmLayer& layer, std::set<WeightFact> wrong) {
        return chooseGemm(layer, xeon, weights(std::move(wrong))).value().form;
    };
    EXPECT_EQ(formOf(three, {WeightFact::ARE_TRANSFORMABLE, WeightFact::ARE_BFLOAT16}), kFloat);
    const GemmLayer transformer = GemmLayer::fullyConnected(128, 768, 3072);
    const GemmChoice split = chooseGemm(transformer, xeon, weights()).value();
    EXPECT_EQ(split.form, kSplit);
    EXPECT_EQ(split.leftParts, 3) << "exactly the floats";
    EXPECT_EQ(split.rightParts, 1);
    const GemmChoice roughSplit = chooseGemm(rough(transformer), xeon, plainWeights()).value();
    EXPECT_EQ(roughSplit.leftParts, 2);
    EXPECT_EQ(roughSplit.rightParts, 2);
    EXPECT_EQ(formOf(transformer, {WeightFact::ARE_IN_SAFE_RANGE}), kFloat);
    EXPECT_EQ(formOf(GemmLayer::fullyConnected(2, 2048, 1000), {}), Form::BF16_WEIGHT_GEMM);
    EXPECT_EQ(formOf(GemmLayer::fullyConnected(2, 2048, 1000), {WeightFact::ARE_BFLOAT16}), kFloat);
}

// To ask is to read all weights.
TEST(GemmChoice, AsksOfWeightsOnlyWhatDecides) {
    const auto asked = [](const GemmLayer& layer, const CpuTarget& target) {
        int count = 0;
        const auto choice = chooseGemm(layer, target, [&](WeightFact /*fact*/) {
            ++count;
            return Result<bool>(false);
        });
        EXPECT_TRUE(choice.ok());
        return count;
    };
    EXPECT_EQ(asked(GemmLayer::convolution(14, 256, 256, 1), cpu_test::cortexA76()), 0);
    EXPECT_EQ(asked(GemmLayer::convolution(14, 256, 256, 1).ofInt8(), cpu_test::sapphireRapids()),
              0);
    EXPECT_EQ(asked(GemmLayer::convolution(28, 128, 128, 3), cpu_test::cortexA76()), 1);
    EXPECT_EQ(asked(GemmLayer::convolution(14, 256, 256, 1), cpu_test::sapphireRapids()), 1);
}

TEST(GemmChoice, FailsAsTheWeightsDo) {
    const auto choice = chooseGemm(GemmLayer::convolution(28, 128, 128, 3), cpu_test::zen4(),
                                   [](WeightFact /*fact*/) -> Result<bool> {
                                       return internalError("the weights are gone");
                                   });
    EXPECT_EQ(choice.status().message(), "the weights are gone");
}

TEST(GemmChoice, TakesNoTilesForRowsThatAreNotKnown) {
    GemmLayer layer = GemmLayer::fullyConnected(128, 768, 3072);
    layer.rows = kUnknownExtent;
    EXPECT_EQ(chooseGemm(layer.ofInt8(), cpu_test::sapphireRapids(), weights()).value().form, kDot);
    EXPECT_EQ(chooseGemm(rough(layer), cpu_test::sapphireRapids(), weights()).value().form, kFloat);
}

TEST(GemmChoice, StreamsWeightsOfOneRowFromBeyondL2) {
    const auto isTaken = [](const CpuTarget& target, int64_t rows, size_t kibibytes,
                            size_t threads) {
        return isStreamed(rows, kibibytes << 10U, threads, target.tuning.vectors).ok();
    };
    EXPECT_TRUE(isTaken(cpu_test::sapphireRapids(), 1, 2048, 1));
    EXPECT_FALSE(isTaken(cpu_test::sapphireRapids(), 1, 2048, 2)) << "each has an L2";
    EXPECT_FALSE(isTaken(cpu_test::sapphireRapids(), 1, 2047, 1));
    EXPECT_FALSE(isTaken(cpu_test::sapphireRapids(), 2, 8192, 1));
    EXPECT_TRUE(isTaken(cpu_test::cortexA53(), 1, 128, 1)) << "a quarter of the shared L2";
    EXPECT_FALSE(isTaken(cpu_test::cortexA76(), 1, 256, 1));
    EXPECT_TRUE(isTaken(cpu_test::cortexA76(), 1, 512, 1));
    EXPECT_FALSE(isTaken(cpu_test::cortexX(), 1, 512, 1));
    const auto choiceOf = [](int64_t rows, int64_t columns) {
        return chooseGemm(GemmLayer::fullyConnected(rows, 1023, columns),
                          cpu_test::sapphireRapids(), plainWeights())
                .value();
    };
    EXPECT_TRUE(choiceOf(1, 512).streamsWeights) << "2 MiB with the biases";
    EXPECT_FALSE(choiceOf(2, 512).streamsWeights);
    EXPECT_EQ(whyNot(choiceOf(1, 256).lost, Form::STREAMED_WEIGHTS),
              "a thread's 1024 KiB of weights stay in L2");
}

// ---- Depthwise ----------------------------------------------------------------------------------

TEST(DepthwiseChoice, OfInt8IsByDotProductsWhereThereAreAny) {
    for (const Processor& processor : processors()) {
        Int8DepthwiseLayer layer = {.channels = 96};
        const bool has = processor.target.set != InstructionSet::NEON;
        EXPECT_EQ(toString(chooseInt8Depthwise(layer, processor.target.set).form),
                  toString(has ? Form::INT8_DEPTHWISE_DOT : Form::INT8_DEPTHWISE_PAIRED))
                << processor.name;
        layer.hasSignedWeights = layer.fitsPairs = false;
        EXPECT_EQ(toString(chooseInt8Depthwise(layer, processor.target.set).form),
                  toString(Form::INT8_DEPTHWISE_WIDENED))
                << processor.name;
    }
}

// Dot products gain nothing where windows share no columns; 16 bits hold no two products of -128.
TEST(DepthwiseChoice, OfInt8OnNeonDependsOnTheFilterAndItsWeights) {
    struct Row {
        std::string_view name;
        int64_t side, stride, dilation, channels;
        bool fitsPairs;
        Form expected;
        std::string_view whyNoDot;
    };
    constexpr Form kByDots = Form::INT8_DEPTHWISE_DOT;
    constexpr Form kPaired = Form::INT8_DEPTHWISE_PAIRED;
    constexpr std::string_view kOther = "takes filters of 3x3 and 5x5 whose windows overlap";
    const CpuTarget target = cpu_test::cortexA76();
    for (const Row& row :
         {Row{"3x3 with -128", 3, 2, 1, 96, false, kByDots, ""},
          Row{"5x5", 5, 1, 1, 96, true, kByDots, ""},
          Row{"7x7", 7, 1, 1, 96, true, kPaired, kOther},
          Row{"7x7 with -128", 7, 1, 1, 96, false, Form::INT8_DEPTHWISE_WIDENED, kOther},
          Row{"3x3 with stride 3", 3, 3, 1, 96, true, kPaired, kOther},
          Row{"3x3 with dilation", 3, 1, 2, 96, true, kPaired, kOther},
          Row{"3x3 of few channels", 3, 1, 1, 15, true, kPaired, "takes 16 channels and more"}}) {
        const Int8DepthwiseLayer layer = {.channels = row.channels,
                                          .filterH = row.side,
                                          .filterW = row.side,
                                          .strideW = row.stride,
                                          .dilationW = row.dilation,
                                          .fitsPairs = row.fitsPairs};
        const DepthwiseChoice choice = chooseInt8Depthwise(layer, InstructionSet::NEON_DOT);
        EXPECT_EQ(toString(choice.form), toString(row.expected)) << row.name;
        EXPECT_EQ(whyNot(choice.lost, kByDots), row.whyNoDot) << row.name;
        EXPECT_EQ(mayPairProducts(layer, InstructionSet::NEON_DOT), row.expected != kByDots)
                << row.name;
    }
    EXPECT_FALSE(mayPairProducts({.channels = 96, .filterH = 7, .filterW = 7},
                                 InstructionSet::AVX512_VNNI));
}

// ---- Fused --------------------------------------------------------------------------------------

// A block of MobileNetV2: 1x1 to `expanded` channels, 3x3 depthwise, 1x1 back.
FusedLayers mobileBlock(int64_t side, int64_t channels, int64_t expanded, int64_t lanes,
                        size_t threads) {
    return {.expansionDepth = channels,
            .expansion = GemmLayer::convolution(side, channels, expanded, 1),
            .map = {.height = side,
                    .width = side,
                    .outputHeight = side,
                    .outputWidth = side,
                    .depth = channels,
                    .channels = expanded,
                    .side = 3,
                    .top = 1,
                    .left = 1},
            .hasProjection = true,
            .projectionColumns = channels,
            .lanes = lanes,
            .tileLanes = 2 * lanes,
            .depthwiseLanes = lanes,
            .threads = threads};
}

TEST(FusedChoice, IsThatOfTheTable) {
    constexpr Form kApart = Form::NODE_BY_NODE;
    constexpr Form kResidual = Form::INVERTED_RESIDUAL;
    constexpr Form kPair = Form::FUSED_POINTWISE_DEPTHWISE;
    struct Row {
        std::string_view name;
        int64_t side, channels, expanded;
        size_t threads;
        Forms expected;
    };
    const Row rows[] = {
            // Only a ring of its rows stays in L2, which has to have room for that.
            {"56x56",
             56,
             24,
             144,
             1,
             {kApart, kApart, kResidual, kResidual, kResidual, kResidual, kResidual}},
            {"7x7", 7, 160, 960, 1, {kPair, kPair, kPair, kPair, kPair, kPair, kPair}},
            {"7x7 of four threads", 7, 160, 960, 4, Forms(7, kPair)},
            {"7x7 of eight threads", 7, 160, 960, 8, Forms(7, kPair)},
    };
    for (const Row& row : rows) {
        for (size_t i = 0; i < row.expected.size(); ++i) {
            const Processor processor = processors()[i];
            const FusedChoice choice = chooseFused(
                    mobileBlock(row.side, row.channels, row.expanded, processor.lanes, row.threads),
                    processor.target);
            EXPECT_EQ(toString(choice.form), toString(row.expected[i]))
                    << row.name << " on " << processor.name << ": " << choice.lost.toString();
        }
    }
}

TEST(FusedChoice, SaysWhyNodesStayApart) {
    const CpuTarget target = cpu_test::sapphireRapids();
    FusedLayers layers = mobileBlock(56, 24, 144, 16, 1);
    layers.multiplier = 2;
    const FusedChoice choice = chooseFused(layers, target);
    EXPECT_EQ(choice.form, Form::NODE_BY_NODE);
    EXPECT_EQ(choice.lost.toString(),
              "inverted residual: takes multipliers, dilations and groups of 1; fused pointwise "
              "depthwise: takes multipliers and dilations of 1");
    layers = mobileBlock(14, 64, 384, 16, 1);
    EXPECT_EQ(whyNot(chooseFused(layers, target).lost, Form::INVERTED_RESIDUAL),
              "the expanded feature map, 294 KiB, stays in L2");
}

TEST(FusedChoice, OfInt8TakesTilesAndFourThreads) {
    FusedLayers layers = mobileBlock(14, 64, 384, 16, 4);
    layers.isInt8 = true;
    layers.isFloat = false;
    layers.expansion = layers.expansion.ofInt8();
    EXPECT_EQ(chooseFused(layers, cpu_test::sapphireRapids()).form, Form::FUSED_POINTWISE_DEPTHWISE)
            << chooseFused(layers, cpu_test::sapphireRapids()).lost.toString();
    EXPECT_EQ(whyNot(chooseFused(layers, cpu_test::zen4()).lost, Form::FUSED_POINTWISE_DEPTHWISE),
              "avx512vnni has no tiles");
    layers.threads = 3;
    EXPECT_EQ(whyNot(chooseFused(layers, cpu_test::sapphireRapids()).lost,
                     Form::FUSED_POINTWISE_DEPTHWISE),
              "takes 4 threads and more");
}

// ---- Tuning -------------------------------------------------------------------------------------

TEST(CpuTuning, OfX86IsAsMeasuredWhateverItsCaches) {
    const CpuTuning measured;
    for (const CpuTarget& target :
         {cpu_test::zen4(), cpu_test::skylakeX(), cpu_test::sapphireRapids()}) {
        EXPECT_EQ(target.tuning.tiling.workItemBytes, measured.tiling.workItemBytes);
        EXPECT_EQ(target.tuning.vectors.farBytes, measured.vectors.farBytes);
        EXPECT_EQ(target.tuning.invertedResidual.mostRingBytes,
                  measured.invertedResidual.mostRingBytes);
        EXPECT_EQ(target.tuning.scaledTo, 0);
    }
    EXPECT_EQ(cpu_test::sapphireRapids().tuning.l1d.setBytes, 4096);
    EXPECT_EQ(cpu_test::sapphireRapids().tuning.l1d.lines, 12);
}

TEST(CpuTuning, OfSmallerCoresAsksForLessOfTheirCaches) {
    const CpuTarget small = cpu_test::cortexA53();
    const CpuTarget middle = cpu_test::cortexA76();
    const CpuTarget large = cpu_test::cortexX();
    const auto grows = [&](auto member) {
        EXPECT_LE(member(small.tuning), member(middle.tuning));
        EXPECT_LE(member(middle.tuning), member(large.tuning));
        EXPECT_LE(member(large.tuning), member(CpuTuning()));
        EXPECT_LT(member(small.tuning), member(CpuTuning()));
        EXPECT_GE(member(small.tuning), 16 << 10);
    };
    grows([](const CpuTuning& tuning) { return tuning.tiling.workItemBytes; });
    grows([](const CpuTuning& tuning) { return tuning.tiling.fewWeightBytes; });
    grows([](const CpuTuning& tuning) { return tuning.winograd.mostWindowBytes; });
    grows([](const CpuTuning& tuning) { return tuning.vectors.farBytes; });
    grows([](const CpuTuning& tuning) { return tuning.fused.mostWorkItemBytes; });
    grows([](const CpuTuning& tuning) { return tuning.invertedResidual.mostRingBytes; });
    EXPECT_EQ(identityOf(middle.tuning), "Cortex-A7x 512 KiB");
}

// The vectors that the tables have are those of the kernels.
TEST(FormChoice, OfTablesHasTheKernelsVectors) {
    for (const InstructionSet set : availableInstructionSets()) {
        const FloatGemm& form = floatGemm(set);
        EXPECT_EQ(form.tileLanes, 2 * form.lanes);
        EXPECT_EQ(floatDepthwise(set).lanes, form.lanes);
        if (set >= InstructionSet::AVX512 && set <= InstructionSet::AVX512_AMX) {
            EXPECT_EQ(form.lanes, 16);
        }
        if (set >= InstructionSet::NEON) {
            EXPECT_EQ(form.lanes, 4);
        }
    }
}

}  // namespace
}  // namespace halyard::engine::cpu
