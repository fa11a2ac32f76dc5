// SPDX-License-Identifier: Apache-2.0
//
// Executions on CpuAcc at once, of one program and of several, on one pool of threads: each gives
// what it gives alone, whatever shape the others have. Worth most under the thread sanitizer.

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "engine/backends/cpu/cpu_acc.h"
#include "engine/plan/program.h"
#include "tests/engine/graph_building.h"
#include "tests/engine/plan/running.h"
#include "tests/engine/reference/random_values.h"

namespace halyard::engine {
namespace {

using ref_test::RandomValues;

constexpr int32_t kChannels = 16;
constexpr int kClients = 4;
constexpr int kRounds = 6;

template <typename T>
std::vector<T> randomElements(RandomValues& random, size_t count, int32_t most, float scale) {
    std::vector<T> values(count);
    for (T& value : values) {
        value = static_cast<T>(static_cast<float>(random.integer(-most, most)) * scale);
    }
    return values;
}

TensorType bytes(Shape shape, float scale, int32_t zeroPoint) {
    return {.type = DataType::QUANT8_ASYMM_SIGNED,
            .shape = shape,
            .quantization = {.scale = scale, .zeroPoint = zeroPoint, .channelScales = {}}};
}

// x [1, H, W, kChannels], H and W unknown, both in floats and in bytes: convolution, depthwise
// convolution, sum and softmax.
Graph networkOf(RandomValues& random) {
    Graph graph;
    const Shape featureMap = {1, kUnknownDimension, kUnknownDimension, kChannels};
    const Window2d window = {.padding = PaddingScheme::SAME};
    const TensorId x = graph.addTensor(float32(featureMap));
    const auto floats = [&](Shape shape, int32_t count) {
        return addConstant(graph, float32(shape),
                           randomElements<float>(random, static_cast<size_t>(count), 100, 0.002F));
    };
    const TensorId convolved =
            addNode(graph, Conv2d{.window = window, .activation = Activation::RELU},
                    {x, floats({kChannels, 3, 3, kChannels}, 9 * kChannels * kChannels),
                     floats({kChannels}, kChannels)});
    const TensorId filtered = addNode(graph, DepthwiseConv2d{.window = window},
                                      {convolved, floats({1, 3, 3, kChannels}, 9 * kChannels),
                                       floats({kChannels}, kChannels)});

    const auto addBytes = [&](NodeDescriptor node, std::vector<TensorId> inputs) {
        const TensorId output = graph.addTensor(bytes(Shape::unknownRank(), 0.02F, 3));
        graph.addNode({.descriptor = std::move(node),
                       .inputs = std::move(inputs),
                       .outputs = {output},
                       .label = "node",
                       .sources = {}});
        return output;
    };
    const TensorId quantized = addBytes(Quantize(), {x});
    const TensorId weights =
            addConstant(graph, bytes({kChannels, 3, 3, kChannels}, 0.001F, 0),
                        randomElements<int8_t>(random, 9 * kChannels * kChannels, 100, 1.0F));
    TensorType biasType = int32({kChannels});
    biasType.quantization.scale = 0.02F * 0.001F;
    const TensorId bias =
            addConstant(graph, biasType, randomElements<int32_t>(random, kChannels, 1000, 1.0F));
    const TensorId product = addBytes(Conv2d{.window = window}, {quantized, weights, bias});
    const TensorId sum = addSum(graph, filtered, addNode(graph, Dequantize(), {product}));
    graph.setInputs({x});
    graph.setOutputs({addNode(graph, Softmax(), {sum})});
    return graph;
}

struct Client {
    Shape shape;
    Floats input;
    Floats expected;

    Client(RandomValues& random, const std::shared_ptr<const Program>& program, int32_t extent)
        : shape({1, extent, extent + 1, kChannels}),
          input(randomElements<float>(random, static_cast<size_t>(*shape.elementCount()), 100,
                                      0.01F)),
          expected(input.size()) {
        Execution execution = Execution::create(program).value();
        EXPECT_TRUE(run(execution, expected).ok());
    }

    Status run(Execution& execution, Floats& output) const {
        return runOnce(execution, {bindInput(std::span<const float>(input), shape)},
                       {bindOutput(output)});
    }
};

// Client i executes programs[i % programs.size()].
void expectTheSameAtOnce(const std::vector<std::shared_ptr<const Program>>& programs,
                         RandomValues& random) {
    std::vector<Client> clients;
    for (int i = 0; i < kClients; ++i) {
        clients.emplace_back(random, programs[static_cast<size_t>(i) % programs.size()],
                             random.integer(3, 24));
    }
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (size_t i = 0; i < clients.size(); ++i) {
        threads.emplace_back([&, i] {
            const Client& client = clients[i];
            Execution execution = Execution::create(programs[i % programs.size()]).value();
            for (int round = 0; round < kRounds; ++round) {
                Floats output(client.expected.size());
                if (!client.run(execution, output).ok() || output != client.expected) {
                    ++wrong;
                }
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(wrong, 0);
}

std::shared_ptr<const Program> programOf(RandomValues& random, const Backend& backend,
                                         const std::shared_ptr<ThreadPool>& threads) {
    return buildOrDie(networkOf(random), {&backend}, threads);
}

TEST(ConcurrentExecutionsOnCpuAcc, OfOneProgramDoNotMix) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    const auto backend = makeCpuAcc();
    expectTheSameAtOnce({programOf(random, *backend, std::make_shared<ThreadPool>(3))}, random);
}

TEST(ConcurrentExecutionsOnCpuAcc, OfSeveralProgramsDoNotMix) {
    RandomValues random;
    SCOPED_TRACE(random.seedText());
    const auto backend = makeCpuAcc();
    const auto threads = std::make_shared<ThreadPool>(3);
    expectTheSameAtOnce({programOf(random, *backend, threads), programOf(random, *backend, threads),
                         programOf(random, *backend, threads)},
                        random);
}

}  // namespace
}  // namespace halyard::engine
