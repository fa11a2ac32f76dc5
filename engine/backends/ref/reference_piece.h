// SPDX-License-Identifier: Apache-2.0
//
// ReferencePiece: a piece with concrete input shapes, run node after node.
//
// Nodes whose shapes follow from those lie in the planned workspace. A node whose shapes depend on
// data, and whatever comes after it, is "open": its shapes are inferred when the run gets there,
// and its outputs come from the heap or from RunArguments::allocateOutput. Only a run with open
// nodes allocates.

#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "engine/backends/ref/piece_layout.h"
#include "engine/plan/backend.h"

namespace halyard::engine::ref {

class ReferencePiece : public ShapedPiece {
  public:
    // `inputs` as for CompiledPiece::specialize.
    static Result<std::unique_ptr<const ShapedPiece>> create(
            std::shared_ptr<const PieceLayout> layout, std::span<const TensorType> inputs);

    std::span<const TensorType> outputTypes() const override { return mOutputTypes; }
    size_t workspaceBytes() const override { return mWorkspaceBytes; }
    Status run(const RunArguments& arguments) const override;

  private:
    class Run;

    // A FLOAT16 input that a node is given in FLOAT32.
    struct WidenedInput {
        size_t step = 0;   // the node's index
        size_t input = 0;  // the input's, among the node's
        TensorType type;
        size_t offset = 0;  // in the workspace
    };

    explicit ReferencePiece(std::shared_ptr<const PieceLayout> layout)
        : mLayout(std::move(layout)) {}
    Status inferTypes(std::span<const TensorType> inputs);
    void chooseWidened();
    Status planWorkspace();
    bool isOpen(const LocalNode& node) const;

    std::shared_ptr<const PieceLayout> mLayout;
    std::vector<TensorType> mTypes;  // per local tensor; unknown extents where only a run can tell
    std::vector<bool> mOpen;         // per node
    bool mAnyOpen = false;
    size_t mViewsOffset = 0;             // in the workspace: what a node is handed
    std::vector<size_t> mOffsets;        // per local tensor: in the workspace, where it lies there
    std::vector<WidenedInput> mWidened;  // in order of steps
    std::vector<TensorType> mOutputTypes;
    size_t mWorkspaceBytes = 0;
};

}  // namespace halyard::engine::ref
