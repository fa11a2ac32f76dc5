// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/piece_layout.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

namespace halyard::engine {
namespace {

class LayoutBuilder {
  public:
    explicit LayoutBuilder(std::shared_ptr<const Graph> graph) { mLayout.graph = std::move(graph); }

    Result<PieceLayout> build(const Piece& piece) {
        for (size_t i = 0; i < piece.inputs.size(); ++i) {
            mLayout.inputs.push_back(
                    add({.id = piece.inputs[i], .role = LocalTensor::Role::INPUT, .position = i}));
        }
        for (const NodeId id : piece.nodes) {
            HALYARD_RETURN_IF_ERROR(addNode(mLayout.graph->node(id)));
        }
        for (size_t i = 0; i < piece.outputs.size(); ++i) {
            const auto found = mLocals.find(piece.outputs[i]);
            if (found == mLocals.end()) {
                return internalError("the piece does not write its output " + std::to_string(i));
            }
            LocalTensor& tensor = mLayout.tensors[found->second];
            tensor.role = LocalTensor::Role::OUTPUT;
            tensor.position = i;
            mLayout.outputs.push_back(found->second);
        }
        return std::move(mLayout);
    }

  private:
    LocalId add(LocalTensor tensor) {
        const LocalId local = mLayout.tensors.size();
        mLocals.emplace(tensor.id, local);
        mLayout.tensors.push_back(tensor);
        return local;
    }

    Status addNode(const Node& node) {
        const size_t step = mLayout.nodes.size();
        LocalNode& local = mLayout.nodes.emplace_back();
        local.node = &node;
        for (const TensorId id : node.inputs) {
            if (id == kNoTensor) {
                local.inputs.push_back(kNoLocal);
                continue;
            }
            auto found = mLocals.find(id);
            if (found == mLocals.end()) {
                if (!mLayout.graph->tensor(id).isConstant()) {
                    return internalError(node.label + " reads tensor " + std::to_string(id) +
                                         ", which is not an input of its piece");
                }
                add({.id = id, .role = LocalTensor::Role::CONSTANT});
                found = mLocals.find(id);
            }
            mLayout.tensors[found->second].lastStep = step;
            local.inputs.push_back(found->second);
        }
        for (const TensorId id : node.outputs) {
            local.outputs.push_back(add({.id = id, .firstStep = step, .lastStep = step}));
        }
        mLayout.mostInputs = std::max(mLayout.mostInputs, local.inputs.size());
        mLayout.mostOutputs = std::max(mLayout.mostOutputs, local.outputs.size());
        return {};
    }

    PieceLayout mLayout;
    std::unordered_map<TensorId, LocalId> mLocals;
};

}  // namespace

Result<PieceLayout> layOut(std::shared_ptr<const Graph> graph, const Piece& piece) {
    return LayoutBuilder(std::move(graph)).build(piece);
}

}  // namespace halyard::engine
