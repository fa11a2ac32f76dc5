// SPDX-License-Identifier: Apache-2.0

#include "engine/graph/text.h"

#include <span>

#include "engine/graph/nodes.h"
#include "engine/graph/verifier.h"

namespace halyard::engine {
namespace {

std::string operationsOf(const Node& node) {
    std::string text = "[";
    for (const uint32_t operation : node.sources) {
        text.append(text.size() > 1 ? ", " : "").append(std::to_string(operation));
    }
    return text + "]";
}

std::string nameIn(const Graph& graph, TensorId id) {
    const std::string& name = graph.tensor(id).name;
    return name.empty() ? "" : " " + inQuotes(name);
}

std::string tensorText(const Graph& graph, TensorId id) {
    return id == kNoTensor ? "left out"
                           : "%" + std::to_string(id) + nameIn(graph, id) + " " +
                                     graph.tensor(id).type.toString();
}

template <typename Spec>
std::string roleOf(const Spec* spec) {
    return spec == nullptr ? "?" : std::string(spec->name);
}

class TextWriter {
  public:
    TextWriter(const Graph& graph, size_t depth, std::string& text)
        : mGraph(graph), mDepth(depth), mText(text) {}

    void write() {
        for (const TensorId input : mGraph.inputs()) {
            line(0, "input " + tensorText(mGraph, input));
        }
        for (TensorId id = 0; id < mGraph.tensors().size(); ++id) {
            if (mGraph.tensor(id).isConstant()) {
                line(0, "constant " + tensorText(mGraph, id));
            }
        }
        for (const Node& node : mGraph.nodes()) {
            writeNode(node);
        }
        for (const TensorId output : mGraph.outputs()) {
            line(0, "output " + tensorText(mGraph, output));
        }
        for (const VanishedOperation& vanished : mGraph.vanished()) {
            line(0, "vanished operation " + std::to_string(vanished.operation) + ": " +
                            inQuotes(vanished.fate));
        }
    }

  private:
    void line(size_t indent, const std::string& text) {
        mText.append(2 * (2 * mDepth + indent), ' ').append(text).append("\n");
    }

    void writeNode(const Node& node) {
        line(0, "node " + inQuotes(node.label) + " " + operationsOf(node) + " " +
                        toString(node.descriptor));
        const NodeSignature signature = signatureOf(node.descriptor);
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            line(1, roleOf(signature.input(i)) + ": " + tensorText(mGraph, node.inputs[i]));
        }
        for (size_t i = 0; i < node.outputs.size(); ++i) {
            line(1,
                 "-> " + roleOf(signature.output(i)) + ": " + tensorText(mGraph, node.outputs[i]));
        }
        for (const NestedGraph* nested : nestedGraphs(node)) {
            if (nested->graph != nullptr && mDepth < kMaxNesting) {
                line(1, "graph inside:");
                TextWriter(*nested->graph, mDepth + 1, mText).write();
            }
        }
    }

    const Graph& mGraph;
    const size_t mDepth;
    std::string& mText;
};

std::string typesOf(const Graph& graph, std::span<const TensorId> tensors) {
    std::string text;
    for (const TensorId id : tensors) {
        text.append(text.empty() ? "" : ", ");
        if (id == kNoTensor) {
            text += "-";
            continue;
        }
        text.append(graph.tensor(id).isConstant() ? "constant " : "")
                .append(graph.tensor(id).type.toString());
    }
    return text;
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the verifier lets graphs be nested
void addNodeLines(const Graph& graph, const std::string& prefix, size_t depth,
                  std::vector<std::string>& lines) {
    for (const Node& node : graph.nodes()) {
        lines.push_back(prefix + inQuotes(node.label) + " " + operationsOf(node) + " " +
                        toString(node.descriptor) + " (" + typesOf(graph, node.inputs) + ") -> (" +
                        typesOf(graph, node.outputs) + ")");
        for (const NestedGraph* nested : nestedGraphs(node)) {
            if (nested->graph != nullptr && depth < kMaxNesting) {
                addNodeLines(*nested->graph, prefix + inQuotes(node.label) + ": ", depth + 1,
                             lines);
            }
        }
    }
}

}  // namespace

std::string toText(const Graph& graph) {
    std::string text;
    TextWriter(graph, 0, text).write();
    return text;
}

std::vector<std::string> nodeLines(const Graph& graph) {
    std::vector<std::string> lines;
    addNodeLines(graph, "", 0, lines);
    return lines;
}

std::string inQuotes(std::string_view text) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            result.append(1, '\\').append(1, c);
        } else if (c == '\n') {
            result += "\\n";
        } else if (c < ' ' || c > '~') {
            const auto byte = static_cast<unsigned char>(c);
            result.append("\\x").append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]);
        } else {
            result += c;
        }
    }
    return result + "\"";
}

}  // namespace halyard::engine
