// SPDX-License-Identifier: Apache-2.0

#include "engine/graph/dot.h"

#include <map>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "engine/graph/text.h"
#include "engine/graph/verifier.h"

namespace halyard::engine {
namespace {

// The graphs inside a node, by the names of the fields that hold them.
std::vector<std::pair<std::string_view, const Graph*>> namedGraphs(const Node& node) {
    std::vector<std::pair<std::string_view, const Graph*>> graphs;
    std::visit(
            [&]<typename Descriptor>(const Descriptor& descriptor) {
                if constexpr (WithFields<Descriptor>) {
                    forEachField(descriptor,
                                 [&]<typename T>(std::string_view name, const T& field) {
                                     if constexpr (std::is_same_v<T, NestedGraph>) {
                                         graphs.emplace_back(name, field.graph.get());
                                     }
                                 });
                }
            },
            node.descriptor);
    return graphs;
}

// Writes one graph into `text`. The dot names of all that is in it start with `prefix`.
class DotWriter {
  public:
    DotWriter(const Graph& graph, std::span<const std::string> groups, std::string prefix,
              size_t depth, std::string& text)
        : mGraph(graph),
          mGroups(groups),
          mPrefix(std::move(prefix)),
          mDepth(depth),
          mText(text),
          mWriters(graph.tensors().size()) {}

    void write() {
        writeNodes();
        writeInputs();
        for (NodeId id = 0; id < mGraph.nodes().size(); ++id) {
            for (const TensorId tensor : mGraph.node(id).inputs) {
                writeEdge(tensor, nameOf("node", id));
            }
        }
        for (size_t i = 0; i < mGraph.outputs().size(); ++i) {
            writeEllipse(nameOf("output", i), "output " + std::to_string(i), "");
            writeEdge(mGraph.outputs()[i], nameOf("output", i));
        }
        for (NodeId id = 0; id < mGraph.nodes().size() && mDepth < kMaxNesting; ++id) {
            writeNested(id);
        }
    }

  private:
    std::string nameOf(const char* what, size_t index) const {
        return mPrefix + what + std::to_string(index);
    }

    void line(const std::string& text) {
        mText.append(2 * (mDepth + 1), ' ').append(text).append("\n");
    }

    void writeEllipse(const std::string& name, const std::string& label, const char* style) {
        line(name + " [shape=ellipse, " + style + "label=" + inQuotes(label) + "]");
    }

    void writeNodes() {
        std::map<std::string_view, std::vector<std::string>> groups;
        for (NodeId id = 0; id < mGraph.nodes().size(); ++id) {
            const Node& node = mGraph.node(id);
            const std::string name = nameOf("node", id);
            const std::string text = node.label + "\n" + toString(node.descriptor);
            const std::string box = name + " [shape=box, label=" + inQuotes(text) + "]";
            if (id < mGroups.size()) {
                groups[mGroups[id]].push_back(box);
            } else {
                line(box);
            }
            for (const TensorId output : node.outputs) {
                if (output < mWriters.size()) {
                    mWriters[output] = name;
                }
            }
        }
        size_t index = 0;
        for (const auto& [group, boxes] : groups) {
            line("subgraph cluster" + std::to_string(index++) + " {");
            line("  label=" + inQuotes(group));
            for (const std::string& box : boxes) {
                line("  " + box);
            }
            line("}");
        }
    }

    void writeInputs() {
        for (size_t i = 0; i < mGraph.inputs().size(); ++i) {
            const std::string name = nameOf("input", i);
            writeEllipse(name, "input " + std::to_string(i), "");
            if (mGraph.inputs()[i] < mWriters.size()) {
                mWriters[mGraph.inputs()[i]] = name;
            }
        }
        for (TensorId id = 0; id < mGraph.tensors().size(); ++id) {
            if (mGraph.tensor(id).isConstant()) {
                mWriters[id] = nameOf("constant", id);
                writeEllipse(mWriters[id], "constant " + std::to_string(id), "style=dashed, ");
            }
        }
    }

    void writeEdge(TensorId tensor, const std::string& reader) {
        if (tensor < mWriters.size() && !mWriters[tensor].empty()) {
            line(mWriters[tensor] + " -> " + reader +
                 " [label=" + inQuotes(labelOf(mGraph.tensor(tensor))) + "]");
        }
    }

    static std::string labelOf(const Tensor& tensor) {
        const std::string type = tensor.type.toString();
        return tensor.name.empty() ? type : tensor.name + "\n" + type;
    }

    void writeNested(NodeId id) {
        const Node& node = mGraph.node(id);
        for (const auto& [field, nested] : namedGraphs(node)) {
            if (nested == nullptr) {
                continue;
            }
            const std::string prefix = nameOf("node", id) + "_" + std::string(field) + "_";
            line("subgraph cluster_" + prefix + " {");
            line("  label=" + inQuotes(std::string(field) + " of " + node.label));
            DotWriter(*nested, {}, prefix, mDepth + 1, mText).write();
            line("}");
        }
    }

    const Graph& mGraph;
    const std::span<const std::string> mGroups;
    const std::string mPrefix;
    const size_t mDepth;
    std::string& mText;
    std::vector<std::string> mWriters;  // dot name of what gives each tensor its value
};

}  // namespace

std::string toDot(const Graph& graph, std::span<const std::string> groups) {
    std::string text = "digraph {\n";
    DotWriter(graph, groups, "", 0, text).write();
    return text + "}\n";
}

}  // namespace halyard::engine
