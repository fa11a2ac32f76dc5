// SPDX-License-Identifier: Apache-2.0
//
// Operands as programs describe them, and how many bytes their elements take.

#pragma once

#include <android/NeuralNetworks.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "driver/model/model.h"
#include "nnapi/answer.h"
#include "nnapi/extension_prefixes.h"

namespace halyard::nnapi {

// BAD_DATA: a type that `level` does not know or whose extension has no prefix, dimensions, a scale
// or a zero point that the type does not take.
Answer readOperandType(const ANeuralNetworksOperandType& type, const ExtensionPrefixes& prefixes,
                       driver::HalVersion level, driver::Operand& operand);

bool isTensor(const driver::Operand& operand, const ExtensionPrefixes& prefixes);

// Whether all extents are there; of a scalar always. A tensor's rank has to be known.
bool isFullySpecified(std::span<const uint32_t> dimensions, bool isTensor);

// Of so many elements. Nothing where extents are unspecified or the bytes are more than 32 bits
// count; 0 of a type whose size nobody knows.
std::optional<uint64_t> byteSizeOf(const driver::Operand& operand,
                                   std::span<const uint32_t> dimensions,
                                   const ExtensionPrefixes& prefixes);

// Dimensions that both allow: what one leaves open the other says. Nothing: they differ.
std::optional<std::vector<uint32_t>> mergedDimensions(std::span<const uint32_t> a,
                                                      std::span<const uint32_t> b);

// Whether type and quantisation are the same.
bool haveOneType(const driver::Operand& a, const driver::Operand& b);

}  // namespace halyard::nnapi
