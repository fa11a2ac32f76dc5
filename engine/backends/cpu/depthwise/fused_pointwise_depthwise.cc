// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/depthwise/fused_pointwise_depthwise.h"

#include "engine/backends/cpu/gemm/amx_int8_gemm.h"
#include "engine/backends/cpu/gemm/weights.h"

namespace halyard::engine::cpu {

Result<std::unique_ptr<const StepKernel>> compileFusedPointwiseDepthwise(
        const KernelArguments& arguments, const CpuTarget& target) {
    return typeOf(arguments, arguments.node.inputs[0]).type == DataType::FLOAT32
                   ? compileFusedPointwiseDepthwiseFloats(arguments, target)
                   : compileFusedPointwiseDepthwiseBytes(arguments, *amxInt8Gemm(target.set),
                                                         target);
}

}  // namespace halyard::engine::cpu
