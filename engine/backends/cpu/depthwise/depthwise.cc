// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <memory>
#include <string>
#include <variant>

#include "engine/backends/cpu/depthwise/depthwise_halves.h"
#include "engine/backends/cpu/depthwise/depthwise_lines.h"
#include "engine/backends/cpu/depthwise/half_depthwise.h"
#include "engine/backends/cpu/gemm/weights.h"
#include "engine/backends/cpu/kernels/chosen_kernel.h"
#include "engine/backends/cpu/kernels/kernels.h"
#include "engine/graph/shape_inference.h"
#include "engine/numerics/elements.h"

namespace halyard::engine::cpu {
Result<DepthwiseLines> DepthwiseLines::create(const DepthwiseDefinition& definition, const Shape& x,
                                              const Shape& output) {
    const Window2d& window = definition.node.window;
    HALYARD_ASSIGN_OR_RETURN(
            const ResolvedWindow resolved,
            resolveWindow(window, x[1], x[2], static_cast<int32_t>(definition.filterH),
                          static_cast<int32_t>(definition.filterW)));
    DepthwiseLines lines;
    lines.mCount = int64_t{output[0]} * output[1];
    lines.mOutputH = output[1];
    lines.mInputH = x[1];
    lines.mTop = resolved.top;
    lines.mStrideH = window.strideH;
    lines.mDilationH = window.dilationH;
    lines.mInputC = x[3];
    lines.mWindow = {.filterH = definition.filterH,
                     .filterW = definition.filterW,
                     .row = int64_t{window.dilationH} * x[2] * x[3],
                     .column = int64_t{window.dilationW} * output[3],
                     .dilationW = window.dilationW,
                     .strideW = window.strideW,
                     .left = resolved.left,
                     .inputW = x[2],
                     .outputW = output[2],
                     .channels = output[3]};
    lines.mWorkItemPositions = std::clamp<int64_t>(kMostDepthwiseTerms / lines.pixelOperations(), 1,
                                                   lines.mWindow.outputW);
    lines.mWorkItemsPerLine =
            (lines.mWindow.outputW + lines.mWorkItemPositions - 1) / lines.mWorkItemPositions;
    return lines;
}

DepthwiseWindow DepthwiseLines::windowOf(int64_t item, ptrdiff_t& first) const {
    const int64_t line = lineOf(item);
    const int64_t top = line % mOutputH * mStrideH - mTop;
    DepthwiseWindow window = mWindow;
    window.firstRow = std::min(top < 0 ? (-top + mDilationH - 1) / mDilationH : 0, window.filterH);
    const int64_t left = mInputH - 1 - top;
    window.endRow =
            std::clamp(left < 0 ? 0 : left / mDilationH + 1, window.firstRow, window.filterH);
    window.firstPixel = item % mWorkItemsPerLine * mWorkItemPositions;
    window.endPixel = std::min(window.firstPixel + mWorkItemPositions, window.outputW);
    first = (line / mOutputH * mInputH + top) * inputLine();
    return window;
}

Status supports(const DepthwiseConv2d& /*node*/, const Graph& graph, const Node& whole) {
    HALYARD_RETURN_IF_ERROR(supportsWeights(graph, whole));
    const int64_t terms = countOf(graph.tensor(whole.inputs[1]).type.shape);
    return terms <= kMostDepthwiseTerms
                   ? Status()
                   : unsupported("multiplies at most " + std::to_string(kMostDepthwiseTerms) +
                                 " weights with a spatial position");
}

DepthwiseDefinition depthwiseDefinition(const KernelArguments& arguments, const CpuTuning& tuning) {
    const Shape& weights = typeOf(arguments, arguments.node.inputs[1]).shape;
    return {.node = *std::get_if<DepthwiseConv2d>(&arguments.node.descriptor),
            .filterH = weights[1],
            .filterW = weights[2],
            .channels = weights[3],
            .epilogue = {},
            .threads = arguments.threads,
            .tuning = tuning};
}

Result<std::unique_ptr<const StepKernel>> compile(const DepthwiseConv2d& /*node*/,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    const Node& whole = arguments.node;
    DepthwiseDefinition definition = depthwiseDefinition(arguments, target.tuning);
    definition.epilogue = Epilogue::of(arguments, target.set);
    arguments.packed.push_back(whole.inputs[1]);
    arguments.packed.push_back(whole.inputs[2]);
    const DataType type = typeOf(arguments, whole.inputs[0]).type;
    if (type == DataType::FLOAT16) {
        const DepthwiseChoice choice = chooseHalfDepthwise(
                arguments.options.fastMath || arguments.graph.relaxedFloat(), target.set);
        const HalfDepthwise* const halves = halfDepthwise(target.set);
        return withLostForms(choice.form == Form::HALF_DEPTHWISE && halves != nullptr
                                     ? compileHalfDepthwise(definition, arguments, *halves)
                                     : compileFloatDepthwise(definition, arguments, target),
                             choice.lost.toString());
    }
    return isOfBytes(type) ? compileQuantizedDepthwise(definition, arguments, target)
                           : compileFloatDepthwise(definition, arguments, target);
}

}  // namespace halyard::engine::cpu
