// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/gemm/conv_gemm.h"

#include <utility>
#include <variant>

#include "engine/backends/cpu/choice/gemm_choice.h"
#include "engine/backends/cpu/gemm/amx_conv_gemm.h"
#include "engine/backends/cpu/gemm/bf16_split_conv_gemm.h"
#include "engine/backends/cpu/gemm/conv_gemm_definition.h"
#include "engine/backends/cpu/gemm/float_conv_gemm.h"
#include "engine/backends/cpu/gemm/gemm_layer.h"
#include "engine/backends/cpu/gemm/half_conv_gemm.h"
#include "engine/backends/cpu/gemm/half_gemm.h"
#include "engine/backends/cpu/gemm/quantized_conv_gemm.h"
#include "engine/backends/cpu/gemm/quantized_gemm.h"
#include "engine/backends/cpu/gemm/weights.h"
#include "engine/backends/cpu/gemm/winograd.h"
#include "engine/backends/cpu/kernels/chosen_kernel.h"

namespace halyard::engine::cpu {
namespace {

// Reads the weights for a question of the choice.
Result<bool> answer(WeightFact fact, const ConvGemmDefinition& definition,
                    const KernelArguments& arguments) {
    switch (fact) {
        case WeightFact::ARE_BFLOAT16:
            return areBf16(definition, arguments);
        case WeightFact::ARE_IN_SAFE_RANGE:
            return areInSafeRange(definition, arguments);
        case WeightFact::ARE_TRANSFORMABLE:
            return canUseWinograd(*std::get_if<Conv2d>(&arguments.node.descriptor), arguments);
    }
    return false;
}

Result<std::unique_ptr<const StepKernel>> compileForm(const GemmChoice& choice,
                                                      ConvGemmDefinition definition,
                                                      const KernelArguments& arguments,
                                                      InstructionSet set) {
    switch (choice.form) {
        case Form::INT8_GEMM_AMX:
            if (const AmxInt8Gemm* const tiles = amxInt8Gemm(set); tiles != nullptr) {
                return compileAmxConvGemm(std::move(definition), arguments, *tiles, toString(set));
            }
            return internalError("this build has no tiles");
        case Form::BF16_SPLIT_GEMM:
            if (const Bf16SplitGemm* const tiles = bf16SplitGemm(set); tiles != nullptr) {
                return compileBf16SplitConvGemm(
                        std::move(definition), arguments, *tiles,
                        {.left = choice.leftParts, .right = choice.rightParts}, toString(set));
            }
            return internalError("this build has no tiles");
        case Form::HALF_GEMM:
            if (const HalfGemm* const halves = halfGemm(set); halves != nullptr) {
                return compileHalfConvGemm(std::move(definition), arguments, *halves);
            }
            return internalError("this build has no arithmetic of binary16");
        case Form::BF16_WEIGHT_GEMM:
        case Form::FLOAT_GEMM:
            return compileFloatConvGemm(std::move(definition), arguments, set,
                                        choice.form == Form::BF16_WEIGHT_GEMM);
        default:
            return compileQuantizedConvGemm(std::move(definition), arguments, set);
    }
}

}  // namespace

Result<std::unique_ptr<const StepKernel>> compileConvGemm(const ConvGemmNode& node,
                                                          const KernelArguments& arguments,
                                                          const CpuTarget& target) {
    const Node& whole = arguments.node;
    const bool isInt8 = isOfBytes(typeOf(arguments, whole.inputs[0]).type);
    ConvGemmDefinition definition = convGemmDefinition(
            node, arguments, isInt8 ? quantizedGemm(target.set).depthGroup : 1, target.tuning);
    HALYARD_ASSIGN_OR_RETURN(
            const GemmChoice choice,
            chooseGemm(gemmLayerOf(arguments, definition.filter, target.set), target,
                       [&](WeightFact fact) { return answer(fact, definition, arguments); }));
    if (choice.form == Form::WINOGRAD_2X2 || choice.form == Form::WINOGRAD_4X4) {
        const int32_t side = choice.form == Form::WINOGRAD_4X4 ? 4 : 2;
        return withLostForms(
                compileWinograd(*std::get_if<Conv2d>(&whole.descriptor), side, arguments, target),
                choice.lost.toString());
    }
    definition.epilogue = Epilogue::of(arguments, target.set);
    arguments.packed.push_back(whole.inputs[1]);
    arguments.packed.push_back(whole.inputs[2]);
    return withLostForms(compileForm(choice, std::move(definition), arguments, target.set),
                         choice.lost.toString());
}

}  // namespace halyard::engine::cpu
