// SPDX-License-Identifier: Apache-2.0
//
// The epilogue of a convolution or a fully connected layer, applied while its results are in cache:
// the nodes after it, each read by the next one alone. Each stage is the tuned kernel of
// its node, so that results are those of the nodes one by one.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/base/status.h"
#include "engine/graph/nodes.h"
#include "engine/graph/tensor.h"
#include "engine/numerics/scaled_sum.h"
#include "engine/plan/kernel_call.h"
#include "engine/plan/step_kernel.h"

namespace halyard::engine::cpu {

// Replaces neighbouring elements by what a node makes of them; `addend` is what its other input has
// for them, one element for each, if it has another input.
using EpilogueStage =
        std::function<void(std::byte* elements, const std::byte* addend, int64_t count)>;

// Whether the node makes each element of `result`, whose extents but the last may be unknown, an
// element of its own by a constant: one for all elements, or one for each channel.
bool isByChannelConstant(const Graph& graph, const Node& node, TensorId result);

// Of an element-wise function.
EpilogueStage stageOf(const Activate& node, const TensorType& x, const TensorType& output,
                      InstructionSet set);
// Of a function of two tensors of one shape. What the stage replaces is the node's first input, or
// its second.
EpilogueStage stageOf(const Binary& node, const TensorType& a, const TensorType& b,
                      const TensorType& output, bool replacesFirst, InstructionSet set);

// The numbers of such an addition, where it is one of bytes: a is the node's first input.
std::optional<ByteAddition> byteAdditionOf(const Binary& node, const TensorType& a,
                                           const TensorType& b, const TensorType& output);

// Rows of a tensor: where they lie, in elements.
struct EpilogueRows {
    ptrdiff_t begin = 0;
    int64_t lines = 1;
    ptrdiff_t line = 0;  // from a line to the next
    int64_t rows = 1;    // of each line
    ptrdiff_t row = 0;   // from a row to the next
    int64_t columns = 0;
};

// Immutable, thread-safe.
class Epilogue {
  public:
    // Of nodes that follow `result`; with none of them it does nothing. Their first other input is
    // the step's input number `inputs`.
    static Epilogue of(const Graph& graph, TensorId result, std::span<const Node* const> nodes,
                       size_t inputs, InstructionSet set);
    // Of KernelArguments::others.
    static Epilogue of(const KernelArguments& arguments, InstructionSet set) {
        return of(arguments.graph, arguments.node.outputs[0], arguments.others,
                  arguments.node.inputs.size(), set);
    }

    bool empty() const { return mStages.empty(); }
    // " + Binary + Activate": behind a kernel's name.
    const std::string& name() const { return mName; }
    // Where all it does is to add bytes: a are the results, b the addend. A producer may do so
    // itself, in place of apply().
    const std::optional<ByteAddition>& addition() const { return mAddition; }
    // Which input of the step a stage adds.
    const std::optional<size_t>& addedInput() const { return mAddend; }
    // The addend of a stage; null where it has none.
    const std::byte* addend(const KernelCall& call) const {
        return mAddend.has_value() ? call.input(*mAddend).as<std::byte>() : nullptr;
    }
    // To neighbouring elements that are no output. All stages are activations.
    void applyTo(std::byte* elements, int64_t count) const {
        applyTo(elements, nullptr, 0, count, nullptr);
    }
    // To rows of output 0, which the producer has written.
    void apply(const KernelCall& call, const EpilogueRows& rows) const;

  private:
    struct Stage {
        EpilogueStage apply;
        // Of a constant: how many elements it has, 0 where there is none.
        int64_t channels = 0;
        // Of few: they are repeated, so that a chunk that begins at any channel finds one for each
        // of its elements.
        std::vector<std::byte> repeated = {};
        // Of many: they are read where they lie, in this input of the step.
        size_t input = 0;
    };

    static Stage constantStage(const Graph& graph, const Node& node, TensorId result, size_t input,
                               InstructionSet set);
    // To elements that lie from `begin` on in the output. `added`: what lies at the same
    // place of what a stage adds; null where none does. `call` may be null where all stages are
    // activations.
    void applyTo(std::byte* elements, const std::byte* added, ptrdiff_t begin, int64_t count,
                 const KernelCall* call) const;
    void applyConstant(const Stage& stage, std::byte* elements, ptrdiff_t begin, int64_t count,
                       const KernelCall* call) const;

    std::vector<Stage> mStages;
    int64_t mChunk = 0;             // elements that all stages see before the next
    std::optional<size_t> mAddend;  // which input of the step
    std::optional<ByteAddition> mAddition;
    size_t mElementBytes = 1;
    std::string mName;
};

// The type of what the first node of a step computes.
inline const TensorType& resultOf(const StepTypes& types) {
    return types.inside.empty() ? *types.outputs[0] : *types.inside[0];
}

}  // namespace halyard::engine::cpu
