// SPDX-License-Identifier: Apache-2.0
//
// Parts of a tensor, and tensors with something around them or repeated.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "engine/graph/control_input.h"
#include "engine/graph/node_rules.h"
#include "engine/graph/shape_inference.h"

namespace halyard::engine {
namespace {

std::string named(size_t axis) {
    return "axis " + std::to_string(axis);
}

// Where Python lets a slice begin or end that is asked to at `index`: [0, extent] walking up,
// [-1, extent) walking down.
int64_t clampIndex(int32_t index, int32_t extent, bool up) {
    const int64_t fromStart = index < 0 ? static_cast<int64_t>(index) + extent : index;
    return std::clamp<int64_t>(fromStart, up ? 0 : -1,
                               up ? extent : static_cast<int64_t>(extent) - 1);
}

// An axis goes if its slice, taken as any other's, walks up to one element.
Status checkShrinks(int32_t stride, int64_t count, size_t axis) {
    if (stride < 1) {
        return invalidArgument("the stride of " + named(axis) + ", which goes, must be positive");
    }
    if (count != 1) {
        return invalidArgument("the slice of " + named(axis) + ", which goes, has " +
                               std::to_string(count) + " elements, not 1");
    }
    return {};
}

bool marks(int32_t mask, size_t axis) {
    return (static_cast<uint32_t>(mask) >> axis & 1U) != 0;
}

// Checks the lists of a slice, whose first is `inputs[1]`. The rank of x, if it is known.
Result<int32_t> checkSliceLists(std::span<const KnownInput> inputs,
                                std::span<const std::string_view> roles) {
    int32_t rank = kUnknownDimension;
    for (size_t i = 0; i < roles.size(); ++i) {
        Shape x = inputs[0].shape();
        if (!x.hasKnownRank() && rank != kUnknownDimension) {
            x = unknownExtents(static_cast<size_t>(rank));
        }
        HALYARD_ASSIGN_OR_RETURN(rank, checkListPerAxis(inputs[i + 1], roles[i], x));
    }
    return rank;
}

Status checkPadValue(const Pad& node, const TensorType& x, const TensorType& value) {
    if (node.mode != Pad::Mode::CONSTANT) {
        return invalidArgument("a mirror takes no value");
    }
    HALYARD_RETURN_IF_ERROR(isQuantized(x.type)
                                    ? checkType(value, "the value", kInt32)
                                    : checkSameType(x, "the input", value, "the value"));
    return checkOneElement(value.shape, "the value");
}

bool areKnown(std::span<const KnownInput> lists) {
    return std::ranges::all_of(lists, isKnown);
}

}  // namespace

Result<SliceRanges> readSlice(std::span<const KnownInput> inputs, const Shape& x) {
    const std::span<const int32_t> begins = elementsOf(inputs[1]);
    const std::span<const int32_t> sizes = elementsOf(inputs[2]);
    SliceRanges ranges;
    for (size_t axis = 0; axis < x.rank(); ++axis) {
        const int32_t begin = begins[axis];
        if (begin < 0 || begin > x[axis]) {
            return invalidArgument("begin " + std::to_string(begin) + " is not in " + named(axis) +
                                   " of extent " + std::to_string(x[axis]));
        }
        const int32_t rest = x[axis] - begin;
        const int32_t size = sizes[axis] == -1 ? rest : sizes[axis];
        if (size < 0 || size > rest) {
            return invalidArgument("size " + std::to_string(size) + " from " +
                                   std::to_string(begin) + " on does not fit " + named(axis) +
                                   " of extent " + std::to_string(x[axis]));
        }
        ranges[axis] = {.begin = begin, .stride = 1, .extent = size};
    }
    return ranges;
}

Result<SliceRanges> readStridedSlice(const StridedSlice& node, std::span<const KnownInput> inputs,
                                     const Shape& x) {
    const std::span<const int32_t> begins = elementsOf(inputs[1]);
    const std::span<const int32_t> ends = elementsOf(inputs[2]);
    const std::span<const int32_t> strides = elementsOf(inputs[3]);
    SliceRanges ranges;
    for (size_t axis = 0; axis < x.rank(); ++axis) {
        const int32_t stride = strides[axis];
        if (stride == 0) {
            return invalidArgument("the stride of " + named(axis) + " is 0");
        }
        const bool up = stride > 0;
        const int32_t extent = x[axis];
        const int64_t begin = marks(node.beginMask, axis)
                                      ? (up ? 0 : static_cast<int64_t>(extent) - 1)
                                      : clampIndex(begins[axis], extent, up);
        const int64_t end =
                marks(node.endMask, axis) ? (up ? extent : -1) : clampIndex(ends[axis], extent, up);
        const int64_t length = up ? end - begin : begin - end;
        const int64_t step = up ? stride : -static_cast<int64_t>(stride);
        const int64_t count = std::max<int64_t>(0, (length + step - 1) / step);
        const bool shrinks = marks(node.shrinkMask, axis);
        if (shrinks) {
            HALYARD_RETURN_IF_ERROR(checkShrinks(stride, count, axis));
        }
        ranges[axis] = {.begin = count == 0 ? 0 : static_cast<int32_t>(begin),
                        .stride = shrinks ? 1 : stride,
                        .extent = static_cast<int32_t>(count),
                        .shrunk = shrinks};
    }
    return ranges;
}

Status inferShapes(const Slice& /*node*/, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    static constexpr std::string_view kRoles[] = {"the list of beginnings", "the list of sizes"};
    HALYARD_RETURN_IF_ERROR(checkMoved(*inputs[0].type, outputs[0]));
    HALYARD_ASSIGN_OR_RETURN(const int32_t known, checkSliceLists(inputs, kRoles));
    outputs[0].shape = Shape::unknownRank();
    if (known == kUnknownDimension) {
        return {};
    }
    const auto rank = static_cast<size_t>(known);
    outputs[0].shape = unknownExtents(rank);
    const Shape& x = inputs[0].shape();
    if (areKnown(inputs.subspan(1)) && x.isFullyKnown()) {
        HALYARD_ASSIGN_OR_RETURN(const SliceRanges ranges, readSlice(inputs, x));
        for (size_t axis = 0; axis < rank; ++axis) {
            outputs[0].shape[axis] = ranges[axis].extent;
        }
    } else if (isKnown(inputs[2])) {
        // A size that is said needs no extent.
        HALYARD_ASSIGN_OR_RETURN(const std::span<const int32_t> sizes,
                                 readList(inputs[2], "a size", -1));
        std::ranges::transform(sizes, &outputs[0].shape[0],
                               [](int32_t size) { return size < 0 ? kUnknownDimension : size; });
    }
    return {};
}

Status inferShapes(const StridedSlice& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    static constexpr std::string_view kRoles[] = {"the list of beginnings", "the list of ends",
                                                  "the list of strides"};
    HALYARD_RETURN_IF_ERROR(checkMoved(*inputs[0].type, outputs[0]));
    HALYARD_ASSIGN_OR_RETURN(const int32_t known, checkSliceLists(inputs, kRoles));
    outputs[0].shape = Shape::unknownRank();
    if (known == kUnknownDimension) {
        return {};
    }
    const auto rank = static_cast<size_t>(known);
    const Shape& x = inputs[0].shape();
    SliceRanges ranges;
    const bool rangesKnown = areKnown(inputs.subspan(1)) && x.isFullyKnown();
    if (rangesKnown) {
        HALYARD_ASSIGN_OR_RETURN(ranges, readStridedSlice(node, inputs, x));
    }
    std::array<int32_t, kMaxRank> kept = {1};  // nothing left is one element, not a scalar
    size_t count = 0;
    for (size_t axis = 0; axis < rank; ++axis) {
        if (!marks(node.shrinkMask, axis)) {
            kept[count++] = rangesKnown ? ranges[axis].extent : kUnknownDimension;
        }
    }
    if (count == 0 && rank > 0) {
        count = 1;
    }
    outputs[0].shape = Shape(std::span<const int32_t>(kept).first(count));
    return {};
}

Status inferShapes(const Pad& node, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    const bool mirrors = node.mode != Pad::Mode::CONSTANT;
    HALYARD_RETURN_IF_ERROR(checkType(*inputs[0].type, "the input", mirrors ? kMovable : kNumbers));
    HALYARD_RETURN_IF_ERROR(
            checkSameElements(*inputs[0].type, "the input", outputs[0], "the output"));
    if (inputs[2].present()) {
        HALYARD_RETURN_IF_ERROR(checkPadValue(node, *inputs[0].type, *inputs[2].type));
    }
    HALYARD_RETURN_IF_ERROR(checkControlInput(inputs[1], 2, "the paddings"));
    HALYARD_ASSIGN_OR_RETURN(const Shape paddings, asRank(inputs[1].shape(), 2, "the paddings"));
    HALYARD_RETURN_IF_ERROR(
            sameExtent(paddings[1], "the paddings' columns", 2, "before and after").status());
    const Shape& x = inputs[0].shape();
    HALYARD_ASSIGN_OR_RETURN(
            const int32_t known,
            sameExtent(x.hasKnownRank() ? static_cast<int32_t>(x.rank()) : kUnknownDimension,
                       "the input's rank", paddings[0], "the paddings' rows"));
    if (known == kUnknownDimension) {
        outputs[0].shape = Shape::unknownRank();
        return {};
    }
    const auto rank = static_cast<size_t>(known);
    HALYARD_RETURN_IF_ERROR(checkRankLimit(rank));
    outputs[0].shape = unknownExtents(rank);
    if (!isKnown(inputs[1])) {
        return {};
    }
    HALYARD_ASSIGN_OR_RETURN(const Paddings amounts, readPaddings(inputs[1], rank));
    for (size_t axis = 0; x.hasKnownRank() && axis < rank; ++axis) {
        const std::string what = "the padding of " + named(axis);
        const Padding& amount = amounts[axis];
        // A mirror shows what is there, with the edge or without.
        const int32_t most = x[axis] - (node.mode == Pad::Mode::REFLECT ? 1 : 0);
        if (mirrors && x[axis] != kUnknownDimension && std::max(amount.before, amount.after) > 0 &&
            std::max(amount.before, amount.after) > most) {
            return invalidArgument(what + " is more than the " + std::to_string(std::max(most, 0)) +
                                   " elements that can be mirrored");
        }
        HALYARD_ASSIGN_OR_RETURN(int32_t padded, addExtents(x[axis], amount.before, what));
        HALYARD_ASSIGN_OR_RETURN(outputs[0].shape[axis], addExtents(padded, amount.after, what));
    }
    return {};
}

Status inferShapes(const Tile& /*node*/, std::span<const KnownInput> inputs,
                   std::span<TensorType> outputs) {
    HALYARD_RETURN_IF_ERROR(checkMoved(*inputs[0].type, outputs[0]));
    const Shape& x = inputs[0].shape();
    HALYARD_ASSIGN_OR_RETURN(const int32_t rank,
                             checkListPerAxis(inputs[1], "the list of multiples", x));
    if (rank == kUnknownDimension) {
        outputs[0].shape = Shape::unknownRank();
        return {};
    }
    outputs[0].shape = unknownExtents(static_cast<size_t>(rank));
    if (!isKnown(inputs[1])) {
        return {};
    }
    HALYARD_ASSIGN_OR_RETURN(const std::span<const int32_t> multiples,
                             readList(inputs[1], "a multiple", 0));
    for (size_t axis = 0; x.hasKnownRank() && axis < x.rank(); ++axis) {
        HALYARD_ASSIGN_OR_RETURN(
                outputs[0].shape[axis],
                multiplyExtents(x[axis], multiples[axis], "the multiple of " + named(axis)));
    }
    return {};
}

}  // namespace halyard::engine
