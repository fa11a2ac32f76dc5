// SPDX-License-Identifier: Apache-2.0
//
// Inputs whose values steer a node: the axes of a Reduce, the paddings of a Pad, the shape of a
// Reshape. Their elements may lie in memory that a client still writes to, so each is read once,
// and whoever reads it again (the kernel, after inference) checks it again.

#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>

#include "engine/base/status.h"
#include "engine/graph/shape_inference.h"

namespace halyard::engine {

struct Padding {
    int32_t before = 0;
    int32_t after = 0;
};
using Paddings = std::array<Padding, kMaxRank>;

// An INT32 tensor of `rank` dimensions; unknown ranks pass.
Status checkControlInput(const KnownInput& input, size_t rank, std::string_view role);

// Whether the elements can be read: they are there, or there are none.
bool isKnown(const KnownInput& input);

// Element `index` of an INT32 input with known elements; the caller has checked the index.
int32_t readElement(const KnownInput& input, size_t index);

// The axes of a tensor of `rank` dimensions that a known list of axes names, each in [-rank, rank).
Result<std::bitset<kMaxRank>> readAxes(const KnownInput& axes, size_t rank);

// The known paddings of a tensor of `rank` dimensions: `paddings` is [rank, 2], none is negative.
Result<Paddings> readPaddings(const KnownInput& paddings, size_t rank);

}  // namespace halyard::engine
