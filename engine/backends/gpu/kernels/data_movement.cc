// SPDX-License-Identifier: Apache-2.0
//
// Nodes that move elements: maps whose body keeps the element, one for each part that is moved by
// strides.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "engine/backends/gpu/kernels/kernels.h"
#include "engine/backends/gpu/kernels/map.h"
#include "engine/graph/control_input.h"
#include "engine/numerics/elements.h"
#include "engine/numerics/requantize.h"

namespace halyard::engine::gpu {
namespace {

// More parts of a mirrored tensor would be a launch each.
constexpr size_t kMostMirroredAxes = 5;

int64_t bytesPerElement(const TensorType& type) {
    return static_cast<int64_t>(elementSize(type.type));
}

int64_t countFrom(const Shape& shape, size_t firstAxis) {
    return countOf(Shape(shape.extents().subspan(firstAxis)));
}

// Elements of `from` by strides, from number `origin` on, to `to` likewise.
struct Side {
    Operand operand;
    Extents strides;
    int64_t origin = 0;
};

Status move(StepPlan& step, const TensorType& type, Extents extents, const Side& from,
            const Side& to) {
    const int64_t bytes = bytesPerElement(type);
    const std::string_view storage = movedStorageOf(type.type);
    return addMap(step, {.extents = std::move(extents),
                         .inputs = {{.operand = from.operand.at(from.origin * bytes),
                                     .storage = storage,
                                     .strides = from.strides}},
                         .output = {.operand = to.operand.at(to.origin * bytes),
                                    .storage = storage,
                                    .strides = to.strides}});
}

// The whole output, seen as a tensor of these extents, from the input by strides.
Status moveToAll(StepPlan& step, const Extents& extents, Extents strides, int64_t origin = 0) {
    return move(step, step.output(), extents,
                {.operand = step.in(0), .strides = std::move(strides), .origin = origin},
                {.operand = step.out(), .strides = denseStrides(extents)});
}

Status moveAll(StepPlan& step) {
    const Extents count = {countOf(step.output().shape)};
    return moveToAll(step, count, {1});
}

// `bits`: those of the element.
Status fill(StepPlan& step, const TensorType& type, const Operand& operand, int64_t count,
            int32_t bits) {
    Map map = {.extents = {count},
               .output = {.operand = operand, .storage = movedStorageOf(type.type), .strides = {1}},
               .body = "r = n.a;"};
    map.numbers.a = bits;
    return addMap(step, map);
}

int32_t zeroOf(const TensorType& type) {
    return isQuantized(type.type) ? type.quantization.zeroPoint : 0;
}

// Each part's rows one after the other in the rows of the output.
Status join(StepPlan& step, size_t axis) {
    const TensorType& output = step.output();
    const int64_t outputRow = countFrom(output.shape, axis);
    const int64_t rows = countOf(output.shape) / outputRow;
    int64_t begin = 0;
    for (size_t part = 0; part < step.inputCount(); ++part) {
        const TensorType& input = step.input(part);
        const int64_t row = countFrom(input.shape, axis);
        const bool moves = !isQuantized(output.type) || input.quantization == output.quantization;
        const std::string_view storage =
                moves ? movedStorageOf(output.type) : storageOf(output.type);
        Map map = {.extents = {rows, row},
                   .inputs = {{.operand = step.in(part), .storage = storage, .strides = {row, 1}}},
                   .output = {.operand = step.out().at(begin * bytesPerElement(output)),
                              .storage = storage,
                              .strides = {outputRow, 1}}};
        if (!moves) {
            map.numbers.take(0, input.quantization);
            map.numbers.take(3, output.quantization);
            map.numbers.factor =
                    multiplier(input.quantization.scale, 1.0F, output.quantization.scale);
            map.numbers.least = minValue(output.type);
            map.numbers.most = maxValue(output.type);
            map.body =
                    "r = round_and_clamp((float)(a - n.zero[0]) * n.factor, n.zero[3], n.least,"
                    " n.most);";
        }
        HALYARD_RETURN_IF_ERROR(addMap(step, map));
        begin += row;
    }
    return {};
}

Status slice(StepPlan& step, const SliceRanges& ranges) {
    const Shape& x = step.input(0).shape;
    const Strides dense = stridesOf(x);
    Extents extents;
    Extents strides;
    int64_t origin = 0;
    for (size_t axis = 0; axis < x.rank(); ++axis) {
        extents.push_back(ranges[axis].extent);
        strides.push_back(ranges[axis].stride * dense[axis]);
        origin += ranges[axis].begin * dense[axis];
    }
    return moveToAll(step, extents, std::move(strides), origin);
}

// Elements of one axis of a mirrored tensor that come from neighbours in x, in either direction.
struct Segment {
    int64_t to = 0;
    int64_t from = 0;
    int64_t stride = 1;
    int64_t count = 0;
};

std::vector<Segment> segmentsOf(const Padding& padding, int64_t extent, Pad::Mode mode) {
    const int64_t edge = mode == Pad::Mode::SYMMETRIC ? 1 : 0;
    const std::array<Segment, 3> all = {
            Segment{.to = 0, .from = padding.before - edge, .stride = -1, .count = padding.before},
            Segment{.to = padding.before, .from = 0, .stride = 1, .count = extent},
            Segment{.to = padding.before + extent,
                    .from = extent - 2 + edge,
                    .stride = -1,
                    .count = padding.after}};
    std::vector<Segment> segments;
    std::ranges::copy_if(all, std::back_inserter(segments),
                         [](const Segment& segment) { return segment.count > 0; });
    return segments;
}

Status mirror(StepPlan& step, const Paddings& paddings, Pad::Mode mode) {
    const Shape& x = step.input(0).shape;
    const Strides from = stridesOf(x);
    const Strides to = stridesOf(step.output().shape);
    std::vector<std::vector<Segment>> axes;
    for (size_t axis = 0; axis < x.rank(); ++axis) {
        axes.push_back(segmentsOf(paddings[axis], x[axis], mode));
    }
    std::vector<size_t> chosen(x.rank(), 0);
    while (true) {
        Extents extents;
        Side source = {.operand = step.in(0), .strides = {}};
        Side target = {.operand = step.out(), .strides = {}};
        for (size_t axis = 0; axis < x.rank(); ++axis) {
            const Segment& segment = axes[axis][chosen[axis]];
            extents.push_back(segment.count);
            source.strides.push_back(segment.stride * from[axis]);
            source.origin += segment.from * from[axis];
            target.strides.push_back(to[axis]);
            target.origin += segment.to * to[axis];
        }
        HALYARD_RETURN_IF_ERROR(move(step, step.output(), std::move(extents), source, target));
        size_t axis = x.rank();
        while (axis-- > 0 && ++chosen[axis] == axes[axis].size()) {
            chosen[axis] = 0;
        }
        if (axis >= x.rank()) {
            return {};
        }
    }
}

// The element around x, as its bits: of the value where there is one.
Result<int32_t> paddingElement(const KnownInput& value, const TensorType& type) {
    if (!value.present()) {
        return zeroOf(type);
    }
    if (isQuantized(type.type) || elementSize(type.type) == 4) {
        return *value.as<int32_t>();
    }
    if (elementSize(type.type) == 2) {
        return int32_t{*value.as<uint16_t>()};
    }
    return int32_t{*value.as<uint8_t>()};
}

}  // namespace

#define HALYARD_MOVES_ANYTHING(Descriptor)                                                     \
    Status supports(const Descriptor& /*node*/, const Graph& /*graph*/, const Node& /*whole*/, \
                    const DeviceFacts& /*facts*/) {                                            \
        return {};                                                                             \
    }
HALYARD_MOVES_ANYTHING(Reshape)
HALYARD_MOVES_ANYTHING(Squeeze)
HALYARD_MOVES_ANYTHING(ExpandDims)
HALYARD_MOVES_ANYTHING(Transpose)
HALYARD_MOVES_ANYTHING(Reverse)
HALYARD_MOVES_ANYTHING(ChannelShuffle)
HALYARD_MOVES_ANYTHING(Fill)
HALYARD_MOVES_ANYTHING(Rank)
HALYARD_MOVES_ANYTHING(Concat)
HALYARD_MOVES_ANYTHING(Pack)
HALYARD_MOVES_ANYTHING(Split)
HALYARD_MOVES_ANYTHING(Slice)
HALYARD_MOVES_ANYTHING(StridedSlice)
HALYARD_MOVES_ANYTHING(Tile)
HALYARD_MOVES_ANYTHING(DepthToSpace)
HALYARD_MOVES_ANYTHING(SpaceToDepth)
HALYARD_MOVES_ANYTHING(BatchToSpace)
HALYARD_MOVES_ANYTHING(SpaceToBatch)
#undef HALYARD_MOVES_ANYTHING

Status plan(const Reshape& /*node*/, StepPlan& step) {
    return moveAll(step);
}

Status plan(const Squeeze& /*node*/, StepPlan& step) {
    return moveAll(step);
}

Status plan(const ExpandDims& /*node*/, StepPlan& step) {
    return moveAll(step);
}

Status plan(const Transpose& /*node*/, StepPlan& step) {
    const Shape& x = step.input(0).shape;
    HALYARD_ASSIGN_OR_RETURN(
            const Permutation permutation,
            readPermutation(step.inputCount() > 1 ? step.known(1) : KnownInput(), x.rank()));
    const Strides dense = stridesOf(x);
    Extents strides;
    for (size_t axis = 0; axis < x.rank(); ++axis) {
        strides.push_back(dense[permutation[axis]]);
    }
    return moveToAll(step, extentsOf(step.output().shape), std::move(strides));
}

Status plan(const Reverse& /*node*/, StepPlan& step) {
    const Shape& x = step.input(0).shape;
    HALYARD_ASSIGN_OR_RETURN(const size_t reversed, readAxis(step.known(1), x.rank()));
    Extents strides = stridesAlong(stridesOf(x), x.rank());
    const int64_t origin = (x[reversed] - 1) * strides[reversed];
    strides[reversed] = -strides[reversed];
    return moveToAll(step, extentsOf(x), std::move(strides), origin);
}

Status plan(const ChannelShuffle& node, StepPlan& step) {
    const Shape& x = step.input(0).shape;
    HALYARD_ASSIGN_OR_RETURN(const size_t axis, resolveAxis(node.axis, x.rank()));
    const int64_t inner = countFrom(x, axis + 1);
    const int64_t each = x[axis] / node.groups;
    const int64_t outer = countOf(x) / countFrom(x, axis);
    return moveToAll(step, {outer, each, node.groups, inner},
                     {x[axis] * inner, inner, each * inner, 1});
}

Status plan(const Fill& /*node*/, StepPlan& step) {
    return move(step, step.output(), {countOf(step.output().shape)},
                {.operand = step.in(1), .strides = {0}}, {.operand = step.out(), .strides = {1}});
}

Status plan(const Rank& /*node*/, StepPlan& step) {
    return fill(step, step.output(), step.out(), 1,
                static_cast<int32_t>(step.input(0).shape.rank()));
}

Status plan(const Concat& node, StepPlan& step) {
    HALYARD_ASSIGN_OR_RETURN(const size_t axis, resolveAxis(node.axis, step.output().shape.rank()));
    return join(step, axis);
}

Status plan(const Pack& node, StepPlan& step) {
    HALYARD_ASSIGN_OR_RETURN(const size_t axis, resolveAxis(node.axis, step.output().shape.rank()));
    return join(step, axis);
}

Status plan(const Split& node, StepPlan& step) {
    const TensorType& x = step.input(0);
    HALYARD_ASSIGN_OR_RETURN(const size_t axis, resolveAxis(node.axis, x.shape.rank()));
    const int64_t inputRow = countFrom(x.shape, axis);
    int64_t begin = 0;
    for (size_t part = 0; part < step.outputCount(); ++part) {
        const int64_t row = countFrom(step.output(part).shape, axis);
        HALYARD_RETURN_IF_ERROR(
                move(step, x, {countOf(x.shape) / inputRow, row},
                     {.operand = step.in(0), .strides = {inputRow, 1}, .origin = begin},
                     {.operand = step.out(part), .strides = {row, 1}}));
        begin += row;
    }
    return {};
}

Status plan(const Slice& /*node*/, StepPlan& step) {
    const std::vector<KnownInput> inputs = step.allKnown();
    HALYARD_ASSIGN_OR_RETURN(const SliceRanges ranges, readSlice(inputs, inputs[0].shape()));
    return slice(step, ranges);
}

Status plan(const StridedSlice& node, StepPlan& step) {
    const std::vector<KnownInput> inputs = step.allKnown();
    HALYARD_ASSIGN_OR_RETURN(const SliceRanges ranges,
                             readStridedSlice(node, inputs, inputs[0].shape()));
    return slice(step, ranges);
}

Status supports(const Pad& node, const Graph& graph, const Node& whole,
                const DeviceFacts& /*facts*/) {
    const Tensor& paddings = graph.tensor(whole.inputs[1]);
    if (node.mode != Pad::Mode::CONSTANT) {
        const std::span elements(reinterpret_cast<const int32_t*>(paddings.constant.bytes.data()),
                                 paddings.constant.bytes.size() / sizeof(int32_t));
        size_t mirrored = 0;
        for (size_t i = 0; i + 1 < elements.size(); i += 2) {
            mirrored += elements[i] > 0 || elements[i + 1] > 0 ? 1 : 0;
        }
        return mirrored <= kMostMirroredAxes
                       ? Status()
                       : unsupported("mirrors " + std::to_string(kMostMirroredAxes) +
                                     " axes at most");
    }
    if (whole.inputs.size() < 3 || whole.inputs[2] == kNoTensor) {
        return {};
    }
    const Tensor& value = graph.tensor(whole.inputs[2]);
    if (!value.isConstant()) {
        return unsupported("pads with no value that only a run tells");
    }
    const TensorType& type = graph.tensor(whole.outputs[0]).type;
    if (isQuantized(type.type)) {
        const auto element = *reinterpret_cast<const int32_t*>(value.constant.bytes.data());
        if (element < minValue(type.type) || element > maxValue(type.type)) {
            return unsupported("pads with no value that the type does not have");
        }
    }
    return {};
}

Status plan(const Pad& node, StepPlan& step) {
    const TensorType& output = step.output();
    const Shape& x = step.input(0).shape;
    HALYARD_ASSIGN_OR_RETURN(const Paddings paddings, readPaddings(step.known(1), x.rank()));
    if (node.mode != Pad::Mode::CONSTANT) {
        return mirror(step, paddings, node.mode);
    }
    HALYARD_ASSIGN_OR_RETURN(
            const int32_t element,
            paddingElement(step.inputCount() > 2 ? step.known(2) : KnownInput(), output));
    HALYARD_RETURN_IF_ERROR(fill(step, output, step.out(), countOf(output.shape), element));
    const Extents to = denseStrides(extentsOf(output.shape));
    int64_t origin = 0;
    for (size_t axis = 0; axis < x.rank(); ++axis) {
        origin += paddings[axis].before * to[axis];
    }
    return move(step, output, extentsOf(x),
                {.operand = step.in(0), .strides = denseStrides(extentsOf(x))},
                {.operand = step.out(), .strides = to, .origin = origin});
}

// Each axis as two: how often, and what.
Status plan(const Tile& /*node*/, StepPlan& step) {
    const Shape& x = step.input(0).shape;
    const Shape& output = step.output().shape;
    const Strides dense = stridesOf(x);
    Extents extents;
    Extents strides;
    for (size_t axis = 0; axis < x.rank(); ++axis) {
        extents.push_back(output[axis] / x[axis]);
        strides.push_back(0);
        extents.push_back(x[axis]);
        strides.push_back(dense[axis]);
    }
    return moveToAll(step, extents, std::move(strides));
}

Status plan(const DepthToSpace& node, StepPlan& step) {
    const Shape& x = step.input(0).shape;
    const int64_t depth = step.output().shape[3];
    const Strides strides = stridesOf(x);
    return moveToAll(step, {x[0], x[1], node.block, x[2], node.block, depth},
                     {strides[0], strides[1], node.block * depth, strides[2], depth, 1});
}

Status plan(const SpaceToDepth& node, StepPlan& step) {
    const Shape& x = step.input(0).shape;
    const Shape& output = step.output().shape;
    const Strides strides = stridesOf(x);
    return moveToAll(step, {x[0], output[1], output[2], node.block, node.block, x[3]},
                     {strides[0], node.block * strides[1], node.block * strides[2], strides[1],
                      strides[2], 1});
}

Status plan(const BatchToSpace& /*node*/, StepPlan& step) {
    const Shape& x = step.input(0).shape;
    const Shape& output = step.output().shape;
    const std::span<const int32_t> block = elementsOf(step.known(1));
    const Strides strides = stridesOf(x);
    const int64_t batches = output[0] * strides[0];  // for one place in the block
    return moveToAll(step, {output[0], x[1], block[0], x[2], block[1], x[3]},
                     {strides[0], strides[1], block[1] * batches, strides[2], batches, 1});
}

// By a padded copy, of which every block is whole.
Status plan(const SpaceToBatch& /*node*/, StepPlan& step) {
    const TensorType& output = step.output();
    const Shape& x = step.input(0).shape;
    const std::span<const int32_t> block = elementsOf(step.known(1));
    HALYARD_ASSIGN_OR_RETURN(const Paddings paddings, readPaddings(step.known(2), 2));
    const int64_t rows = output.shape[1];
    const int64_t columns = output.shape[2];
    const Extents padded = {x[0], rows * block[0], columns * block[1], x[3]};
    const Extents strides = denseStrides(padded);
    const Operand copy =
            step.scratch(static_cast<size_t>(countOf(output.shape) * bytesPerElement(output)));
    HALYARD_RETURN_IF_ERROR(fill(step, output, copy, countOf(output.shape), zeroOf(output)));
    HALYARD_RETURN_IF_ERROR(
            move(step, output, extentsOf(x),
                 {.operand = step.in(0), .strides = denseStrides(extentsOf(x))},
                 {.operand = copy,
                  .strides = strides,
                  .origin = paddings[0].before * strides[1] + paddings[1].before * strides[2]}));
    const Extents extents = {block[0], block[1], x[0], rows, columns, x[3]};
    return move(step, output, extents,
                {.operand = copy,
                 .strides = {strides[1], strides[2], strides[0], block[0] * strides[1],
                             block[1] * strides[2], 1}},
                {.operand = step.out(), .strides = denseStrides(extents)});
}

}  // namespace halyard::engine::gpu
