// SPDX-License-Identifier: Apache-2.0
//
// Inverted residual blocks that CpuAcc computes as one. Results are CpuRef's, node by node.

#include <gtest/gtest.h>

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

// How a block is made that is large enough to pay.
struct BlockOptions {
    enum class Residual { NONE, OWN_INPUT, OTHER };
    Residual residual = Residual::NONE;
    bool widerExpansion = false;  // not pointwise
    bool unknownShape = false;
    bool readTwice = false;    // the expanded feature map is
    bool showsMiddle = false;  // the filtered feature map is an output of the model
};

Model randomBlock(RandomValues& random, const BlockOptions& options) {
    const bool keepsShape = options.residual == BlockOptions::Residual::OWN_INPUT;
    const int32_t depth = random.integer(1, 40);
    const int32_t expanded = 16 * random.integer(6, 9);
    const int32_t channels = keepsShape ? depth : random.integer(1, 70);
    const int32_t filter = random.integer(0, 3) == 0 ? 5 : 3;
    const auto activation = [&] { return static_cast<Activation>(random.integer(0, 3)); };
    Window2d window = {.padding = PaddingScheme::SAME};
    if (!keepsShape) {
        window.strideH = window.strideW = random.integer(1, 2);
        if (random.coin()) {
            window.padding = PaddingScheme::EXPLICIT;
            window.top = random.integer(0, filter - 1);
            window.bottom = random.integer(0, filter - 1);
            window.left = random.integer(0, filter - 1);
            window.right = random.integer(0, filter - 1);
        }
    }
    Model model;
    const auto floats = [&](Shape shape) { return typeOf(DataType::FLOAT32, shape); };
    const auto constant = [&](Shape shape) {
        const Values values = random.values(floats(shape));
        return model.graph.addConstant(values.type, {.owner = nullptr, .bytes = values.bytes})
                .value();
    };
    const int32_t height = random.integer(38, 60);
    const int32_t width = random.integer(38, 60);
    const int32_t batches = random.integer(1, 2);
    const TensorId x = model.addInput(random.values(floats({batches, height, width, depth})),
                                      options.unknownShape);
    const int32_t reach = options.widerExpansion ? random.integer(2, 3) : 1;
    const TensorId wide = model.addNode(
            Conv2d{.window = {.padding = PaddingScheme::SAME}, .activation = activation()},
            {x, constant({expanded, reach, reach, depth}), constant({expanded})}, floats({}));
    const TensorId filtered = model.addNode(
            DepthwiseConv2d{.window = window, .activation = activation()},
            {wide, constant({1, filter, filter, expanded}), constant({expanded})}, floats({}));
    TensorId result = model.addNode(
            Conv2d{.activation = keepsShape ? Activation::NONE : activation()},
            {filtered, constant({channels, 1, 1, expanded}), constant({channels})}, floats({}));
    std::vector<TensorId> inputs = {x};
    std::vector<TensorId> outputs;
    if (options.residual != BlockOptions::Residual::NONE) {
        TensorId addend = x;
        if (!keepsShape) {
            const auto extent = [&](int32_t size, int32_t before, int32_t behind) {
                return window.padding == PaddingScheme::SAME
                               ? (size + window.strideH - 1) / window.strideH
                               : (size + before + behind - filter) / window.strideH + 1;
            };
            addend = model.addInput(
                    random.values(floats({batches, extent(height, window.top, window.bottom),
                                          extent(width, window.left, window.right), channels})));
            inputs.push_back(addend);
        }
        std::vector<TensorId> operands = {result, addend};
        if (random.coin()) {
            std::swap(operands[0], operands[1]);
        }
        result =
                model.addNode(Binary{.function = Binary::Function::ADD, .activation = activation()},
                              operands, floats({}));
    }
    outputs.push_back(result);
    if (options.readTwice) {
        outputs.push_back(
                model.addNode(Activate{.function = Activate::Function::RELU}, {wide}, floats({})));
    }
    if (options.showsMiddle) {
        outputs.push_back(filtered);
    }
    model.finish(inputs, outputs);
    return model;
}

void expectBlock(const Model& model, size_t nodes) {
    fused_test::expectTogether(model, "inverted_residual", nodes);
}

TEST(InvertedResiduals, AreComputedAsOne) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 9 && !testing::Test::HasFailure(); ++round) {
        SCOPED_TRACE("round " + std::to_string(round));
        const auto residual = static_cast<BlockOptions::Residual>(round % 3);
        expectBlock(randomBlock(random, {.residual = residual, .widerExpansion = round >= 6}),
                    residual == BlockOptions::Residual::NONE ? 3 : 4);
    }
}

TEST(InvertedResiduals, StayApartWhereOthersSeeWhatLiesInside) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    expectBlock(randomBlock(random, {.unknownShape = true}), 0);
    expectBlock(randomBlock(random, {.readTwice = true}), 0);
    expectBlock(randomBlock(random, {.showsMiddle = true}), 0);
}

}  // namespace
}  // namespace halyard::engine
