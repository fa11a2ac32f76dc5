// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/gemm/conv_gemm.h"

#include <optional>
#include <utility>

#include "engine/backends/cpu/gemm/amx_conv_gemm.h"
#include "engine/backends/cpu/gemm/bf16_split_conv_gemm.h"
#include "engine/backends/cpu/gemm/conv_gemm_definition.h"
#include "engine/backends/cpu/gemm/float_conv_gemm.h"
#include "engine/backends/cpu/gemm/quantized_conv_gemm.h"
#include "engine/backends/cpu/gemm/quantized_gemm.h"
#include "engine/backends/cpu/gemm/weights.h"

namespace halyard::engine::cpu {

Result<std::unique_ptr<const StepKernel>> compileConvGemm(const ConvGemmNode& node,
                                                          const KernelArguments& arguments,
                                                          const CpuTarget& target) {
    const Node& whole = arguments.node;
    const bool bytes = isOfBytes(typeOf(arguments, whole.inputs[0]).type);
    ConvGemmDefinition definition = convGemmDefinition(
            node, arguments, bytes ? quantizedGemm(target.set).depthGroup : 1, target.tuning);
    definition.epilogue = Epilogue::of(arguments, target.set);
    arguments.packed.push_back(whole.inputs[1]);
    arguments.packed.push_back(whole.inputs[2]);
    if (!bytes) {
        if (const Bf16SplitGemm* const split = bf16SplitGemm(target.set); split != nullptr) {
            HALYARD_ASSIGN_OR_RETURN(const std::optional<HiLoSplit> parts,
                                     hiLoSplitOf(definition, arguments));
            if (parts.has_value()) {
                return compileBf16SplitConvGemm(std::move(definition), arguments, *split, *parts,
                                                toString(target.set));
            }
        }
        return compileFloatConvGemm(std::move(definition), arguments, target.set);
    }
    const AmxInt8Gemm* const tiles = amxInt8Gemm(target.set);
    return tiles != nullptr && isLegalForAmx(arguments.graph, whole) &&
                           isProfitableOnAmx(definition.filter,
                                             typeOf(arguments, whole.outputs[0]).shape,
                                             target.tuning)
                   ? compileAmxConvGemm(std::move(definition), arguments, *tiles,
                                        toString(target.set))
                   : compileQuantizedConvGemm(std::move(definition), arguments, target.set);
}

}  // namespace halyard::engine::cpu
