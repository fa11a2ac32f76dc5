// SPDX-License-Identifier: Apache-2.0
//
// Convolutions and fully connected layers of bytes by amx_int8_gemm.h.

#pragma once

#include <memory>
#include <string_view>

#include "engine/backends/cpu/gemm/amx_int8_gemm.h"
#include "engine/backends/cpu/gemm/conv_gemm_definition.h"
#include "engine/base/status.h"
#include "engine/plan/step_kernel.h"

namespace halyard::engine::cpu {

// Whether tiles can compute the node: its results are of its input's type, and no multiplier is
// more than kMostTileMultiplier.
bool isLegalForAmx(const Graph& graph, const Node& node);

// Whether tiles are the faster form of a node with that output: not where most of each would stay
// empty, or where nobody knows yet how many rows there are.
bool isProfitableOnAmx(const ConvGemmFilter& filter, const Shape& output, const CpuTuning& tuning);

// Takes what isLegalForAmx(). `set` is what the form is called by.
Result<std::unique_ptr<const StepKernel>> compileAmxConvGemm(ConvGemmDefinition definition,
                                                             const KernelArguments& arguments,
                                                             const AmxInt8Gemm& form,
                                                             std::string_view set);

}  // namespace halyard::engine::cpu
