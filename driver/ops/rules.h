// SPDX-License-Identifier: Apache-2.0
//
// Rules that several operations share, about operands that match a form already. Each failure is
// INVALID_ARGUMENT and names the operand. What is omitted satisfies every rule.

#pragma once

#include <cstddef>
#include <cstdint>

#include "driver/ops/operation_view.h"

namespace halyard::driver {

// An unknown rank satisfies every rule about ranks: executions check it.
Status requireRank(const OperandView& view, size_t rank);
Status requireRankAtMost(const OperandView& view, size_t rank);

// Quantised types only; others pass.
Status requireSameQuantization(const OperandView& a, const OperandView& b);
// `scale` is one over a whole number.
Status requireQuantization(const OperandView& view, float scale, int32_t zeroPoint);
// Probabilities: scale 1/256 and the type's smallest value as the zero point.
Status requireProbabilityQuantization(const OperandView& view);
// Bias of a quantised product: scale(input) * scale(filter), to one part in a million as in AOSP.
// With per-channel filters each bias element has its own scale and the operand's is not used.
Status requireBiasScale(const OperandView& input, const OperandView& filter,
                        const OperandView& bias);
// Before 1.2, quantised products needed an output scale above scale(input) * scale(filter).
Status requireCoarserOutput(const OperationView& view, const OperandView& input,
                            const OperandView& filter, const OperandView& output);
// Before 1.2, operations padded with real zeros or with zero points, unless they were the same.
Status requireZeroPointZero(const OperationView& view, const OperandView& input);
// The dimension that a per-channel filter's scales run along; other filters pass.
Status requireChannelDim(const OperandView& filter, uint32_t channelDim);

// TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_ASYMM_SIGNED.
bool isAsymmetric8Bit(OperandType type);

}  // namespace halyard::driver
