// SPDX-License-Identifier: Apache-2.0
//
// Functions of one 8-bit element as tables of all their results, built the same for every backend:
// what two backends look up agrees bit for bit. The functions themselves are exponential.h's, whose
// results no C library changes; everything else is one IEEE operation after the other.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/graph/nodes.h"
#include "engine/graph/tensor.h"

namespace halyard::engine {

// The activation function on a real number, in double precision.
double activated(const Activate& node, double x);
// The same, rounded to float32 once.
float applyActivation(const Activate& node, float x);

// By the input's byte, the output's, whether they stand for signed or unsigned numbers.
using ByteTable = std::array<uint8_t, 256>;

// Both of an asymmetric 8-bit type. HARD_SWISH follows hard_swish.h; the others dequantise, apply,
// quantise: that is exact where input and output share a scale and the function only clamps, and
// within one step of NNAPI's fixed point and tables otherwise.
ByteTable activationTable(const Activate& node, const TensorType& input, const TensorType& output);

// 1 / sqrt(x) likewise: the end of the range for 0, and as for every NaN the zero point below it.
ByteTable rsqrtTable(const TensorType& input, const TensorType& output);

// exp(-beta * scale * d) for every distance d between two bytes, in units of 2^-30. Integers, so
// that their sum does not depend on its order.
using ExponentialTable = std::array<uint32_t, 256>;
ExponentialTable exponentialTable(float beta, float scale);

}  // namespace halyard::engine
