// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/ref/cpu_ref.h"

#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "engine/backends/ref/evaluate.h"
#include "engine/backends/ref/piece_layout.h"
#include "engine/backends/ref/reference_piece.h"

namespace halyard::engine {
namespace {

// Null for a tensor that was left out.
std::vector<const TensorType*> typesOf(const Graph& graph, std::span<const TensorId> ids) {
    std::vector<const TensorType*> types;
    types.reserve(ids.size());
    for (const TensorId id : ids) {
        types.push_back(id == kNoTensor ? nullptr : &graph.tensor(id).type);
    }
    return types;
}

class CompiledReference : public CompiledPiece {
  public:
    explicit CompiledReference(ref::PieceLayout layout)
        : mLayout(std::make_shared<const ref::PieceLayout>(std::move(layout))) {}

    Result<std::unique_ptr<const ShapedPiece>> specialize(
            std::span<const TensorType> inputs) const override {
        return ref::ReferencePiece::create(mLayout, inputs);
    }
    // Constants are read where the graph has them.
    size_t constantBytes() const override { return 0; }

  private:
    std::shared_ptr<const ref::PieceLayout> mLayout;
};

class CpuRef : public Backend {
  public:
    std::string_view name() const override { return "CpuRef"; }

    Status supports(const Graph& graph, NodeId id) const override {
        const Node& node = graph.node(id);
        const std::vector<const TensorType*> inputs = typesOf(graph, node.inputs);
        const std::vector<const TensorType*> outputs = typesOf(graph, node.outputs);
        return std::visit(
                [&]<typename Descriptor>(const Descriptor& descriptor) -> Status {
                    if constexpr (std::is_same_v<Descriptor, std::monostate>) {
                        return unsupported("does not know what the node computes");
                    } else {
                        return ref::supports(descriptor, inputs, outputs);
                    }
                },
                node.descriptor);
    }

    Result<std::unique_ptr<const CompiledPiece>> compile(std::shared_ptr<const Graph> graph,
                                                         const Piece& piece) const override {
        HALYARD_ASSIGN_OR_RETURN(ref::PieceLayout layout, ref::layOut(std::move(graph), piece));
        return std::unique_ptr<const CompiledPiece>(
                std::make_unique<CompiledReference>(std::move(layout)));
    }
};

}  // namespace

std::unique_ptr<const Backend> makeCpuRef() {
    return std::make_unique<CpuRef>();
}

}  // namespace halyard::engine
