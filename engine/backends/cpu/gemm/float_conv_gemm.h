// SPDX-License-Identifier: Apache-2.0
//
// Convolutions and fully connected layers of floats and halves by float_gemm.h.

#pragma once

#include <memory>

#include "engine/backends/cpu/gemm/conv_gemm_definition.h"
#include "engine/backends/cpu/vectors/instruction_set.h"
#include "engine/base/status.h"
#include "engine/plan/step_kernel.h"

namespace halyard::engine::cpu {

// Packs inputs 1 and 2 of a node of floats or halves.
Result<PackedConstant> packFloatConvGemm(InstructionSet set, const ConvGemmFilter& filter,
                                         const KernelArguments& arguments);

// Whether bfloat16 has each of the node's weights, bit for bit. Reads them.
Result<bool> areBf16(const ConvGemmDefinition& definition, const KernelArguments& arguments);

// The constants are inputs 1 and 2 of the node. `hasBf16Weights`: they are packed as bfloat16, for
// up to FloatGemm::fewRows rows.
Result<std::unique_ptr<const StepKernel>> compileFloatConvGemm(ConvGemmDefinition definition,
                                                               const KernelArguments& arguments,
                                                               InstructionSet set,
                                                               bool hasBf16Weights);

}  // namespace halyard::engine::cpu
