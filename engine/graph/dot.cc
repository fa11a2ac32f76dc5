// SPDX-License-Identifier: Apache-2.0

#include "engine/graph/dot.h"

#include <map>
#include <string_view>

namespace halyard::engine {
namespace {

// Labels come from models: nothing in them may end the string early.
std::string quoted(std::string_view text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            result += '\\';
        }
        if (c == '\n') {
            result += "\\n";
        } else {
            result += c;
        }
    }
    return result + "\"";
}

class DotWriter {
  public:
    DotWriter(const Graph& graph, std::span<const std::string> groups)
        : mGraph(graph), mGroups(groups), mWriters(graph.tensors().size()) {}

    std::string write() {
        mText = "digraph {\n";
        writeNodes();
        writeInputs();
        for (NodeId id = 0; id < mGraph.nodes().size(); ++id) {
            for (const TensorId tensor : mGraph.node(id).inputs) {
                writeEdge(tensor, "node" + std::to_string(id));
            }
        }
        for (size_t i = 0; i < mGraph.outputs().size(); ++i) {
            const std::string name = "output" + std::to_string(i);
            line(name + " [shape=ellipse, label=" + quoted("output " + std::to_string(i)) + "]");
            writeEdge(mGraph.outputs()[i], name);
        }
        return mText + "}\n";
    }

  private:
    void line(const std::string& text) { mText += "  " + text + "\n"; }

    void writeNodes() {
        std::map<std::string_view, std::string> groups;
        for (NodeId id = 0; id < mGraph.nodes().size(); ++id) {
            const Node& node = mGraph.node(id);
            const std::string name = "node" + std::to_string(id);
            const std::string text = node.label + "\n" + std::string(toString(node.kind()));
            const std::string box = name + " [shape=box, label=" + quoted(text) + "]";
            if (id < mGroups.size()) {
                groups[mGroups[id]] += "    " + box + "\n";
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
            mText += "    label=" + quoted(group) + "\n" + boxes;
            line("}");
        }
    }

    void writeInputs() {
        for (size_t i = 0; i < mGraph.inputs().size(); ++i) {
            const std::string name = "input" + std::to_string(i);
            line(name + " [shape=ellipse, label=" + quoted("input " + std::to_string(i)) + "]");
            if (mGraph.inputs()[i] < mWriters.size()) {
                mWriters[mGraph.inputs()[i]] = name;
            }
        }
        for (TensorId id = 0; id < mGraph.tensors().size(); ++id) {
            if (mGraph.tensor(id).isConstant()) {
                mWriters[id] = "constant" + std::to_string(id);
                line(mWriters[id] + " [shape=ellipse, style=dashed, label=" +
                     quoted("constant " + std::to_string(id)) + "]");
            }
        }
    }

    void writeEdge(TensorId tensor, const std::string& reader) {
        if (tensor < mWriters.size() && !mWriters[tensor].empty()) {
            line(mWriters[tensor] + " -> " + reader +
                 " [label=" + quoted(mGraph.tensor(tensor).type.toString()) + "]");
        }
    }

    const Graph& mGraph;
    const std::span<const std::string> mGroups;
    std::vector<std::string> mWriters;  // dot name of what gives each tensor its value
    std::string mText;
};

}  // namespace

std::string toDot(const Graph& graph, std::span<const std::string> groups) {
    return DotWriter(graph, groups).write();
}

}  // namespace halyard::engine
