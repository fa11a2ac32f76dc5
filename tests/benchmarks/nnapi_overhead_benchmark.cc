// SPDX-License-Identifier: Apache-2.0
//
// Prints what NNAPI's C functions take beside the engine alone, for a layer that takes next to
// nothing: `ninja nnapi_overhead_benchmark`. Nothing runs it as a test, since its figures depend on
// what else the machine does.
//
// A row is one way of computing it, timed call by call, in turns with the others: the median and
// the 99th percentile.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <variant>
#include <vector>

#include "engine/plan/program.h"
#include "nnapi/compilation.h"

namespace halyard {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kUnits = 16;
constexpr int kRounds = 20000;

void require(int code) {
    if (code != ANEURALNETWORKS_NO_ERROR) {
        std::fprintf(stderr, "a call gives %d\n", code);
        std::exit(EXIT_FAILURE);
    }
}

ANeuralNetworksModel* layer() {
    static const std::vector<float> weights(size_t{kUnits} * kUnits, 0.5F);
    static const std::vector<float> biases(kUnits, 1.0F);
    const uint32_t vector[] = {1, kUnits};
    const uint32_t matrix[] = {kUnits, kUnits};
    const uint32_t units[] = {kUnits};
    const auto floats = [](uint32_t rank, const uint32_t* dimensions) {
        return ANeuralNetworksOperandType{.type = ANEURALNETWORKS_TENSOR_FLOAT32,
                                          .dimensionCount = rank,
                                          .dimensions = dimensions,
                                          .scale = 0.0F,
                                          .zeroPoint = 0};
    };
    ANeuralNetworksOperandType scalar = floats(0, nullptr);
    scalar.type = ANEURALNETWORKS_INT32;
    ANeuralNetworksModel* model = nullptr;
    require(ANeuralNetworksModel_create(&model));
    for (const ANeuralNetworksOperandType& type :
         {floats(2, vector), floats(2, matrix), floats(1, units), scalar, floats(2, vector)}) {
        require(ANeuralNetworksModel_addOperand(model, &type));
    }
    const int32_t none = ANEURALNETWORKS_FUSED_NONE;
    require(ANeuralNetworksModel_setOperandValue(model, 1, weights.data(),
                                                 weights.size() * sizeof(float)));
    require(ANeuralNetworksModel_setOperandValue(model, 2, biases.data(),
                                                 biases.size() * sizeof(float)));
    require(ANeuralNetworksModel_setOperandValue(model, 3, &none, sizeof none));
    const uint32_t inputs[] = {0, 1, 2, 3};
    const uint32_t output = 4;
    require(ANeuralNetworksModel_addOperation(model, ANEURALNETWORKS_FULLY_CONNECTED, 4, inputs, 1,
                                              &output));
    require(ANeuralNetworksModel_identifyInputsAndOutputs(model, 1, inputs, 1, &output));
    require(ANeuralNetworksModel_finish(model));
    return model;
}

struct Row {
    const char* title;
    std::function<void()> compute;
    std::vector<int64_t> nanoseconds = {};
};

void print(Row& row) {
    std::ranges::sort(row.nanoseconds);
    std::printf("%-44s %8lld %8lld\n", row.title,
                static_cast<long long>(row.nanoseconds[row.nanoseconds.size() / 2]),
                static_cast<long long>(row.nanoseconds[row.nanoseconds.size() * 99 / 100]));
}

void run() {
    ANeuralNetworksModel* const model = layer();
    ANeuralNetworksCompilation* compilation = nullptr;
    require(ANeuralNetworksCompilation_create(model, &compilation));
    require(ANeuralNetworksCompilation_finish(compilation));
    const auto& step = std::get<nnapi::RunStep>(compilation->compiled()->plan.steps.front());
    // The prepared model keeps it.
    const std::shared_ptr<const engine::Program> program(step.prepared, step.prepared->program());
    engine::Execution direct = engine::Execution::create(program).value();
    std::vector<float> input(kUnits, 1.0F);
    std::vector<float> output(kUnits);
    const size_t bytes = kUnits * sizeof(float);
    const engine::InputBinding in = {
            .bytes = {reinterpret_cast<const uint8_t*>(input.data()), bytes},
            .shape = engine::Shape({1, kUnits})};
    const engine::OutputBinding out = {.bytes = {reinterpret_cast<uint8_t*>(output.data()), bytes}};
    engine::ExecutionReport report;
    ANeuralNetworksExecution* reusable = nullptr;
    require(ANeuralNetworksExecution_create(compilation, &reusable));
    require(ANeuralNetworksExecution_setReusable(reusable, true));
    require(ANeuralNetworksExecution_setInput(reusable, 0, nullptr, input.data(), bytes));
    require(ANeuralNetworksExecution_setOutput(reusable, 0, nullptr, output.data(), bytes));
    ANeuralNetworksBurst* burst = nullptr;
    require(ANeuralNetworksBurst_create(compilation, &burst));
    const auto anew = [&](ANeuralNetworksBurst* with) {
        ANeuralNetworksExecution* execution = nullptr;
        require(ANeuralNetworksExecution_create(compilation, &execution));
        require(ANeuralNetworksExecution_setInput(execution, 0, nullptr, input.data(), bytes));
        require(ANeuralNetworksExecution_setOutput(execution, 0, nullptr, output.data(), bytes));
        require(with == nullptr ? ANeuralNetworksExecution_compute(execution)
                                : ANeuralNetworksExecution_burstCompute(execution, with));
        ANeuralNetworksExecution_free(execution);
    };
    std::vector<Row> rows = {
            {"the engine alone",
             [&] {
                 if (!direct.run({&in, 1}, {&out, 1}, {}, &report).ok()) {
                     std::abort();
                 }
             }},
            {"compute() of a reusable execution",
             [&] { require(ANeuralNetworksExecution_compute(reusable)); }},
            {"create, set, burstCompute(), free", [&] { anew(burst); }},
            {"create, set, compute(), free", [&] { anew(nullptr); }},
    };
    for (int round = 0; round < kRounds; ++round) {
        for (Row& row : rows) {
            const Clock::time_point begin = Clock::now();
            row.compute();
            row.nanoseconds.push_back((Clock::now() - begin).count());
        }
    }
    std::printf("%-44s %8s %8s\n", "nanoseconds", "median", "p99");
    std::ranges::for_each(rows, print);
    ANeuralNetworksBurst_free(burst);
    ANeuralNetworksExecution_free(reusable);
    ANeuralNetworksCompilation_free(compilation);
    ANeuralNetworksModel_free(model);
}

}  // namespace
}  // namespace halyard

int main() {
    setenv("HALYARD_NNAPI_DEVICES", "in-process --number-of-threads 1", 1);
    halyard::run();
    return 0;
}
