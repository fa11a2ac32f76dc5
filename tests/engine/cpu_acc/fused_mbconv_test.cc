// SPDX-License-Identifier: Apache-2.0
//
// Inverted residual blocks of small feature maps that several threads of CpuAcc compute together,
// each some of the channels between. Results are CpuRef's, node by node.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/thread_pool.h"
#include "tests/engine/cpu_acc/fused_model.h"

namespace halyard::engine {
namespace {

using fused_test::Model;
using ref_test::RandomValues;
using ref_test::typeOf;
using ref_test::Values;

// A block that pays on 2 to 4 threads, unless an option is against it.
struct MbconvOptions {
    bool activates = false;      // behind the expansion
    bool adds = false;           // behind the projection
    bool activatesLast = false;  // behind all
    int32_t batches = 1;
    int32_t channels = 0;  // of the result; 0: some that pay
    int32_t projectionStride = 1;
    bool unknownShape = false;
    bool filteredIsRead = false;
    bool relaxed = false;
    float filterWeight = 0.0F;  // one of the weights; 0: as the others
    float projectionWeight = 0.0F;
};

Model block(RandomValues& random, const MbconvOptions& options) {
    Model model;
    const auto floats = [](const Shape& shape) { return typeOf(DataType::FLOAT32, shape); };
    const auto constant = [&](const Shape& shape, float one = 0.0F) {
        std::vector<float> elements(static_cast<size_t>(shape.elementCount().value()));
        for (float& element : elements) {
            element = static_cast<float>(random.integer(-100, 100)) / 100.0F;
        }
        if (one != 0.0F) {
            elements[static_cast<size_t>(
                    random.integer(0, static_cast<int32_t>(elements.size()) - 1))] = one;
        }
        return model.addConstant(ref_test::pack(floats(shape), elements));
    };
    const auto activation = [&] { return static_cast<Activation>(random.integer(0, 3)); };
    const int32_t depth = random.integer(1, 40);
    const int32_t expanded = random.integer(160, 300);
    const int32_t channels =
            options.channels != 0 ? options.channels : random.integer(1, expanded / 4);
    const int32_t filter = 3 + 2 * random.integer(0, 1);
    Window2d window = {.padding = PaddingScheme::SAME,
                       .strideH = random.integer(1, 2),
                       .strideW = random.integer(1, 2)};
    if (random.coin()) {
        window.padding = PaddingScheme::EXPLICIT;
        for (int32_t* const side : {&window.top, &window.bottom, &window.left, &window.right}) {
            *side = random.integer(0, filter + 1);
        }
    }
    const int32_t height = random.integer(filter, 17);
    const int32_t width = random.integer(filter, 17);
    const TensorId x = model.addInput(
            random.values(floats({options.batches, height, width, depth})), options.unknownShape);
    TensorId last =
            model.addNode(Conv2d{.activation = activation()},
                          {x, constant({expanded, 1, 1, depth}), constant({expanded})}, floats({}));
    if (options.activates) {
        last = model.addNode(Activate{.function = Activate::Function::HARD_SWISH}, {last},
                             floats({}));
    }
    const TensorId filtered =
            model.addNode(DepthwiseConv2d{.window = window, .activation = activation()},
                          {last, constant({1, filter, filter, expanded}, options.filterWeight),
                           constant({expanded})},
                          floats({}));
    const Window2d step = {.strideH = options.projectionStride,
                           .strideW = options.projectionStride};
    last = model.addNode(Conv2d{.window = step, .activation = activation()},
                         {filtered, constant({channels, 1, 1, expanded}, options.projectionWeight),
                          constant({channels})},
                         floats({}));
    std::vector<TensorId> inputs = {x};
    if (options.adds) {
        const auto extent = [&](int32_t size, int32_t stride, int32_t padding) {
            return window.padding == PaddingScheme::SAME ? (size + stride - 1) / stride
                                                         : (size + padding - filter) / stride + 1;
        };
        inputs.push_back(model.addInput(random.values(
                floats({options.batches, extent(height, window.strideH, window.top + window.bottom),
                        extent(width, window.strideW, window.left + window.right), channels}))));
        std::vector<TensorId> operands = {last, inputs.back()};
        if (random.coin()) {
            std::swap(operands[0], operands[1]);
        }
        last = model.addNode(Binary{.function = Binary::Function::ADD, .activation = activation()},
                             operands, floats({}));
    }
    if (options.activatesLast) {
        last = model.addNode(Activate{.function = Activate::Function::HARD_SWISH}, {last},
                             floats({}));
    }
    std::vector<TensorId> outputs = {last};
    if (options.filteredIsRead) {
        outputs.push_back(filtered);
    }
    model.finish(inputs, outputs);
    model.graph.setRelaxedFloat(options.relaxed);
    return model;
}
// On one thread the nodes are not one step.
void expectFused(const Model& model, size_t nodes) {
    fused_test::expectTogether(model, "inverted_residual_float by channels",
                               [&](size_t threads) { return threads > 1 ? nodes : 0; });
}

TEST(FusedMbconv, IsThatOfTheNodesOneByOne) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (int round = 0; round < 16 && !testing::Test::HasFailure(); ++round) {
        SCOPED_TRACE("round " + std::to_string(round));
        const bool activates = round % 2 == 1;
        const bool adds = round % 4 >= 2;
        const bool activatesLast = round % 8 >= 4;
        expectFused(block(random,
                          {.activates = activates, .adds = adds, .activatesLast = activatesLast}),
                    3U + (activates ? 1U : 0U) + (adds ? 1U : 0U) + (activatesLast ? 1U : 0U));
    }
}

TEST(FusedMbconv, TakesWeightsThatAreNotFinite) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    for (const float weight :
         {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
        expectFused(block(random, {.filterWeight = weight}), 3);
        expectFused(block(random, {.projectionWeight = weight}), 3);
    }
}

TEST(FusedMbconv, StaysApartWhereItDoesNotPayOrOthersSeeIt) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    expectFused(block(random, {.channels = 151}), 0);
    expectFused(block(random, {.batches = 2}), 0);
    expectFused(block(random, {.projectionStride = 2}), 0);
    expectFused(block(random, {.unknownShape = true}), 0);
    expectFused(block(random, {.filteredIsRead = true}), 0);
    expectFused(block(random, {.relaxed = true}), 0);
}

// Each thread writes a part: with more threads than that, parts are more than what they replace.
TEST(FusedMbconv, StaysApartOnMoreThreadsThanPay) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    const auto tuned = makeCpuAcc();
    const Model model = block(random, {.channels = 40});  // of 160 to 300
    const auto countOn = [&](size_t threads) {
        const auto program = fused_test::build(model, *tuned, threads);
        return std::ranges::count_if(program->placement(), [](const NodePlacement& node) {
            return node.kernel.find("by channels") != std::string::npos;
        });
    };
    EXPECT_EQ(countOn(2), 3);
    EXPECT_EQ(countOn(8), 0);
}

TEST(FusedMbconv, AddsUpInOneOrderWhicheverThreadsCome) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    const auto tuned = makeCpuAcc();
    for (const size_t threads : {size_t{2}, size_t{3}, size_t{4}}) {
        SCOPED_TRACE("threads: " + std::to_string(threads));
        const Model model = block(random, {.adds = true});
        const auto pool = std::make_shared<ThreadPool>(threads);
        const BackendList backends = {tuned.get()};
        const auto program = Program::build(model.graph, backends, pool).value();
        const std::vector<std::vector<uint8_t>> together = fused_test::run(model, program).outputs;
        const ThreadLease others = ThreadLease::take(pool.get());
        EXPECT_EQ(fused_test::run(model, program).outputs, together);
    }
}

}  // namespace
}  // namespace halyard::engine
