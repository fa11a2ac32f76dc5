// SPDX-License-Identifier: Apache-2.0
//
// Programs run as they should, through the C++ header: known values, constants that are borrowed,
// shapes that only a run tells, control flow, saving and loading, placements and profiles.

#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#include "claims.h"
#include "halyard/backend.h"  // both headers go together
#include "halyard/halyard.hpp"

namespace {

using halyard::Execution;
using halyard::Graph;
using halyard::Input;
using halyard::Output;
using halyard::Program;
using halyard::Runtime;
using halyard::Status;
using halyard::Tensor;

constexpr int32_t kRows = 3;
constexpr int32_t kColumns = 40;
constexpr int32_t kUnits = 17;

void works(const Status& status, int line) {
    claim(status.ok() ? 1 : 0, "is OK", status.message().c_str(), line);
}
#define WORKS(expression) works((expression), __LINE__)

template <typename T>
T taken(halyard::Result<T> result, int line) {
    works(result.status(), line);
    return std::move(result).value();
}
#define TAKE(expression) taken((expression), __LINE__)

std::vector<float> countUp(size_t count, float step) {
    std::vector<float> values(count);
    for (size_t i = 0; i < count; ++i) {
        values[i] = static_cast<float>(i % 23) * step - 1.0F;
    }
    return values;
}

// y = x * weights + bias, weights borrowed, x [rows, 40] with any number of rows.
Graph layer(std::span<const float> weights, std::shared_ptr<const void> owner,
            std::span<const float> bias) {
    Graph graph = TAKE(Graph::create());
    const Tensor x = TAKE(graph.addTensor({.shape = {-1, kColumns}}, "x"));
    const Tensor w = TAKE(graph.addConstant({.shape = {kUnits, kColumns}}, weights, owner));
    const Tensor b = TAKE(graph.addConstant({.shape = {kUnits}}, bias));
    const Tensor y = TAKE(graph.addTensor({.shape = {-1, kUnits}}, "y"));
    WORKS(graph.addNode("FullyConnected", {{"activation", "NONE"}}, {x, w, b}, {y}, "layer"));
    WORKS(graph.setInputs({x}));
    WORKS(graph.setOutputs({y}));
    return graph;
}

std::vector<float> runLayer(Execution& execution, std::span<const float> x) {
    std::vector<float> y(kRows * kUnits);
    const Input input = Input::of(x, {kRows, kColumns});
    Output output = Output::of(std::span(y));
    WORKS(execution.run({&input, 1}, {&output, 1}));
    CLAIM((output.shape == std::vector<int32_t>{kRows, kUnits}));
    CLAIM(output.size == y.size() * sizeof(float));
    return y;
}

void computesAndSaves(const Runtime& runtime) {
    auto weights = std::make_shared<std::vector<float>>(countUp(kUnits * kColumns, 0.25F));
    const std::weak_ptr<std::vector<float>> watched = weights;
    const std::vector<float> bias = countUp(kUnits, 1.0F);
    const std::vector<float> x = countUp(kRows * kColumns, 0.5F);
    std::vector<float> expected;
    for (int32_t row = 0; row < kRows; ++row) {
        for (int32_t unit = 0; unit < kUnits; ++unit) {
            expected.push_back(std::inner_product(
                    x.begin() + row * kColumns, x.begin() + (row + 1) * kColumns,
                    weights->begin() + unit * kColumns, bias[static_cast<size_t>(unit)]));
        }
    }
    {
        Graph graph = layer(*weights, weights, bias);
        weights = nullptr;
        CLAIM(!watched.expired());
        Program program = TAKE(Program::compile(runtime, graph));
        Execution execution = TAKE(Execution::create(program));
        // Quarters and halves: every sum is exact in any order.
        const std::vector<float> y = runLayer(execution, x);
        CLAIM(y == expected);

        const std::vector<std::byte> saved = TAKE(program.save());
        const Program loaded = TAKE(Program::load(runtime, saved));
        Execution again = TAKE(Execution::create(loaded));
        CLAIM(runLayer(again, x) == y);
        std::vector<std::byte> damaged = saved;
        damaged[saved.size() / 2] ^= std::byte{1};
        CLAIM(Program::load(runtime, damaged).status().code() == HALYARD_INVALID_ARGUMENT);
        CLAIM(!Program::load(runtime, std::span(saved).first(saved.size() - 1)).ok());

        std::FILE* const stream = std::tmpfile();
        const int file = fileno(stream);
        WORKS(program.save(file));
        CLAIM(lseek(file, 0, SEEK_CUR) == static_cast<off_t>(saved.size()));
        lseek(file, 0, SEEK_SET);
        const Program fromFile = TAKE(Program::load(runtime, file));
        std::fclose(stream);
        Execution third = TAKE(Execution::create(fromFile));
        CLAIM(runLayer(third, x) == y);
    }
    CLAIM(watched.expired());
}

void tellsOfItsTensors(const Runtime& runtime) {
    const std::vector<float> weights(kUnits * kColumns, 1.0F);
    const std::vector<float> bias(kUnits, 0.0F);
    const Program program = TAKE(Program::compile(runtime, layer(weights, nullptr, bias)));
    CLAIM(program.inputCount() == 1 && program.outputCount() == 1);
    CLAIM(TAKE(program.findInput("x")) == 0 && TAKE(program.findOutput("y")) == 0);
    const halyard_tensor_info x = TAKE(program.input(0));
    CLAIM(std::strcmp(x.name, "x") == 0 && std::strcmp(x.type, "FLOAT32") == 0);
    CLAIM(x.shape.rank == 2 && x.shape.extents[0] == -1 && x.shape.extents[1] == kColumns);
    CLAIM(x.size == 0 && x.alignment == 4);
}

void tellsWhereNodesRunAndWhatTheyTake(const Runtime& runtime) {
    const std::vector<float> weights(kUnits * kColumns, 1.0F);
    const std::vector<float> bias(kUnits, 0.0F);
    const Program program = TAKE(Program::compile(runtime, layer(weights, nullptr, bias)));
    const std::vector<halyard::Placement> nodes = program.placement();
    CLAIM(nodes.size() == 1 && nodes[0].label == "layer" && nodes[0].kind == "FullyConnected");
    CLAIM(nodes[0].backend == "CpuAcc" && !nodes[0].kernel.empty());
    CLAIM(nodes[0].lostForms.find("bf16 split GEMM on AMX: ") != std::string::npos);

    const Runtime other = TAKE(Runtime::create({.backends = "CpuRef"}));
    CLAIM((other.backends() == std::vector<std::string>{"CpuRef"}));
    const Program plain = TAKE(Program::compile(other, layer(weights, nullptr, bias)));
    CLAIM(plain.placement().front().lostForms.empty());
    CLAIM((runtime.backends() == std::vector<std::string>{"CpuAcc", "CpuRef"}));

    Execution execution = TAKE(Execution::create(program));
    const std::vector<float> x(kRows * kColumns, 1.0F);
    std::vector<float> y(kRows * kUnits);
    const Input input = Input::of(std::span<const float>(x), {kRows, kColumns});
    Output output = Output::of(std::span(y));
    CLAIM(execution.profile().empty());
    for (int i = 0; i < 3; ++i) {
        WORKS(execution.run({&input, 1}, {&output, 1}, {.profile = true}));
    }
    const std::vector<halyard_node_profile> lines = execution.profile();
    CLAIM(lines.size() == 1 && std::strcmp(lines[0].label, "layer") == 0);
    CLAIM(std::strcmp(lines[0].backend, "CpuAcc") == 0 && nodes[0].kernel == lines[0].kernel);
    // Only a run tells how many rows there are.
    CLAIM(lines[0].multiply_adds == 0);
}

// A node that no backend but CpuRef takes tells which refused it and why.
void tellsWhoRefused(const Runtime& runtime) {
    Graph graph = TAKE(Graph::create());
    const Tensor x = TAKE(graph.addTensor({.shape = {4}}, "x"));
    const Tensor values = TAKE(graph.addTensor({.shape = {2}}));
    const Tensor indices = TAKE(graph.addTensor({.type = "INT32", .shape = {2}}));
    WORKS(graph.addNode("TopK", {{"k", 2}}, {x}, {values, indices}));
    WORKS(graph.setInputs({x}));
    WORKS(graph.setOutputs({values, indices}));
    const Program program = TAKE(Program::compile(runtime, graph));
    const std::vector<halyard::Placement> nodes = program.placement();
    CLAIM(nodes.size() == 1 && nodes[0].label == "node 0 (TopK)" && nodes[0].backend == "CpuRef");
    CLAIM(nodes.size() == 1 && nodes[0].refusals.size() == 1);
    if (claims_failed == 0) {
        CLAIM(nodes[0].refusals[0].first == "CpuAcc");
        CLAIM(nodes[0].refusals[0].second == "has no tuned kernel for TopK");
    }
}

// while (x < limit) x = x + x, with both graphs inside the node.
Graph doubling(float limit) {
    Graph condition = TAKE(Graph::create());
    const Tensor c = TAKE(condition.addTensor({.shape = {1}}));
    const Tensor most =
            TAKE(condition.addConstant({.shape = {1}}, std::span<const float>(&limit, 1)));
    const Tensor less = TAKE(condition.addTensor({.type = "BOOL8", .shape = {1}}));
    WORKS(condition.addNode("Compare", {{"function", "LESS"}}, {c, most}, {less}));
    WORKS(condition.setInputs({c}));
    WORKS(condition.setOutputs({less}));
    Graph body = TAKE(Graph::create());
    const Tensor before = TAKE(body.addTensor({.shape = {1}}));
    const Tensor after = TAKE(body.addTensor({.shape = {1}}));
    WORKS(body.addNode("Binary", {{"function", "ADD"}}, {before, before}, {after}));
    WORKS(body.setInputs({before}));
    WORKS(body.setOutputs({after}));
    Graph graph = TAKE(Graph::create());
    const Tensor x = TAKE(graph.addTensor({.shape = {1}}, "x"));
    const Tensor y = TAKE(graph.addTensor({.shape = {1}}, "y"));
    WORKS(graph.addNode("While", {{"condition", condition}, {"body", body}}, {x}, {y}));
    WORKS(graph.setInputs({x}));
    WORKS(graph.setOutputs({y}));
    return graph;
}

Status runDoubling(Execution& execution, float x, float& y, const halyard::RunOptions& options) {
    const Input input = Input::of(std::span<const float>(&x, 1), {1});
    Output output = Output::of(std::span(&y, 1));
    return execution.run({&input, 1}, {&output, 1}, options);
}

void runsControlFlowAndStops(const Runtime& runtime) {
    const Program program = TAKE(Program::compile(runtime, doubling(100.0F)));
    Execution execution = TAKE(Execution::create(program));
    float y = 0.0F;
    WORKS(runDoubling(execution, 3.0F, y, {}));
    CLAIM(y == 192.0F);

    // From 0 it never ends by itself.
    const Status late = runDoubling(execution, 0.0F, y, {.timeout = std::chrono::milliseconds(20)});
    CLAIM(late.code() == HALYARD_DEADLINE_EXCEEDED);
    std::atomic<bool> begun = false;
    std::thread other([&] {
        while (!begun) {
        }
        execution.cancel();
    });
    begun = true;
    const Status stopped = runDoubling(execution, 0.0F, y, {});
    CLAIM(stopped.code() == HALYARD_STOPPED);
    other.join();
    WORKS(runDoubling(execution, 3.0F, y, {}));
    execution.cancel();
    CLAIM(runDoubling(execution, 3.0F, y, {}).code() == HALYARD_STOPPED);
    WORKS(runDoubling(execution, 3.0F, y, {}));

    halyard_run_options options = {};
    options.struct_size = sizeof options;
    options.should_stop = [](void* asked) {
        return ++*static_cast<std::atomic<int>*>(asked) > 3 ? 1 : 0;
    };
    std::atomic<int> asked = 0;
    options.stop_context = &asked;
    const float zero = 0.0F;
    const halyard_input input = {&zero, sizeof zero, {1, {1}}};
    halyard_output output = {};
    output.data = &y;
    output.capacity = sizeof y;
    CLAIM(halyard_execution_run(execution.get(), &input, 1, &output, 1, &options, nullptr) ==
          HALYARD_STOPPED);
    CLAIM(output.shape.rank == -1);
}

// Memory is bounded for all that a runtime's programs and executions hold.
void keepsToItsMemory() {
    const Runtime runtime = TAKE(Runtime::create({.memoryLimit = 1024}));
    const std::vector<float> weights(kUnits * kColumns, 1.0F);
    const std::vector<float> bias(kUnits, 0.0F);
    const Status status = Program::compile(runtime, layer(weights, nullptr, bias)).status();
    CLAIM(status.code() == HALYARD_RESOURCE_EXHAUSTED);

    const Runtime unlimited = TAKE(Runtime::create());
    const Program program = TAKE(Program::compile(unlimited, layer(weights, nullptr, bias)));
    const std::vector<std::byte> saved = TAKE(program.save());
    CLAIM(Program::load(runtime, saved).status().code() == HALYARD_RESOURCE_EXHAUSTED);
    // The bytes count once.
    const Runtime roomy = TAKE(Runtime::create({.memoryLimit = saved.size() * 2 - 1}));
    WORKS(Program::load(roomy, saved).status());
}

}  // namespace

int main() {
    for (const uint32_t threads : {1U, 3U}) {
        const Runtime runtime = TAKE(Runtime::create({.threads = threads}));
        computesAndSaves(runtime);
        tellsOfItsTensors(runtime);
        tellsWhereNodesRunAndWhatTheyTake(runtime);
        tellsWhoRefused(runtime);
        runsControlFlowAndStops(runtime);
    }
    keepsToItsMemory();
    return claims_failed;
}
