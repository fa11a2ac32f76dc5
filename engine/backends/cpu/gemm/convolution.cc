// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/choice/grouped_choice.h"
#include "engine/backends/cpu/gemm/conv_gemm.h"
#include "engine/backends/cpu/gemm/gemm_layer.h"
#include "engine/backends/cpu/gemm/grouped_conv.h"
#include "engine/backends/cpu/gemm/weights.h"
#include "engine/backends/cpu/kernels/chosen_kernel.h"
#include "engine/backends/cpu/kernels/kernels.h"
#include "engine/backends/cpu/kernels/plain_kernel.h"
#include "engine/reference/kernels.h"

namespace halyard::engine::cpu {

Status supports(const Conv2d& /*node*/, const Graph& graph, const Node& whole) {
    return supportsSums(graph, whole);
}

Result<std::unique_ptr<const StepKernel>> compile(const Conv2d& node,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    // Nothing is fused with such a node, unless another process has just changed the weights.
    if (arguments.others.empty() && padsWhatIsNotFinite(arguments.graph, arguments.node)) {
        return plainKernel(arguments, "reference",
                           [node](KernelCall& call) { return ref::run(node, call); });
    }
    const ConvGemmNode own = {
            .window = &node.window, .groups = node.groups, .activation = node.activation};
    if (node.groups == 1) {
        return compileConvGemm(own, arguments, target);
    }
    const ConvGemmFilter filter =
            filterOf(own, typeOf(arguments, arguments.node.inputs[1]).shape, 1);
    const GroupedChoice choice = chooseGrouped(gemmLayerOf(arguments, filter, target.set));
    return withLostForms(choice.form == Form::GROUPED_VECTORS
                                 ? compileGroupedConv(node, arguments, target)
                                 : compileConvGemm(own, arguments, target),
                         choice.lost.toString());
}

Status supports(const FullyConnected& /*node*/, const Graph& graph, const Node& whole) {
    return supportsSums(graph, whole);
}

Result<std::unique_ptr<const StepKernel>> compile(const FullyConnected& node,
                                                  const KernelArguments& arguments,
                                                  const CpuTarget& target) {
    return compileConvGemm({.activation = node.activation}, arguments, target);
}

}  // namespace halyard::engine::cpu
