// SPDX-License-Identifier: Apache-2.0
//
// The definition that a depthwise convolution is compiled to, next to its packed weights, and the
// partition of its work.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "engine/backends/cpu/choice/depthwise_choice.h"
#include "engine/backends/cpu/depthwise/depthwise_line.h"
#include "engine/backends/cpu/hardware/cpu_tuning.h"
#include "engine/backends/cpu/kernels/epilogue.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/base/status.h"
#include "engine/graph/nodes.h"
#include "engine/graph/tensor.h"
#include "engine/plan/step_kernel.h"

namespace halyard::engine::cpu {

// The node, without what the graph may let go of.
struct DepthwiseDefinition {
    DepthwiseConv2d node;
    int64_t filterH = 1;
    int64_t filterW = 1;
    int64_t channels = 1;
    Epilogue epilogue;
    size_t threads = 1;
    CpuTuning tuning = {};

    int64_t taps() const { return filterH * filterW; }
};

// Where the lines of the output lie, and the windows of each.
class DepthwiseLines {
  public:
    static Result<DepthwiseLines> create(const DepthwiseDefinition& definition, const Shape& x,
                                         const Shape& output);

    // The work is cut into spatial positions of lines.
    int64_t items() const { return mCount * mWorkItemsPerLine; }
    int64_t workItemOperations() const { return mWorkItemPositions * pixelOperations(); }
    int64_t lineOf(int64_t item) const { return item / mWorkItemsPerLine; }
    // Elements of a line, and of one that has a channel for each of the output's.
    int64_t inputLine() const { return mWindow.inputW * mInputC; }
    int64_t widenedLine() const { return mWindow.inputW * mWindow.channels; }
    // Output channels that read one input channel.
    int64_t multiplier() const { return mWindow.channels / mInputC; }
    int64_t outputLine() const { return mWindow.outputW * mWindow.channels; }

    // Of the output, those that a work item computes.
    EpilogueRows outputRows(int64_t item) const {
        const int64_t first = item % mWorkItemsPerLine * mWorkItemPositions;
        const int64_t count = std::min(mWorkItemPositions, mWindow.outputW - first);
        return {.begin = lineOf(item) * outputLine() + first * mWindow.channels,
                .rows = count,
                .row = mWindow.channels,
                .columns = mWindow.channels};
    }

    // The windows of a work item; `first` is where the line that the filter's row 0 reads, or would
    // read, starts in the input.
    DepthwiseWindow windowOf(int64_t item, ptrdiff_t& first) const;

    // Copies the lines of x that the window reads to `paddedTile`, which has room for as
    // many widened ones as the filter has rows, and has the window read them there. convert(T)
    // gives an element of the padded input tile, or convert(from, count, to) as many neighbours.
    template <typename T, typename To, typename Convert>
    void widen(const T* x, To* paddedTile, DepthwiseWindow& window, Convert convert) const {
        for (int64_t i = window.firstRow; i < window.endRow; ++i) {
            const T* from = x + i * window.row;
            To* to = paddedTile + i * widenedLine();
            if constexpr (std::is_invocable_v<Convert, const T*, int64_t, To*>) {
                if (multiplier() == 1) {
                    convert(from, inputLine(), to);
                    continue;
                }
                constexpr int64_t kAtOnce = 64;
                To elements[kAtOnce];
                for (int64_t first = 0; first < inputLine(); first += kAtOnce) {
                    const int64_t count = std::min(kAtOnce, inputLine() - first);
                    convert(from + first, count, elements);
                    for (int64_t element = 0; element < count; ++element) {
                        to = std::fill_n(to, multiplier(), elements[element]);
                    }
                }
            } else {
                if (multiplier() == 1) {
                    std::transform(from, from + inputLine(), to, convert);
                    continue;
                }
                for (int64_t element = 0; element < inputLine(); ++element) {
                    to = std::fill_n(to, multiplier(), convert(from[element]));
                }
            }
        }
        window.row = widenedLine();
    }

  private:
    int64_t pixelOperations() const {
        return std::max<int64_t>(mWindow.filterH * mWindow.filterW * mWindow.channels, 1);
    }

    DepthwiseWindow mWindow;
    int64_t mInputC = 1;
    int64_t mWorkItemPositions = 1, mWorkItemsPerLine = 1;
    int64_t mCount = 0;
    int64_t mOutputH = 1, mInputH = 1;
    int64_t mTop = 0, mStrideH = 1, mDilationH = 1;
};

// Of a depthwise convolution, without what follows it.
DepthwiseDefinition depthwiseDefinition(const KernelArguments& arguments, const CpuTuning& tuning);

// Packs inputs 1 and 2 of a node of floats or halves.
Result<PackedConstant> packFloatDepthwise(InstructionSet set, const DepthwiseDefinition& definition,
                                          const KernelArguments& arguments);

// The form of a node of bytes. It may read the weights.
Result<DepthwiseChoice> chooseQuantizedDepthwise(const DepthwiseDefinition& definition,
                                                 bool blocksOverlap,
                                                 const KernelArguments& arguments,
                                                 InstructionSet set);

// Packs its inputs 1 and 2 for a form that the set has.
Result<PackedConstant> packQuantizedDepthwise(InstructionSet set, Form form,
                                              const DepthwiseDefinition& definition,
                                              bool blocksOverlap, const KernelArguments& arguments);

// Whether the windows of a node of floats may reach zeros around the feature map: its weights are
// floats, all of them finite.
Result<bool> mayPadDepthwise(const DepthwiseDefinition& definition,
                             const KernelArguments& arguments);

// For floats, and for 8 bits.
Result<std::unique_ptr<const StepKernel>> compileFloatDepthwise(
        const DepthwiseDefinition& definition, const KernelArguments& arguments,
        const CpuTarget& target);
Result<std::unique_ptr<const StepKernel>> compileQuantizedDepthwise(
        const DepthwiseDefinition& definition, const KernelArguments& arguments,
        const CpuTarget& target);

}  // namespace halyard::engine::cpu
