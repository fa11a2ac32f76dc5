// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/fusion.h"

#include <cstddef>
#include <optional>
#include <unordered_map>
#include <utility>

#include "engine/backends/gpu/kernels/stages.h"

namespace halyard::engine::gpu {
namespace {

// Who reads the tensors of a piece.
class Readers {
  public:
    Readers(const Graph& graph, const Piece& piece) {
        for (size_t i = 0; i < piece.nodes.size(); ++i) {
            for (const TensorId input : graph.node(piece.nodes[i]).inputs) {
                if (input != kNoTensor) {
                    Reader& reader = mReaders[input];
                    ++reader.count;
                    reader.node = i;
                }
            }
        }
        // Whoever reads an output of the piece counts as two.
        for (const TensorId output : piece.outputs) {
            mReaders[output].count += 2;
        }
    }

    // The one node that reads the tensor, once, by its position in the piece.
    std::optional<size_t> onlyReader(TensorId tensor) const {
        const auto found = mReaders.find(tensor);
        return found == mReaders.end() || found->second.count != 1
                       ? std::nullopt
                       : std::optional(found->second.node);
    }

  private:
    struct Reader {
        size_t count = 0;
        size_t node = 0;
    };
    std::unordered_map<TensorId, Reader> mReaders;
};

bool takesStages(const Node& node) {
    switch (node.kind()) {
        case NodeKind::Conv2d:
        case NodeKind::DepthwiseConv2d:
        case NodeKind::TransposeConv2d:
        case NodeKind::FullyConnected:
            return true;
        default:
            return false;
    }
}

}  // namespace

std::vector<FusedNodes> findFusions(const Graph& graph, const Piece& piece) {
    const Readers readers(graph, piece);
    std::vector<FusedNodes> fusions;
    std::vector<bool> taken(piece.nodes.size(), false);
    for (size_t i = 0; i < piece.nodes.size(); ++i) {
        if (taken[i] || !takesStages(graph.node(piece.nodes[i]))) {
            continue;
        }
        FusedNodes nodes = {i};
        while (nodes.size() <= kMostStages) {
            const TensorId result = graph.node(piece.nodes[nodes.back()]).outputs[0];
            const std::optional<size_t> next = readers.onlyReader(result);
            if (!next.has_value() || taken[*next] ||
                !isStage(graph, graph.node(piece.nodes[*next]), result)) {
                break;
            }
            nodes.push_back(*next);
            taken[*next] = true;
        }
        if (nodes.size() > 1) {
            fusions.push_back(std::move(nodes));
        }
    }
    return fusions;
}

}  // namespace halyard::engine::gpu
