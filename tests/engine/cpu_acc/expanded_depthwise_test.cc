// SPDX-License-Identifier: Apache-2.0
//
// Depthwise convolutions of small pictures that CpuAcc computes together with the convolution by
// one pixel before them. Results are CpuRef's, node by node.

#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/engine/cpu_acc/fused_model.h"

namespace halyard::engine {
namespace {

using fused_test::Model;
using ref_test::RandomValues;
using ref_test::typeOf;
using ref_test::Values;

struct ExpandedOptions {
    bool activates = false;      // between the two
    bool activatesLast = false;  // behind the two
    int32_t most = 24;           // lines and columns of the picture
    int32_t reach = 1;           // of the first convolution
    int32_t filter = 0;          // of the second; 0: one that fits
    int32_t dilation = 1;
    int32_t multiplier = 1;
    bool unknownShape = false;
    bool readTwice = false;  // the expanded picture is
    bool relaxed = false;
    float weight = 0.0F;  // one of the second convolution's; 0: as the others
};

Model expandedDepthwise(RandomValues& random, const ExpandedOptions& options) {
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
    const Shape picture = {random.integer(1, 2), random.integer(least, options.most),
                           random.integer(least, options.most), depth};
    if (random.coin()) {
        window.padding = PaddingScheme::EXPLICIT;
        for (int32_t* const side : {&window.top, &window.bottom, &window.left, &window.right}) {
            *side = random.integer(0, filter + 1);
        }
    }
    const TensorId x = model.addInput(random.values(floats(picture)), options.unknownShape);
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
    fused_test::expectTogether(model, "expanded_depthwise", nodes);
}

TEST(ExpandedDepthwise, IsComputedChannelByChannel) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 16 && !testing::Test::HasFailure(); ++round) {
        SCOPED_TRACE("round " + std::to_string(round));
        const bool activates = round % 2 == 1;
        const bool activatesLast = round % 4 >= 2;
        expectTogether(
                expandedDepthwise(random, {.activates = activates, .activatesLast = activatesLast}),
                2U + (activates ? 1U : 0U) + (activatesLast ? 1U : 0U));
    }
}

TEST(ExpandedDepthwise, LeavesOutWhatLiesBesideThePicture) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const float weight :
         {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
        expectTogether(expandedDepthwise(random, {.weight = weight}), 2);
    }
}

TEST(ExpandedDepthwise, StaysApartWhereItDoesNotPayOrOthersSeeIt) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    expectTogether(expandedDepthwise(random, {.unknownShape = true}), 0);
    expectTogether(expandedDepthwise(random, {.readTwice = true}), 0);
    expectTogether(expandedDepthwise(random, {.reach = 2}), 0);
    expectTogether(expandedDepthwise(random, {.filter = 4}), 0);
    expectTogether(expandedDepthwise(random, {.dilation = 2}), 0);
    expectTogether(expandedDepthwise(random, {.multiplier = 2}), 0);
}

// Their products may be faster in parts of float16's precision, which take rows as they are.
TEST(ExpandedDepthwise, StaysApartInRelaxedModels) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    const auto tuned = makeCpuAcc();
    const auto program = fused_test::build(expandedDepthwise(random, {.relaxed = true}), *tuned, 1);
    for (const NodePlacement& node : program->placement()) {
        EXPECT_EQ(node.kernel.find("expanded_depthwise"), std::string::npos) << node.kernel;
    }
}

}  // namespace
}  // namespace halyard::engine
