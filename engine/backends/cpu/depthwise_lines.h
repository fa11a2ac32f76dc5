// SPDX-License-Identifier: Apache-2.0
//
// What a depthwise convolution is compiled to, next to its packed weights, and how its work is cut.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/backends/cpu/depthwise_line.h"
#include "engine/backends/cpu/instruction_set.h"
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
    size_t threads = 1;

    int64_t taps() const { return filterH * filterW; }
};

// Where the lines of the output lie, and the windows of each.
class DepthwiseLines {
  public:
    static Result<DepthwiseLines> create(const DepthwiseDefinition& definition, const Shape& x,
                                         const Shape& output);

    // The work is cut into pixels of lines.
    int64_t units() const { return mCount * mUnitsPerLine; }
    int64_t unitOperations() const { return mUnitPixels * pixelOperations(); }
    int64_t lineOf(int64_t unit) const { return unit / mUnitsPerLine; }
    // Elements of a line.
    int64_t inputLine() const { return mWindow.inputW * mWindow.channels; }
    int64_t outputLine() const { return mWindow.outputW * mWindow.channels; }

    // The windows of a unit; `first` is where the line that the filter's row 0 reads, or would
    // read, starts in the input.
    DepthwiseWindow windowOf(int64_t unit, ptrdiff_t& first) const;

  private:
    int64_t pixelOperations() const {
        return std::max<int64_t>(mWindow.filterH * mWindow.filterW * mWindow.channels, 1);
    }

    DepthwiseWindow mWindow;
    int64_t mUnitPixels = 1, mUnitsPerLine = 1;
    int64_t mCount = 0;
    int64_t mOutputH = 1, mInputH = 1;
    int64_t mTop = 0, mStrideH = 1, mDilationH = 1;
};

// For floats, and for 8 bits.
Result<std::unique_ptr<const StepKernel>> compileFloatDepthwise(
        const DepthwiseDefinition& definition, const KernelArguments& arguments,
        InstructionSet set);
Result<std::unique_ptr<const StepKernel>> compileQuantizedDepthwise(
        const DepthwiseDefinition& definition, const KernelArguments& arguments,
        InstructionSet set);

}  // namespace halyard::engine::cpu
