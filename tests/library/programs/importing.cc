// SPDX-License-Identifier: Apache-2.0
//
// Usage: importing FILE. FILE.tflite adds 1 to four floats and takes RELU of it: read, run, kept
// after the bytes are gone; and refused when it is cut anywhere, or what it is made of is not to be
// had.

#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "claims.h"
#include "halyard/halyard.hpp"

namespace {

std::vector<char> contentOf(const char* path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void runsAsTheFileSays(const std::vector<char>& content) {
    auto copy = std::make_unique<std::vector<char>>(content);
    auto graph = halyard::Graph::importTflite(std::as_bytes(std::span(*copy)));
    copy.reset();
    claim(graph.status().ok(), "is imported", graph.status().message().c_str(), __LINE__);
    auto runtime = halyard::Runtime::create();
    auto program = halyard::Program::compile(runtime.value(), graph.value());
    claim(program.status().ok(), "compiles", program.status().message().c_str(), __LINE__);
    auto execution = halyard::Execution::create(program.value());
    const std::vector<float> given = {-3.0F, -1.0F, 0.5F, 2.0F};
    std::vector<float> found(4, -1.0F);
    halyard_input input = {};
    input.data = given.data();
    input.size = given.size() * sizeof(float);
    input.shape.rank = 2;
    input.shape.extents[0] = 1;
    input.shape.extents[1] = 4;
    halyard_output output = {};
    output.data = found.data();
    output.capacity = found.size() * sizeof(float);
    CLAIM_OK(halyard_execution_run(execution.value().get(), &input, 1, &output, 1, nullptr,
                                   &message));
    CLAIM((found == std::vector<float>{0.0F, 0.0F, 1.5F, 3.0F}));
}

void lendsTheFileUntilNothingNeedsIt(std::vector<char> content) {
    halyard_constant file = {};
    file.struct_size = sizeof file;
    file.data = content.data();
    file.size = content.size();
    int released = 0;
    file.release = [](void* owner) { ++*static_cast<int*>(owner); };
    file.owner = &released;
    halyard_graph* graph = nullptr;
    CLAIM_OK(halyard_graph_import_tflite(&file, &graph, &message));
    CLAIM(released == 0);
    halyard_graph_release(graph);
    CLAIM(released == 1);
    content[4] = 'X';
    CLAIM_REFUSAL(halyard_graph_import_tflite(&file, &graph, &message), HALYARD_UNSUPPORTED,
                  "TFL3");
    CLAIM(released == 1);
}

void refusesEveryFileThatIsCut(const std::vector<char>& content) {
    for (size_t size = 0; size < content.size(); ++size) {
        const std::vector<char> cut(content.begin(), content.begin() + static_cast<long>(size));
        const auto graph = halyard::Graph::importTflite(std::as_bytes(std::span(cut)));
        // The end may be padding that nothing leads to.
        if (size + 64 < content.size()) {
            CLAIM(!graph.status().ok());
        }
    }
}

void refusesWhatIsNull() {
    halyard_graph* graph = nullptr;
    CLAIM_REFUSAL(halyard_graph_import_tflite(nullptr, &graph, &message), HALYARD_INVALID_ARGUMENT,
                  "the file");
    halyard_constant file = {};
    file.struct_size = sizeof file;
    CLAIM_REFUSAL(halyard_graph_import_tflite(&file, nullptr, &message), HALYARD_INVALID_ARGUMENT,
                  "graph");
}

}  // namespace

int main(int, char** arguments) {
    const std::vector<char> content = contentOf(arguments[1]);
    runsAsTheFileSays(content);
    lendsTheFileUntilNothingNeedsIt(content);
    refusesEveryFileThatIsCut(content);
    refusesWhatIsNull();
    return claims_failed;
}
