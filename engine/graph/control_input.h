// SPDX-License-Identifier: Apache-2.0
//
// Control inputs of a node: the axes of a Reduce, the paddings of a Pad, the shape of a Reshape,
// whose values decide sizes or addresses. They never lie in memory that a client can write to, so
// that what was read once stays true; the values may be wrong all the same. Each reader fails with
// INVALID_ARGUMENT and serves inference and kernels alike.

#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "engine/base/status.h"
#include "engine/graph/shape_inference.h"

namespace halyard::engine {

// An INT32 tensor of `rank` dimensions; unknown ranks pass.
Status checkControlInput(const KnownInput& input, size_t rank, std::string_view role);

// An INT32 list with one element for each axis of a tensor of shape `x`. The number of axes, from
// whichever of the two is known; kUnknownDimension where neither is. UNSUPPORTED above kMaxRank.
Result<int32_t> checkListPerAxis(const KnownInput& list, std::string_view role, const Shape& x);

// An INT32 list of `length` elements.
Status checkList(const KnownInput& list, std::string_view role, int32_t length);

// Whether the elements can be read: they are there, or there are none.
bool isKnown(const KnownInput& input);

// The elements of an INT32 input that isKnown().
std::span<const int32_t> elementsOf(const KnownInput& input);

// The elements of a known list, each at least `least`.
Result<std::span<const int32_t>> readList(const KnownInput& list, std::string_view role,
                                          int32_t least);

// The axes of a tensor of `rank` dimensions that a known list of axes names, each in [-rank, rank).
Result<std::bitset<kMaxRank>> readAxes(const KnownInput& axes, size_t rank);

// The axis that an INT32 [1] names.
Result<size_t> readAxis(const KnownInput& axis, size_t rank);

struct Padding {
    int32_t before = 0;
    int32_t after = 0;
};
using Paddings = std::array<Padding, kMaxRank>;

// The known paddings of a tensor of `rank` dimensions: `paddings` is [rank, 2], none is negative.
Result<Paddings> readPaddings(const KnownInput& paddings, size_t rank);

// Axis i of the output is axis permutation[i] of x. Without a list the axes are reversed.
using Permutation = std::array<size_t, kMaxRank>;
Result<Permutation> readPermutation(const KnownInput& permutation, size_t rank);

// Every `stride`-th element along an axis, `extent` of them, from `begin` on.
struct SliceRange {
    int32_t begin = 0;
    int32_t stride = 1;
    int32_t extent = 0;
    bool shrunk = false;  // the axis goes; extent is 1
};
using SliceRanges = std::array<SliceRange, kMaxRank>;

// The ranges of a tensor of shape `x` that Slice and StridedSlice read; `x` is fully known, as are
// the lists. `inputs` are the node's.
Result<SliceRanges> readSlice(std::span<const KnownInput> inputs, const Shape& x);
Result<SliceRanges> readStridedSlice(const StridedSlice& node, std::span<const KnownInput> inputs,
                                     const Shape& x);

}  // namespace halyard::engine
