// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "engine/backends/cpu/gemm/conv_gemm_definition.h"
#include "engine/backends/cpu/gemm/quantized_gemm.h"
#include "engine/backends/cpu/gemm/weights.h"
#include "engine/base/status.h"
#include "engine/plan/step_kernel.h"

namespace halyard::engine::cpu {

// Packs inputs 1 and 2 of a node of bytes as the panels of quantized_gemm.h. A filter whose runs
// follow one another without gaps is one of a single run.
Result<PackedConstant> packQuantizedConvGemm(const PanelLayout& layout,
                                             const ConvGemmFilter& filter, const ByteZeros& zeros,
                                             const KernelArguments& arguments);

// Whether none of those weights is -128 as it is packed, for QuantizedBlock::hasSmallWeights.
Result<bool> haveSmallWeights(const ByteZeros& zeros, const KernelArguments& arguments);

}  // namespace halyard::engine::cpu
