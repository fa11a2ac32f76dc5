// SPDX-License-Identifier: Apache-2.0

#include "engine/passes/remove_dead_nodes.h"

#include <algorithm>
#include <vector>

namespace halyard::engine {
namespace {

class RemoveDeadNodes : public Rule {
  public:
    RemoveDeadNodes(GraphRewriter& graphRewriter, const PassContext& passContext)
        : Rule(graphRewriter, passContext), mLive(from().nodes().size(), false) {
        std::vector<bool> read(from().tensors().size(), false);
        for (const TensorId output : from().outputs()) {
            read[output] = true;
        }
        std::vector<bool> mentioned = read;
        for (const TensorId input : from().inputs()) {
            mentioned[input] = true;
        }
        // Readers come after writers.
        for (size_t id = from().nodes().size(); id-- > 0;) {
            const Node& node = from().nodes()[id];
            mLive[id] = std::ranges::any_of(node.outputs,
                                            [&](TensorId output) { return read[output]; });
            if (!mLive[id]) {
                continue;
            }
            for (const TensorId input : node.inputs) {
                if (input != kNoTensor) {
                    read[input] = true;
                    mentioned[input] = true;
                }
            }
            for (const TensorId output : node.outputs) {
                mentioned[output] = true;
            }
        }
        mLeftovers = std::ranges::find(mentioned, false) != mentioned.end();
    }

    Result<bool> apply(NodeId id) {
        if (mLeftovers) {
            markChanged();  // the rewriter takes along only what is mentioned
        }
        if (mLive[id]) {
            return false;
        }
        markChanged();
        explain(from().node(id), "removed: nothing reads what it computes");
        return true;
    }

  private:
    std::vector<bool> mLive;  // per node
    bool mLeftovers = false;  // tensors that nothing mentions
};

}  // namespace

Result<bool> removeDeadNodes(Graph& graph, const PassContext& context) {
    return applyRule<RemoveDeadNodes>(graph, context);
}

}  // namespace halyard::engine
