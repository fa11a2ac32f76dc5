// SPDX-License-Identifier: Apache-2.0
//
// A graph made by hand, compiled and run through the engine's front door alone: no driver, no
// Android. Two layers give three scores, which sum to 1, to four measurements of a flower.
//
//   classify [-c BACKEND[,BACKEND]...] measurements=5.1,3.5,1.4,0.2
//
// prints "scores=0.98,0.02,0.00". Backends go by the names and options of the service's -c:
// CpuRef, CpuAcc:features=avx2. Ends with 2 where the command line makes no sense, with 1 where the
// graph can't be compiled or run.

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "engine/compile/backend_choice.h"
#include "engine/compile/backends.h"
#include "engine/compile/compile.h"
#include "engine/graph/graph.h"
#include "engine/plan/program.h"

namespace {

using namespace halyard;          // NOLINT(google-build-using-namespace)
using namespace halyard::engine;  // NOLINT(google-build-using-namespace)

constexpr int32_t kMeasurements = 4;
constexpr int32_t kHidden = 2;
constexpr int32_t kScores = 3;

// Weights go by [units, inputs].
constexpr std::array<float, kHidden* kMeasurements> kHiddenWeights = {0.5F,   1.0F,  -1.25F, -1.0F,
                                                                      -0.25F, -0.5F, 0.75F,  1.5F};
constexpr std::array<float, kHidden> kHiddenBias = {0.25F, -1.0F};
constexpr std::array<float, kScores* kHidden> kScoreWeights = {1.5F,  -1.5F, 0.25F,
                                                               0.25F, -2.0F, 1.0F};
constexpr std::array<float, kScores> kScoreBias = {0.0F, 0.5F, -1.0F};

TensorType floats(Shape shape) {
    return {.type = DataType::FLOAT32, .shape = shape, .quantization = {}};
}

Result<TensorId> addWeights(Graph& graph, Shape shape, std::span<const float> values) {
    return graph.addConstant(
            floats(shape),
            {.owner = nullptr,
             .bytes = {reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()}});
}

Result<Graph> makeGraph() {
    Graph graph;
    const TensorId measurements = graph.addTensor(floats({1, kMeasurements}), "measurements");
    const TensorId hidden = graph.addTensor(floats({1, kHidden}), "hidden");
    const TensorId sums = graph.addTensor(floats({1, kScores}));
    const TensorId scores = graph.addTensor(floats({1, kScores}), "scores");
    HALYARD_ASSIGN_OR_RETURN(const TensorId weights,
                             addWeights(graph, {kHidden, kMeasurements}, kHiddenWeights));
    HALYARD_ASSIGN_OR_RETURN(const TensorId bias, addWeights(graph, {kHidden}, kHiddenBias));
    HALYARD_ASSIGN_OR_RETURN(const TensorId scoreWeights,
                             addWeights(graph, {kScores, kHidden}, kScoreWeights));
    HALYARD_ASSIGN_OR_RETURN(const TensorId scoreBias, addWeights(graph, {kScores}, kScoreBias));
    graph.setInputs({measurements});
    graph.addNode({.descriptor = FullyConnected{.activation = Activation::RELU},
                   .inputs = {measurements, weights, bias},
                   .outputs = {hidden},
                   .label = "hidden layer",
                   .sources = {}});
    graph.addNode({.descriptor = FullyConnected{},
                   .inputs = {hidden, scoreWeights, scoreBias},
                   .outputs = {sums},
                   .label = "score layer",
                   .sources = {}});
    graph.addNode({.descriptor = Softmax{},
                   .inputs = {sums},
                   .outputs = {scores},
                   .label = "softmax",
                   .sources = {}});
    graph.setOutputs({scores});
    return graph;
}

struct CommandLine {
    std::vector<BackendChoice> backends;
    std::string input;  // its name
    std::vector<float> values;
};

Result<CommandLine> parse(std::span<char* const> words) {
    CommandLine line;
    for (size_t i = 0; i < words.size(); ++i) {
        std::string_view word = words[i];
        if (word == "-c" && i + 1 < words.size()) {
            std::string_view rest = words[++i];
            while (!rest.empty()) {
                const std::string_view name = rest.substr(0, rest.find(','));
                rest.remove_prefix(std::min(name.size() + 1, rest.size()));
                HALYARD_ASSIGN_OR_RETURN(BackendChoice choice, parseBackendChoice(name));
                line.backends.push_back(std::move(choice));
            }
            continue;
        }
        const size_t equals = word.find('=');
        if (equals == std::string_view::npos || !line.input.empty()) {
            return invalidArgument("usage: classify [-c BACKENDS] measurements=A,B,C,D");
        }
        line.input = word.substr(0, equals);
        const char* at = word.data() + equals + 1;
        for (char* end = nullptr; *at != '\0'; at = *end == ',' ? end + 1 : end) {
            line.values.push_back(std::strtof(at, &end));
            if (end == at || (*end != ',' && *end != '\0')) {
                return invalidArgument("\"" + std::string(at) + "\" begins with no number");
            }
        }
    }
    return line;
}

Status classify(const CommandLine& line) {
    HALYARD_ASSIGN_OR_RETURN(const OwnedBackends backends, openBackends(line.backends));
    HALYARD_ASSIGN_OR_RETURN(Graph graph, makeGraph());
    HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<const Program> program,
                             compile(std::move(graph), listOf(backends)));
    const std::optional<size_t> position = program->graph().inputNamed(line.input);
    if (!position.has_value()) {
        return invalidArgument("the graph has no input \"" + line.input + "\"");
    }
    std::vector<InputBinding> inputs(program->graph().inputs().size());
    inputs[*position] = {.bytes = {reinterpret_cast<const uint8_t*>(line.values.data()),
                                   line.values.size() * sizeof(float)},
                         .shape = {1, static_cast<int32_t>(line.values.size())}};
    std::array<float, kScores> scores = {};
    const OutputBinding output = {
            .bytes = {reinterpret_cast<uint8_t*>(scores.data()), sizeof scores}};
    HALYARD_ASSIGN_OR_RETURN(Execution execution, Execution::create(program));
    HALYARD_RETURN_IF_ERROR(execution.run(inputs, {&output, 1}, {}, nullptr));
    const TensorId result = program->graph().outputs().front();
    std::printf("%s=%.6f,%.6f,%.6f\n", program->graph().tensor(result).name.c_str(), scores[0],
                scores[1], scores[2]);
    return {};
}

}  // namespace

int main(int argc, char** argv) {
    const Result<CommandLine> line = parse(std::span(argv, static_cast<size_t>(argc)).subspan(1));
    const Status done = line.ok() ? classify(*line) : line.status();
    if (!done.ok()) {
        std::fprintf(stderr, "classify: %s\n", std::string(done.message()).c_str());
    }
    return done.ok() ? 0 : line.ok() ? 1 : 2;
}
