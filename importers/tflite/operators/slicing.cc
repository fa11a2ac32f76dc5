// SPDX-License-Identifier: Apache-2.0
//
// Operators that take parts of a tensor, or put something around it.

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "importers/tflite/operators/axes.h"
#include "importers/tflite/operators/handlers.h"

namespace halyard::tflite {
namespace {

using engine::kUnknownDimension;
using Options = StridedSliceOptions;

// STRIDED_SLICE has masks with a bit for each place of its bounds.
struct Masks {
    uint32_t begin = 0;
    uint32_t end = 0;
    uint32_t ellipsis = 0;
    uint32_t newAxis = 0;
    uint32_t shrink = 0;
    bool isOffset = false;  // ends count from where a slice begins
};

bool marks(uint32_t mask, size_t place) {
    return place < 32 && (mask >> place & 1U) != 0;
}

struct Bounds {
    std::vector<int32_t> begin;
    std::vector<int32_t> end;
    std::vector<int32_t> strides;
};

// What is taken along an axis of the input.
struct Range {
    std::optional<int32_t> begin;  // nothing: from the very end that it walks away from
    std::optional<int32_t> end;    // nothing: to the very end
    int32_t stride = 1;
    bool goes = false;  // one element, without its axis
};

struct Slices {
    std::vector<Range> ranges;          // for each axis of the input
    std::vector<int32_t> newAxes = {};  // of the output, ascending
};

std::string named(size_t axis) {
    return "axis " + std::to_string(axis);
}

// One element, at an index that is in the axis: what TFLite reads otherwise is no element of it.
Result<Range> oneElement(const Bounds& bounds, size_t place, bool fromEnd, size_t axis,
                         int32_t extent) {
    if (bounds.strides[place] < 0) {
        return unsupported("the stride of " + named(axis) + ", which goes, is negative");
    }
    int32_t at = fromEnd ? 0 : bounds.begin[place];
    if (extent != kUnknownDimension) {
        if (at < -int64_t{extent} || at >= extent) {
            return unsupported("index " + std::to_string(at) + " is not in " + named(axis) +
                               " of " + std::to_string(extent));
        }
        at += at < 0 ? extent : 0;
    }
    return Range{.begin = at,
                 .end = at == -1 ? std::nullopt : std::optional(at + 1),
                 .stride = 1,
                 .goes = true};
}

Result<Range> rangeOf(const Masks& masks, const Bounds& bounds, size_t place, size_t axis,
                      int32_t extent) {
    const int32_t stride = bounds.strides[place];
    if (stride == 0) {
        return unsupported("the stride of " + named(axis) + " is 0");
    }
    if (marks(masks.shrink, place)) {
        return oneElement(bounds, place, marks(masks.begin, place), axis, extent);
    }
    Range range = {.begin = bounds.begin[place], .end = bounds.end[place], .stride = stride};
    if (marks(masks.begin, place)) {
        range.begin = std::nullopt;
    }
    if (marks(masks.end, place)) {
        range.end = std::nullopt;
    } else if (masks.isOffset) {
        if (extent == kUnknownDimension) {
            return unsupported("its ends are offsets along " + named(axis) +
                               ", whose extent only a run tells");
        }
        const int64_t last = stride > 0 ? extent : int64_t{extent} - 1;
        int64_t begin = stride > 0 ? 0 : last;
        if (range.begin.has_value()) {
            begin = *range.begin + (*range.begin < 0 ? int64_t{extent} : 0);
            begin = std::clamp<int64_t>(begin, stride > 0 ? 0 : -1, last);
        }
        const int64_t end = begin + bounds.end[place];
        // What is negative then counts from the end again.
        range.end = static_cast<int32_t>(std::clamp<int64_t>(end, INT32_MIN, INT32_MAX));
    }
    return range;
}

// For each axis of x: bounds are of its first ones, with an ellipsis of those that an ellipsis
// leaves, and without those that are new.
Result<Slices> slicesOf(const Masks& masks, const Bounds& bounds, const engine::Shape& x) {
    const size_t places = bounds.begin.size();
    if (bounds.end.size() != places || bounds.strides.size() != places) {
        return unsupported("its bounds are of different lengths");
    }
    size_t ellipses = 0;
    size_t added = 0;
    for (size_t place = 0; place < places; ++place) {
        const bool isEllipsis = marks(masks.ellipsis, place);
        ellipses += isEllipsis ? 1 : 0;
        added += !isEllipsis && marks(masks.newAxis, place) ? 1 : 0;
    }
    if (ellipses > 1) {
        return unsupported("it has several ellipses");
    }
    if (places - ellipses - added > x.rank()) {
        return unsupported("its bounds are of " + std::to_string(places - ellipses - added) +
                           " axes, and its input has " + std::to_string(x.rank()));
    }
    const size_t left = x.rank() - (places - ellipses - added);
    if (ellipses == 1 && left == 0) {
        // TFLite has it take an axis all the same.
        return unsupported("its ellipsis stands for no axis");
    }
    Slices slices;
    int32_t kept = 0;
    for (size_t place = 0; place < places; ++place) {
        if (marks(masks.ellipsis, place)) {
            slices.ranges.resize(slices.ranges.size() + left);
            kept += static_cast<int32_t>(left);
        } else if (marks(masks.newAxis, place)) {
            slices.newAxes.push_back(kept++);
        } else {
            const size_t axis = slices.ranges.size();
            HALYARD_ASSIGN_OR_RETURN(const Range range,
                                     rangeOf(masks, bounds, place, axis, x[axis]));
            slices.ranges.push_back(range);
            kept += range.goes ? 0 : 1;
        }
    }
    slices.ranges.resize(x.rank());
    return slices;
}

// The axes of the input that a slice leaves: another shape of as many elements where all extents
// are known, else axis by axis.
Status emitShaped(Mapper& mapper, TensorId taken, const Slices& slices) {
    const int32_t output = mapper.op().outputs.front();
    std::vector<int32_t> gone;
    std::vector<int32_t> kept;
    for (size_t axis = 0; axis < slices.ranges.size(); ++axis) {
        if (slices.ranges[axis].goes) {
            gone.push_back(static_cast<int32_t>(axis));
        } else {
            kept.push_back(mapper.typeOf(taken).shape[axis]);
        }
    }
    if (hasExtents(mapper, taken) || (kept.empty() && slices.newAxes.empty())) {
        for (const int32_t axis : slices.newAxes) {
            kept.insert(kept.begin() + axis, 1);
        }
        return mapper.emitReshape(taken, kept, output);
    }
    if (kept.empty()) {
        return mapper.emitReshape(taken, std::vector<int32_t>(slices.newAxes.size(), 1), output);
    }
    TensorId at = taken;
    if (!gone.empty()) {
        const TensorId axes = mapper.int32Constant(gone);
        if (slices.newAxes.empty()) {
            return mapper.emit(engine::Squeeze{}, {at, axes});
        }
        HALYARD_ASSIGN_OR_RETURN(
                at, mapper.emitInner(engine::Squeeze{}, {at, axes}, mapper.typeOf(taken)));
    }
    for (size_t i = 0; i + 1 < slices.newAxes.size(); ++i) {
        HALYARD_ASSIGN_OR_RETURN(at, mapper.emitInner(engine::ExpandDims{.axis = slices.newAxes[i]},
                                                      {at}, mapper.typeOf(taken)));
    }
    return mapper.emit(engine::ExpandDims{.axis = slices.newAxes.back()}, {at});
}

Status emitSlices(Mapper& mapper, TensorId x, const Slices& slices) {
    engine::StridedSlice node;
    std::array<std::vector<int32_t>, 3> lists;
    bool isSame = slices.newAxes.empty();
    for (size_t axis = 0; axis < slices.ranges.size(); ++axis) {
        const Range& range = slices.ranges[axis];
        node.beginMask |= range.begin.has_value() ? 0 : 1 << axis;
        node.endMask |= range.end.has_value() ? 0 : 1 << axis;
        lists[0].push_back(range.begin.value_or(0));
        lists[1].push_back(range.end.value_or(0));
        lists[2].push_back(range.stride);
        isSame = isSame && !range.goes;
    }
    std::vector<TensorId> inputs = {x};
    for (const std::vector<int32_t>& list : lists) {
        inputs.push_back(mapper.int32Constant(list));
    }
    if (isSame) {
        return mapper.emit(node, std::move(inputs));
    }
    HALYARD_ASSIGN_OR_RETURN(const TensorId taken,
                             mapper.emitInner(node, std::move(inputs), mapper.typeOf(x)));
    return emitShaped(mapper, taken, slices);
}

// Of bounds that a run computes the engine has one for each axis.
Status emitComputed(Mapper& mapper, TensorId x, const Masks& masks) {
    if (masks.ellipsis != 0 || masks.newAxis != 0 || masks.shrink != 0 || masks.isOffset) {
        return unsupported(
                "its bounds are computed, and it has an ellipsis, an axis that comes or goes, or "
                "offsets");
    }
    std::vector<TensorId> inputs = {x};
    for (size_t place = 1; place < 4; ++place) {
        HALYARD_ASSIGN_OR_RETURN(const TensorId list, mapper.readInput(place));
        inputs.push_back(list);
    }
    return mapper.emit(engine::StridedSlice{.beginMask = static_cast<int32_t>(masks.begin),
                                            .endMask = static_cast<int32_t>(masks.end)},
                       std::move(inputs));
}

}  // namespace

Status mapStridedSlice(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(4, 4));
    HALYARD_RETURN_IF_ERROR(mapper.checkOutputCount(1, 1));
    const auto mask = [&](size_t option) { return static_cast<uint32_t>(mapper.integer(option)); };
    const Masks masks = {.begin = mask(Options::kBeginMask),
                         .end = mask(Options::kEndMask),
                         .ellipsis = mask(Options::kEllipsisMask),
                         .newAxis = mask(Options::kNewAxisMask),
                         .shrink = mask(Options::kShrinkAxisMask),
                         .isOffset = mapper.flag(Options::kOffset)};
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, mapper.readInput(0));
    HALYARD_RETURN_IF_ERROR(rankOf(mapper, x).status());
    std::array<int32_t, 3> lists = {};
    bool isKnown = true;
    for (size_t i = 0; i < lists.size(); ++i) {
        HALYARD_ASSIGN_OR_RETURN(lists[i], mapper.input(i + 1));
        isKnown = isKnown && mapper.isKnown(lists[i]);
    }
    if (!isKnown) {
        return emitComputed(mapper, x, masks);
    }
    Bounds bounds;
    HALYARD_ASSIGN_OR_RETURN(bounds.begin, mapper.integers(lists[0], "list of beginnings"));
    HALYARD_ASSIGN_OR_RETURN(bounds.end, mapper.integers(lists[1], "list of ends"));
    HALYARD_ASSIGN_OR_RETURN(bounds.strides, mapper.integers(lists[2], "list of strides"));
    HALYARD_ASSIGN_OR_RETURN(const Slices slices, slicesOf(masks, bounds, mapper.typeOf(x).shape));
    return emitSlices(mapper, x, slices);
}

Status mapSlice(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(3, 3));
    std::vector<TensorId> inputs;
    for (size_t place = 0; place < 3; ++place) {
        HALYARD_ASSIGN_OR_RETURN(const TensorId input, mapper.readInput(place));
        inputs.push_back(input);
    }
    return mapper.emit(engine::Slice{}, std::move(inputs));
}

Status mapGather(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(2, 2));
    if (const int32_t count = mapper.integer(GatherOptions::kBatchDims); count != 0) {
        return unsupported("it has " + std::to_string(count) +
                           " batch dimensions, and the engine's has none");
    }
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, mapper.readInput(0));
    HALYARD_ASSIGN_OR_RETURN(const TensorId indices, mapper.readInput(1));
    return mapper.emit(engine::Gather{.axis = mapper.integer(GatherOptions::kAxis)}, {x, indices});
}

// A node for each axis.
Status mapReverse(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(2, 2));
    HALYARD_RETURN_IF_ERROR(mapper.checkOutputCount(1, 1));
    HALYARD_ASSIGN_OR_RETURN(TensorId at, mapper.readInput(0));
    HALYARD_ASSIGN_OR_RETURN(const int32_t index, mapper.input(1));
    HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> axes, mapper.integers(index, "axes"));
    HALYARD_ASSIGN_OR_RETURN(const size_t rank, rankOf(mapper, at));
    if (axes.empty()) {
        return mapper.alias(mapper.op().outputs.front(), at);
    }
    std::vector<bool> reversed(rank);
    for (size_t i = 0; i < axes.size(); ++i) {
        HALYARD_ASSIGN_OR_RETURN(const size_t axis, axisOf(axes[i], rank));
        if (reversed[axis]) {
            return unsupported("it reverses " + named(axis) + " twice");
        }
        reversed[axis] = true;
        const TensorId list = mapper.int32Constant(std::span(&axes[i], 1));
        if (i + 1 == axes.size()) {
            return mapper.emit(engine::Reverse{}, {at, list});
        }
        HALYARD_ASSIGN_OR_RETURN(
                at, mapper.emitInner(engine::Reverse{}, {at, list}, mapper.typeOf(at)));
    }
    return {};
}

Status mapPad(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(2, 2));
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, mapper.readInput(0));
    HALYARD_ASSIGN_OR_RETURN(const TensorId paddings, mapper.readInput(1));
    return mapper.emit(engine::Pad{}, {x, paddings, engine::kNoTensor});
}

// Of quantised numbers, the value is an element of the same quantisation.
Status mapPadV2(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(3, 3));
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, mapper.readInput(0));
    HALYARD_ASSIGN_OR_RETURN(const TensorId paddings, mapper.readInput(1));
    if (!engine::isQuantized(mapper.typeOf(x).type)) {
        HALYARD_ASSIGN_OR_RETURN(const TensorId value, mapper.readInput(2));
        return mapper.emit(engine::Pad{}, {x, paddings, value});
    }
    HALYARD_ASSIGN_OR_RETURN(const int32_t index, mapper.input(2));
    HALYARD_ASSIGN_OR_RETURN(const TensorId value, mapper.read(index));
    if (mapper.typeOf(value).type != mapper.typeOf(x).type ||
        !(mapper.typeOf(value).quantization == mapper.typeOf(x).quantization)) {
        return unsupported("its value is " + mapper.typeOf(value).toString() + ", and its input " +
                           mapper.typeOf(x).toString());
    }
    HALYARD_ASSIGN_OR_RETURN(const int32_t element, mapper.oneInteger(index, "value"));
    const TensorId number = mapper.int32Constant(std::span(&element, 1));
    return mapper.emit(engine::Pad{}, {x, paddings, number});
}

Status mapMirrorPad(Mapper& mapper) {
    HALYARD_RETURN_IF_ERROR(mapper.checkInputCount(2, 2));
    engine::Pad node;
    switch (const int32_t mode = mapper.integer(MirrorPadOptions::kMode);
            static_cast<MirrorMode>(mode)) {
        case MirrorMode::REFLECT:
            node.mode = engine::Pad::Mode::REFLECT;
            break;
        case MirrorMode::SYMMETRIC:
            node.mode = engine::Pad::Mode::SYMMETRIC;
            break;
        default:
            return unsupported("its mode is " + std::to_string(mode));
    }
    HALYARD_ASSIGN_OR_RETURN(const TensorId x, mapper.readInput(0));
    HALYARD_ASSIGN_OR_RETURN(const TensorId paddings, mapper.readInput(1));
    return mapper.emit(node, {x, paddings, engine::kNoTensor});
}

}  // namespace halyard::tflite
