// SPDX-License-Identifier: Apache-2.0
//
// A graph made by hand, compiled and run with what is installed of Halyard alone: no driver, no
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
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halyard/halyard.hpp"

namespace {

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

// The first failure of several steps, of which those behind it do nothing.
class Building {
  public:
    explicit Building(halyard::Graph& graph) : mGraph(graph) {}

    halyard::Tensor tensor(std::vector<int32_t> shape, const char* name = nullptr) {
        return keep(mGraph.addTensor({.shape = std::move(shape)}, name));
    }
    halyard::Tensor weights(std::vector<int32_t> shape, std::span<const float> values) {
        return keep(mGraph.addConstant({.shape = std::move(shape)}, values));
    }
    void node(const char* kind, std::initializer_list<halyard::Attribute> attributes,
              std::initializer_list<halyard::Tensor> inputs, halyard::Tensor output,
              const char* label) {
        keep(mGraph.addNode(kind, attributes, inputs, {output}, label));
    }
    void keep(halyard::Status status) {
        if (mFailure.ok()) {
            mFailure = std::move(status);
        }
    }
    const halyard::Status& status() const { return mFailure; }

  private:
    halyard::Tensor keep(halyard::Result<halyard::Tensor> tensor) {
        keep(tensor.status());
        return tensor.ok() ? *tensor : halyard::kNoTensor;
    }

    halyard::Graph& mGraph;
    halyard::Status mFailure;
};

halyard::Status fillGraph(halyard::Graph& graph) {
    Building build(graph);
    const halyard::Tensor measurements = build.tensor({1, kMeasurements}, "measurements");
    const halyard::Tensor hidden = build.tensor({1, kHidden}, "hidden");
    const halyard::Tensor sums = build.tensor({1, kScores});
    const halyard::Tensor scores = build.tensor({1, kScores}, "scores");
    const halyard::Tensor weights = build.weights({kHidden, kMeasurements}, kHiddenWeights);
    const halyard::Tensor bias = build.weights({kHidden}, kHiddenBias);
    const halyard::Tensor scoreWeights = build.weights({kScores, kHidden}, kScoreWeights);
    const halyard::Tensor scoreBias = build.weights({kScores}, kScoreBias);
    build.node("FullyConnected", {{"activation", "RELU"}}, {measurements, weights, bias}, hidden,
               "hidden layer");
    build.node("FullyConnected", {}, {hidden, scoreWeights, scoreBias}, sums, "score layer");
    build.node("Softmax", {}, {sums}, scores, "softmax");
    build.keep(graph.setInputs({measurements}));
    build.keep(graph.setOutputs({scores}));
    return build.status();
}

struct CommandLine {
    std::string backends;
    std::string input;  // its name
    std::vector<float> values;
};

halyard::Status wrong(std::string message) {
    return {HALYARD_INVALID_ARGUMENT, std::move(message)};
}

halyard::Result<CommandLine> parse(std::span<char* const> words) {
    CommandLine line;
    for (size_t i = 0; i < words.size(); ++i) {
        const std::string_view word = words[i];
        if (word == "-c" && i + 1 < words.size()) {
            line.backends = words[++i];
            continue;
        }
        const size_t equals = word.find('=');
        if (equals == std::string_view::npos || !line.input.empty()) {
            return wrong("usage: classify [-c BACKENDS] measurements=A,B,C,D");
        }
        line.input = word.substr(0, equals);
        const char* at = word.data() + equals + 1;
        for (char* end = nullptr; *at != '\0'; at = *end == ',' ? end + 1 : end) {
            line.values.push_back(std::strtof(at, &end));
            if (end == at || (*end != ',' && *end != '\0')) {
                std::string what = at;
                what += " begins with no number";
                return wrong(what);
            }
        }
    }
    return line.input.empty() ? halyard::Result<CommandLine>(wrong("usage: classify ..."))
                              : halyard::Result<CommandLine>(std::move(line));
}

halyard::Status classify(const CommandLine& line) {
    const halyard::Result<halyard::Runtime> runtime = halyard::Runtime::create(
            {.backends = line.backends, .log = [](int32_t /*level*/, std::string_view text) {
                 std::fprintf(stderr, "%s\n", std::string(text).c_str());
             }});
    if (!runtime.ok()) {
        return runtime.status();
    }
    halyard::Result<halyard::Graph> graph = halyard::Graph::create();
    if (!graph.ok()) {
        return graph.status();
    }
    if (halyard::Status filled = fillGraph(*graph); !filled.ok()) {
        return filled;
    }
    const halyard::Result<halyard::Program> program =
            halyard::Program::compile(runtime.value(), *graph);
    if (!program.ok()) {
        return program.status();
    }
    const halyard::Result<size_t> position = program.value().findInput(line.input.c_str());
    if (!position.ok()) {
        return position.status();
    }
    halyard::Result<halyard::Execution> execution = halyard::Execution::create(program.value());
    if (!execution.ok()) {
        return execution.status();
    }
    std::vector<halyard::Input> inputs(program.value().inputCount());
    inputs[position.value()] = halyard::Input::of(std::span<const float>(line.values),
                                                  {1, static_cast<int32_t>(line.values.size())});
    std::array<float, kScores> scores = {};
    halyard::Output output = halyard::Output::of(std::span<float>(scores));
    if (halyard::Status ran = execution->run(inputs, {&output, 1}); !ran.ok()) {
        return ran;
    }
    std::printf("scores=%.6f,%.6f,%.6f\n", scores[0], scores[1], scores[2]);
    return {};
}

}  // namespace

int main(int argc, char** argv) {
    const halyard::Result<CommandLine> line =
            parse(std::span(argv, static_cast<size_t>(argc)).subspan(1));
    const halyard::Status done = line.ok() ? classify(line.value()) : line.status();
    if (!done.ok()) {
        std::fprintf(stderr, "classify: %s\n", done.message().c_str());
    }
    return done.ok() ? 0 : line.ok() ? 1 : 2;
}
