# SPDX-License-Identifier: Apache-2.0
"""Operators that move elements and compute nothing: reshapes, transposes, slices, pads, and the
like."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from halyard.errors import NotExpressible
from halyard.model import Array, TensorType
from halyard.onnx.reading.mapper import MAX_RANK, NHWC, PLAIN, Layout, Mapper, Plan
from halyard.onnx.reading.network import Node
from halyard.onnx.reading.pooling import unchanged
from halyard.proto import halyard_pb2 as pb

_INT32 = pb.OPERAND_TYPE_TENSOR_INT32
_BOOL8 = pb.OPERAND_TYPE_TENSOR_BOOL8


def _moving(mapper: Mapper, node: Node, inputs: Sequence[str]) -> Plan:
    """Of bytes where those stay the same."""
    plan = mapper.plan(node, inputs, quantizes=True, fits=unchanged)
    mapper.absorb(node, plan)
    return plan


def identity(mapper: Mapper, node: Node) -> None:
    """Dropout too, which does nothing outside of training."""
    if node.input(2) and mapper.known(node.input(2), "training mode").any():
        raise NotExpressible("it is in training mode")
    mapper.alias(node.outputs[0], node.input(0))


def reshape(mapper: Mapper, node: Node) -> None:
    """Flatten, Squeeze and Unsqueeze too: the output's shape is known."""
    plan = _moving(mapper, node, [node.input(0)])
    dims = mapper.dims(plan.output)
    if dims == mapper.dims(plan.inputs[0]):
        mapper.alias(plan.output, plan.inputs[0])
        return
    source = mapper.operand(plan.inputs[0])
    shape = mapper.builder.vector("", dims)
    mapper.define(plan.output, pb.OPERATION_TYPE_RESHAPE, [source, shape])


def transpose(mapper: Mapper, node: Node) -> None:
    plan = _moving(mapper, node, [node.input(0)])
    data, output = plan.inputs[0], plan.output
    shape = mapper.shape(node.input(0))
    permutation = node.integers("perm", range(len(shape))[::-1])
    if len(shape) < 2:
        mapper.alias(output, data)
        return
    # An image with its channels last is there already, or will be wanted so.
    if permutation == [0, 2, 3, 1] and mapper.has(data, NHWC):
        mapper.hold(output, PLAIN, mapper.operand(data, NHWC))
    elif permutation == [0, 2, 1] and mapper.has(data, NHWC):
        mapper.define_as(output, mapper.operand(data, NHWC))
    elif permutation == [0, 3, 1, 2]:
        mapper.hold(output, NHWC, mapper.operand(data))
    else:
        index = _permuted(mapper, mapper.operand(data), shape, permutation, output)
        mapper.hold(output, PLAIN, mapper.reshaped(index, mapper.dims(output), output))


def _permuted(
    mapper: Mapper, index: int, shape: Sequence[int], permutation: Sequence[int], name: str
) -> int:
    """Dimensions that stay beside each other are moved as one, so that four are enough for more."""
    runs: list[list[int]] = []
    for axis in permutation:
        if shape[axis] == 1:
            continue
        if runs and _follows(runs[-1][-1], axis, shape):
            runs[-1].append(axis)
        else:
            runs.append([axis])
    order = sorted(range(len(runs)), key=lambda run: runs[run][0])
    extents = [math.prod(shape[axis] for axis in run) for run in runs]
    if len(runs) > MAX_RANK:
        raise NotExpressible(f"it moves {len(runs)} dimensions, and NNAPI takes {MAX_RANK}")
    if len(shape) <= MAX_RANK:
        return mapper.transposed(index, permutation, name)
    merged = mapper.reshaped(index, [extents[run] for run in order] or [1], f"{name}/merged")
    return mapper.transposed(merged, [order.index(run) for run in range(len(runs))] or [0], name)


def _follows(before: int, axis: int, shape: Sequence[int]) -> bool:
    """Whether nothing but ones lies between."""
    return before < axis and all(shape[each] == 1 for each in range(before + 1, axis))


def concatenation(mapper: Mapper, node: Node) -> None:
    """Of those that have elements."""
    names = [name for name in node.inputs if 0 not in mapper.shape(name)]
    plan = mapper.plan(node, names or node.inputs, quantizes=True)
    mapper.absorb(node, plan)
    layout = mapper.layout_of(plan.inputs)
    axis = mapper.axis(node.outputs[0], node.integer("axis", 1), layout)
    kept, rank = mapper.kept(plan.output), len(mapper.shape(plan.output))
    inputs = [
        mapper.aligned(name, kept, rank) if rank > MAX_RANK else mapper.operand(name, layout)
        for name in plan.inputs
    ]
    if mapper.tensor_type(plan.output).type == _INT32:
        raise NotExpressible("CONCATENATION does not take INT32")
    place = mapper.builder.int32(axis)
    mapper.define(plan.output, pb.OPERATION_TYPE_CONCATENATION, [*inputs, place], layout)


# ---- parts --------------------------------------------------------------------------------------


def split(mapper: Mapper, node: Node) -> None:
    data = node.input(0)
    layout = mapper.layout_of([data])
    axis = mapper.axis(data, node.integer("axis", 0), layout)
    source = mapper.operand(data, layout)
    outputs = list(node.outputs)
    sizes = [mapper.shape(name)[node.integer("axis", 0)] for name in outputs]
    if len(set(sizes)) == 1 and len(mapper.shape(data)) <= MAX_RANK:
        builder = mapper.builder
        tensors = [(name, mapper.tensor_type(name, layout)) for name in outputs]
        inputs = [source, builder.int32(axis), builder.int32(len(outputs))]
        results = mapper.emit_n(pb.OPERATION_TYPE_SPLIT, inputs, tensors)
        for name, index in zip(outputs, results, strict=True):
            mapper.hold(name, layout, index)
        return
    dims, begin = list(mapper.builder.operand(source).dimensions), 0
    for name, size in zip(outputs, sizes, strict=True):
        dims[axis] = size
        _cut(mapper, name, source, {axis: begin}, layout, dims)
        begin += size


def _cut(
    mapper: Mapper,
    name: str,
    source: int,
    begins: dict[int, int],
    layout: Layout,
    sizes: Sequence[int],
) -> None:
    """So much from there on."""
    begin = mapper.builder.vector("", [begins.get(axis, 0) for axis in range(len(sizes))])
    size = mapper.builder.vector("", sizes)
    mapper.define(name, pb.OPERATION_TYPE_SLICE, [source, begin, size], layout, sizes)


def slicing(mapper: Mapper, node: Node) -> None:
    data = node.input(0)
    shape = mapper.shape(data)
    if node.opset >= 10:
        words = ("starts", "ends", "axes", "steps")
        given = [
            mapper.known(node.input(place + 1), word).tolist() if node.input(place + 1) else []
            for place, word in enumerate(words)
        ]
    else:
        given = [node.integers(word) for word in ("starts", "ends", "axes")] + [[]]
    starts, ends, axes, steps = given
    axes = axes or list(range(len(starts)))
    steps = steps or [1] * len(starts)
    plan = _moving(mapper, node, [data])
    layout = mapper.layout_of(plan.inputs)
    source = mapper.operand(plan.inputs[0], layout)
    dims = list(mapper.builder.operand(source).dimensions)
    begin, end, stride = [0] * len(dims), list(dims), [1] * len(dims)
    for start, stop, axis, step in zip(starts, ends, axes, steps, strict=True):
        # As numpy reads them, with the negative ones and those beyond.
        first, last, _ = slice(start, stop, step).indices(shape[axis])
        place = mapper.axis(data, axis, layout)
        begin[place], end[place], stride[place] = first, last, step
    sizes = [
        len(range(first, last, step)) for first, last, step in zip(begin, end, stride, strict=True)
    ]
    if all(step == 1 for step in stride):
        _cut(mapper, plan.output, source, dict(enumerate(begin)), layout, sizes)
        return
    # An end before the first element has no number, but a bit of the mask.
    mask = sum(1 << place for place, last in enumerate(end) if stride[place] < 0 and last < 0)
    builder = mapper.builder
    inputs = [
        source,
        *(builder.vector("", values) for values in (begin, end, stride)),
        *(builder.int32(value) for value in (0, mask, 0)),
    ]
    mapper.define(plan.output, pb.OPERATION_TYPE_STRIDED_SLICE, inputs, layout, sizes)


def gather(mapper: Mapper, node: Node) -> None:
    data, indices = node.inputs
    axis = mapper.axis(data, node.integer("axis", 0))
    known = mapper.constant(indices)
    output = node.outputs[0]
    dims = list(mapper.dims(data))
    extent = dims[axis]
    if known is not None and known.size and (known.min() < -extent or known.max() >= extent):
        raise NotExpressible(f"its indices go beyond {extent}")
    if known is not None and known.size == 1:
        # One place: what is left is a slice, whatever the dimensions of the index.
        dims[axis] = 1
        begin = {axis: int(known.reshape(-1)[0]) % extent}
        _cut(mapper, output, mapper.operand(data), begin, PLAIN, dims)
        return
    where = mapper.dims(indices)
    results = [*dims[:axis], *where, *dims[axis + 1 :]]
    if len(results) > MAX_RANK:
        # The elements that it goes through one after the other.
        where = (math.prod(where),)
        results = [*dims[:axis], *where, *dims[axis + 1 :]]
    builder = mapper.builder
    if known is not None:
        values = (known % extent).reshape(where).astype(np.int32)
        numbers = builder.constant(indices, TensorType(_INT32, where), values)
    else:
        numbers = mapper.reshaped(mapper.operand(indices), where, f"{indices}/numbers")
        numbers = _from_the_front(mapper, indices, numbers, extent)
    inputs = [mapper.operand(data), builder.int32(axis), numbers]
    mapper.define(output, pb.OPERATION_TYPE_GATHER, inputs, PLAIN, results)


def _from_the_front(mapper: Mapper, name: str, numbers: int, extent: int) -> int:
    """Indices of which negative ones count from the end, as GATHER takes them."""
    if mapper.ranges.of(name).low >= 0:
        return numbers
    tensor = replace(mapper.like(numbers), dimensions=(1,))
    zero, more = (
        mapper.builder.constant("", tensor, np.full(1, value, np.int32)) for value in (0, extent)
    )
    negative = mapper.step(pb.OPERATION_TYPE_LESS, [numbers, zero], kind=_BOOL8)
    added = mapper.step(pb.OPERATION_TYPE_ADD, [numbers, more, mapper.builder.int32(0)])
    tensor = mapper.like(numbers)
    inputs = [negative, added, numbers]
    return mapper.emit(pb.OPERATION_TYPE_SELECT, inputs, f"{name}/from_the_front", tensor)


# ---- more of the same ---------------------------------------------------------------------------


def pad(mapper: Mapper, node: Node) -> None:
    data, mode = node.input(0), node.word("mode", "constant")
    if mode not in ("constant", "edge", "reflect", "wrap"):
        raise NotExpressible(f"it pads in mode {mode}")
    shape = mapper.shape(data)
    if node.opset >= 11:
        amounts = mapper.known(node.input(1), "padding").tolist()
        value = 0.0
        if node.input(2):
            value = float(mapper.known(node.input(2), "value").reshape(-1)[0])
        axes = mapper.known(node.input(3), "axes").tolist() if node.input(3) else []
    else:
        amounts, value, axes = node.integers("pads"), node.real("value", 0.0), []
    axes = axes or list(range(len(shape)))
    gathers = mode in _PLACES
    if min(amounts, default=0) < 0 and not gathers:
        raise NotExpressible("it takes away, by negative padding")
    quantizes = gathers or (mode == "constant" and value == 0.0)
    plan = mapper.plan(node, [data], quantizes=quantizes, fits=unchanged)
    mapper.absorb(node, plan)
    layout = mapper.layout_of(plan.inputs)
    source = mapper.operand(plan.inputs[0], layout)
    pairs = np.zeros((len(mapper.builder.operand(source).dimensions), 2), np.int32)
    for place, axis in enumerate(axes):
        before, after = amounts[place], amounts[place + len(axes)]
        if before or after:
            pairs[mapper.axis(data, axis, layout)] = before, after
    if gathers:
        mapper.define_as(plan.output, _padded_by_places(mapper, source, pairs, mode), layout)
        return
    table = mapper.builder.constant("", TensorType(_INT32, pairs.shape), pairs)
    if mode == "reflect":
        how = mapper.builder.int32(0)
        mapper.define(plan.output, pb.OPERATION_TYPE_MIRROR_PAD, [source, table, how], layout)
    elif value == 0.0:
        mapper.define(plan.output, pb.OPERATION_TYPE_PAD, [source, table], layout)
    else:
        mapper.require_real(data)
        inputs = [source, table, mapper.real(value, source)]
        mapper.define(plan.output, pb.OPERATION_TYPE_PAD_V2, inputs, layout)


# Where what is padded comes from, of places from before the first element to behind the last.
_PLACES: Mapping[str, Callable[[Array, int], Array]] = {
    "edge": lambda places, extent: places.clip(0, extent - 1),
    "wrap": lambda places, extent: places % extent,
}


def _padded_by_places(mapper: Mapper, source: int, pairs: Array, mode: str) -> int:
    """Along one dimension after the other."""
    for axis, (before, after) in enumerate(pairs.tolist()):
        dims = list(mapper.builder.operand(source).dimensions)
        places = np.arange(-before, dims[axis] + after)
        if before or after:
            # Negative padding takes its share away before the rest is looked at.
            first, last = max(-before, 0), dims[axis] + min(after, 0)
            found = first + _PLACES[mode](places - first, last - first)
            numbers = mapper.builder.vector("", found.tolist())
            dims[axis] = len(places)
            inputs = [source, mapper.builder.int32(axis), numbers]
            source = mapper.step(pb.OPERATION_TYPE_GATHER, inputs, dims)
    return source


def tile(mapper: Mapper, node: Node) -> None:
    """Expand too: the output's shape says how often each dimension is there."""
    data, output = node.input(0), node.outputs[0]
    kept, rank = mapper.kept(output), len(mapper.shape(output))
    source = mapper.aligned(data, kept, rank) if rank else mapper.operand(data)
    full, wanted = mapper.builder.operand(source).dimensions, mapper.dims(output)
    times = mapper.builder.vector("", [a // b for a, b in zip(wanted, full, strict=True)])
    mapper.define(output, pb.OPERATION_TYPE_TILE, [source, times])


def _reordered(mapper: Mapper, source: int, order: Array) -> int:
    """Channels, which are last, in another order."""
    numbers = mapper.builder.constant("", TensorType(_INT32, order.shape), order)
    return mapper.step(pb.OPERATION_TYPE_GATHER, [source, mapper.builder.int32(3), numbers])


def depth_to_space(mapper: Mapper, node: Node) -> None:
    data, size = node.input(0), node.integer("blocksize", 1)
    source, block = mapper.operand(data, NHWC), mapper.builder.int32(size)
    if node.word("mode", "DCR") == "CRD":
        # Its channels in the order of the other mode.
        channels = np.arange(mapper.shape(data)[1], dtype=np.int32)
        source = _reordered(mapper, source, channels.reshape(-1, size * size).T.reshape(-1))
    mapper.define(node.outputs[0], pb.OPERATION_TYPE_DEPTH_TO_SPACE, [source, block], NHWC)


def space_to_depth(mapper: Mapper, node: Node) -> None:
    data, output, size = node.input(0), node.outputs[0], node.integer("blocksize", 1)
    inputs = [mapper.operand(data, NHWC), mapper.builder.int32(size)]
    if node.word("mode", "DCR") == "CRD":
        tensor = mapper.tensor_type(output, NHWC)
        blocks = mapper.step(pb.OPERATION_TYPE_SPACE_TO_DEPTH, inputs, tensor.dimensions)
        channels = np.arange(tensor.dimensions[3], dtype=np.int32)
        order = channels.reshape(size * size, -1).T.reshape(-1)
        mapper.hold(output, NHWC, _reordered(mapper, blocks, order))
        return
    mapper.define(output, pb.OPERATION_TYPE_SPACE_TO_DEPTH, inputs, NHWC)
