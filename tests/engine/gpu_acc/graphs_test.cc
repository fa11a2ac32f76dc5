// SPDX-License-Identifier: Apache-2.0
//
// Whole graphs on GpuAcc as GPUs go about them, which PoCL is told to: what is computed together,
// who else reads it, and in which order.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "engine/backends/gpu/gpu_acc.h"
#include "engine/base/log.h"
#include "engine/graph/text.h"
#include "tests/engine/gpu_acc/fake_device.h"
#include "tests/engine/gpu_acc/random_graph.h"
#include "tests/engine/passes/pass_testing.h"

namespace halyard::engine::gpu_test {
namespace {

using std::chrono::steady_clock;

// How long random graphs go on, HALYARD_RANDOM_SECONDS where that is set.
std::chrono::duration<double> patience(double seconds) {
    const char* const wanted = std::getenv("HALYARD_RANDOM_SECONDS");
    return std::chrono::duration<double>(wanted != nullptr ? std::strtod(wanted, nullptr)
                                                           : seconds);
}

// FC(x) + FC(x) and what follows: of which activations, with which outputs besides.
struct Gate {
    Binary::Function function = Binary::Function::ADD;
    Activate::Function behind = Activate::Function::RELU1;  // the gate
    Activate::Function before = Activate::Function::RELU;   // one of its operands
    bool hasBefore = false;
    bool isSwapped = false;
    bool isFirstRead = false;  // elsewhere
    bool isSecondRead = false;
};

Graph gated(pass_test::TestGraph& test, DataType type, const Gate& gate) {
    const TensorType steps = isFloat(type) ? typeOf(type, {}) : typeOf(type, {}, 0.05F, 3);
    const auto of = [&](Shape shape) {
        TensorType made = steps;
        made.shape = shape;
        return made;
    };
    const TensorId x = test.input(of({1, 1, 3, 2}));
    const auto layer = [&] {
        const TensorId weights = test.constant(of({32, 2}));
        const TensorId bias =
                isFloat(type) ? test.constant(typeOf(type, {32}))
                              : test.constant(ref_test::ints({32}, std::vector<int32_t>(32, 5)));
        if (!isFloat(type)) {
            test.graph().mutableTensor(bias).type.quantization.scale = 0.05F * 0.05F;
        }
        return test.node(FullyConnected(), {x, weights, bias}, of({}));
    };
    const TensorId a = layer();
    const TensorId b = layer();
    std::vector<TensorId> outputs;
    const TensorId other =
            gate.hasBefore ? test.node(Activate{.function = gate.before}, {b}, of({})) : b;
    const TensorId first = gate.isSwapped ? other : a;
    const TensorId second = gate.isSwapped ? a : other;
    const TensorId sum = test.node(Binary{.function = gate.function}, {first, second}, of({}));
    outputs.push_back(test.node(Activate{.function = gate.behind}, {sum}, of({})));
    if (gate.isFirstRead) {
        outputs.push_back(a);
    }
    if (gate.isSecondRead) {
        outputs.push_back(b);
    }
    return test.build(outputs);
}

std::vector<Gate> gates() {
    std::vector<Gate> all;
    for (const auto function :
         {Binary::Function::ADD, Binary::Function::SUB, Binary::Function::MUL}) {
        for (unsigned bits = 0; bits < 16; ++bits) {
            all.push_back({.function = function,
                           .hasBefore = (bits & 1U) != 0,
                           .isSwapped = (bits & 2U) != 0,
                           .isFirstRead = (bits & 4U) != 0,
                           .isSecondRead = (bits & 8U) != 0});
        }
    }
    return all;
}

double toleranceOf(DataType type) {
    return type == DataType::FLOAT16 ? 3e-2 : 1e-4;
}

TEST(GpuAccGraphs, OfGatedLayersGiveWhatCpuRefDoes) {
    HALYARD_NEEDS_DEVICE();
    // PoCL takes a second for each kernel: every form is built by the test below.
    const Gate some[] = {{.isSecondRead = true},
                         {.function = Binary::Function::MUL, .hasBefore = true},
                         {.function = Binary::Function::SUB,
                          .hasBefore = true,
                          .isSwapped = true,
                          .isFirstRead = true,
                          .isSecondRead = true}};
    for (const DataType type : {DataType::FLOAT32, DataType::QUANT8_ASYMM}) {
        for (const Gate& gate : some) {
            pass_test::TestGraph test;
            const Graph graph = gated(test, type, gate);
            EXPECT_TRUE(agreesAsAWhole(graph, *backend(GemmKind::AS_GPU), test.random(),
                                       toleranceOf(type)))
                    << toText(graph);
        }
    }
}

TEST(GpuAccGraphs, OfRandomLayersGiveWhatCpuRefDoes) {
    HALYARD_NEEDS_DEVICE();
    RandomValues random;
    const auto end = steady_clock::now() + patience(3);
    int graphs = 0;
    for (; graphs < 2 || steady_clock::now() < end; ++graphs) {
        const DataType type = kReals[graphs / 2 % std::size(kReals)];
        const Graph graph = randomGraph(random, type, random.integer(2, 10));
        const GemmKind gemm = graphs % 2 == 0 ? GemmKind::AS_GPU : GemmKind::AS_LARGE_GPU;
        ASSERT_TRUE(agreesAsAWhole(graph, *backend(gemm), random, toleranceOf(type)))
                << "graph " << graphs << "\n"
                << toText(graph);
    }
    std::printf("%d graphs\n", graphs);
}

// No kernel is compiled there: what is computed together is found and laid out.
class GpuAccGraphsOnAFakeDevice : public OnAFakeDevice {
  protected:
    Status build(const Graph& graph) const {
        HALYARD_ASSIGN_OR_RETURN(AnalyzedGraph analyzed, analyze(graph, {mBackend.get()}, nullptr));
        return Program::build(std::move(analyzed), {mBackend.get()}, {.movesPartitions = false})
                .status();
    }
    void SetUp() override {
        OnAFakeDevice::SetUp();
        if (mLibrary != nullptr) {
            mBackend = open().value();
        }
    }
    void TearDown() override {
        mBackend.reset();
        OnAFakeDevice::TearDown();
    }

    std::unique_ptr<const Backend> mBackend;
};

TEST_F(GpuAccGraphsOnAFakeDevice, OfGatedLayersAreBuilt) {
    for (const DataType type : kReals) {
        for (const Gate& gate : gates()) {
            pass_test::TestGraph test;
            const Graph graph = gated(test, type, gate);
            const Status built = build(graph);
            EXPECT_TRUE(built.ok()) << built.toString() << "\n" << toText(graph);
        }
    }
}

TEST_F(GpuAccGraphsOnAFakeDevice, OfRandomLayersAreBuilt) {
    RandomValues random;
    const auto end = steady_clock::now() + patience(3);
    int graphs = 0;
    for (; graphs < 20 || steady_clock::now() < end; ++graphs) {
        const Graph graph =
                randomGraph(random, kReals[graphs % std::size(kReals)], random.integer(2, 24));
        const Status built = build(graph);
        ASSERT_TRUE(built.ok()) << random.seedText() << ", graph " << graphs << ": "
                                << built.toString() << "\n"
                                << toText(graph);
    }
    std::printf("%d graphs\n", graphs);
}

}  // namespace
}  // namespace halyard::engine::gpu_test
