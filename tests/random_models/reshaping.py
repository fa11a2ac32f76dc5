# SPDX-License-Identifier: Apache-2.0
"""Operations that arrange elements anew: ranks, negative axes, both layouts, blocks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halyard.model import TensorType
from halyard.proto import halyard_pb2 as pb
from tests.random_models.sketch import (
    ASYMM16,
    B8,
    BYTES,
    FLOATS,
    I32,
    SYMM8,
    SYMM16,
    RandomCase,
    Sketch,
    generator,
    like,
    product,
)

_MOST = (*FLOATS, *BYTES)


def _data(sketch: Sketch, shape: Sequence[int], *more: int) -> TensorType:
    return sketch.type_of(sketch.pick((*_MOST, *more)), shape)


def _close(sketch: Sketch, data: TensorType, inputs: Sequence[int]) -> RandomCase:
    """The output has the quantisation of the input."""
    return sketch.finish(inputs, like(data))


@generator("RESHAPE")
def reshape(sketch: Sketch) -> RandomCase:
    shape = sketch.shape(1, 4)
    target, rest = [], product(shape)
    for _ in range(sketch.integer(0, 3)):
        target.append(sketch.pick([n for n in range(1, rest + 1) if rest % n == 0]))
        rest //= target[-1]
    target.append(rest)
    if sketch.chance(0.4):
        target[sketch.integer(0, len(target) - 1)] = -1
    data = _data(sketch, shape, I32)
    return _close(sketch, data, [sketch.tensor(data), sketch.vector(target)])


@generator("SQUEEZE")
def squeeze(sketch: Sketch) -> RandomCase:
    """Some extent is left, so that the result is no scalar."""
    shape = list(sketch.shape(2, 4))
    shape[sketch.integer(0, len(shape) - 1)] = 1
    if set(shape) == {1}:
        shape[-1] = 3
    data = _data(sketch, shape)
    inputs = [sketch.tensor(data)]
    axes = [axis for axis, extent in enumerate(shape) if extent == 1 and sketch.chance(0.7)]
    if axes and sketch.chance(0.7):
        inputs.append(sketch.vector([a - len(shape) if sketch.chance(0.3) else a for a in axes]))
    else:
        inputs.append(sketch.omitted(I32))
    return _close(sketch, data, inputs)


@generator("EXPAND_DIMS")
def expand_dims(sketch: Sketch) -> RandomCase:
    data = _data(sketch, sketch.shape(1, 4), I32)
    axis = sketch.axis(len(data.dimensions) + 1)
    return _close(sketch, data, [sketch.tensor(data), sketch.integer_scalar(axis)])


@generator("TRANSPOSE")
def transpose(sketch: Sketch) -> RandomCase:
    data = _data(sketch, sketch.shape(1, 4))
    inputs = [sketch.tensor(data)]
    if sketch.chance(0.8):
        order = sketch.source.permutation(len(data.dimensions))
        inputs.append(sketch.vector([int(axis) for axis in order]))
    else:
        inputs.append(sketch.omitted(I32))
    return _close(sketch, data, inputs)


@generator("CONCATENATION")
def concatenation(sketch: Sketch) -> RandomCase:
    """Parts of a quantised concatenation may have quantisations of their own."""
    shape = list(sketch.shape(1, 4))
    axis = sketch.integer(0, len(shape) - 1)
    operand_type = sketch.pick(_MOST)
    first: TensorType | None = None
    inputs = []
    for _ in range(sketch.integer(1, 5)):
        shape[axis] = sketch.integer(1, 5)
        part = sketch.type_of(operand_type, shape, like=first if sketch.chance() else None)
        first = first or part
        inputs.append(sketch.tensor(part))
    assert first is not None
    inputs.append(sketch.integer_scalar(axis))
    fit = [0] if operand_type in BYTES and sketch.chance() else []
    return sketch.finish(inputs, like(first), fit=fit)


@generator("PACK")
def pack(sketch: Sketch) -> RandomCase:
    data = _data(sketch, sketch.shape(1, 3), I32)
    axis = sketch.integer(0, len(data.dimensions))
    inputs = [sketch.integer_scalar(axis)]
    inputs += [sketch.tensor(data) for _ in range(sketch.integer(1, 5))]
    return _close(sketch, data, inputs)


@generator("SPLIT")
def split(sketch: Sketch) -> RandomCase:
    shape = list(sketch.shape(1, 4))
    axis, count = sketch.axis(len(shape)), sketch.integer(1, 4)
    shape[axis] = count * sketch.integer(1, 3)
    data = _data(sketch, shape, I32)
    inputs = [sketch.tensor(data), sketch.integer_scalar(axis), sketch.integer_scalar(count)]
    return sketch.finish(inputs, *[like(data)] * count)


@generator("TILE")
def tile(sketch: Sketch) -> RandomCase:
    data = _data(sketch, sketch.shape(1, 4, 4), I32)
    multiples = [sketch.integer(1, 3) for _ in data.dimensions]
    return _close(sketch, data, [sketch.tensor(data), sketch.vector(multiples)])


@generator("REVERSE")
def reverse(sketch: Sketch) -> RandomCase:
    data = _data(sketch, sketch.shape(1, 4), I32)
    axis = sketch.integer(0, len(data.dimensions) - 1)
    return _close(sketch, data, [sketch.tensor(data), sketch.vector([axis])])


@generator("CHANNEL_SHUFFLE")
def channel_shuffle(sketch: Sketch) -> RandomCase:
    shape = list(sketch.shape(1, 4))
    axis, groups = sketch.axis(len(shape)), sketch.integer(1, 5)
    shape[axis] = groups * sketch.integer(1, 5)
    data = _data(sketch, shape)
    inputs = [sketch.tensor(data), sketch.integer_scalar(groups), sketch.integer_scalar(axis)]
    return _close(sketch, data, inputs)


def _image(sketch: Sketch, nchw: bool, *extents: int) -> TensorType:
    batch, height, width, depth = extents
    shape = (batch, depth, height, width) if nchw else (batch, height, width, depth)
    return _data(sketch, shape)


def _layout(sketch: Sketch, nchw: bool) -> list[int]:
    return [sketch.flag(nchw)] if nchw or sketch.chance() else []


@generator("DEPTH_TO_SPACE", "SPACE_TO_DEPTH")
def depth_and_space(sketch: Sketch) -> RandomCase:
    block, nchw = sketch.integer(1, 4), sketch.chance(0.4)
    batch, height, width, depth = (sketch.integer(1, 3) for _ in range(4))
    if sketch.operation == "DEPTH_TO_SPACE":
        depth *= block**2
    else:
        height, width = height * block, width * block
    data = _image(sketch, nchw, batch, height, width, depth)
    inputs = [sketch.tensor(data), sketch.integer_scalar(block), *_layout(sketch, nchw)]
    return _close(sketch, data, inputs)


@generator("BATCH_TO_SPACE_ND")
def batch_to_space_nd(sketch: Sketch) -> RandomCase:
    blocks, nchw = [sketch.integer(1, 3), sketch.integer(1, 3)], sketch.chance(0.4)
    batch, height, width, depth = (sketch.integer(1, 3) for _ in range(4))
    data = _image(sketch, nchw, batch * blocks[0] * blocks[1], height, width, depth)
    inputs = [sketch.tensor(data), sketch.vector(blocks), *_layout(sketch, nchw)]
    return _close(sketch, data, inputs)


@generator("SPACE_TO_BATCH_ND")
def space_to_batch_nd(sketch: Sketch) -> RandomCase:
    nchw = sketch.chance(0.4)
    blocks, pads, extents = [], [], []
    for _ in range(2):
        block, before, after = sketch.integer(1, 3), sketch.integer(0, 3), sketch.integer(0, 3)
        extent = sketch.integer(1, 5)
        after += -(extent + before + after) % block
        blocks.append(block)
        pads += [before, after]
        extents.append(extent)
    data = _image(sketch, nchw, sketch.integer(1, 3), *extents, sketch.integer(1, 4))
    margins = sketch.tensor(TensorType(I32, (2, 2)), np.array(pads, "<i4"))
    inputs = [sketch.tensor(data), sketch.vector(blocks), margins, *_layout(sketch, nchw)]
    return _close(sketch, data, inputs)


@generator("RANK")
def rank(sketch: Sketch) -> RandomCase:
    data = _data(sketch, sketch.shape(1, 5), I32, B8, SYMM8, SYMM16, ASYMM16)
    return sketch.finish([sketch.tensor(data)], TensorType(pb.OPERAND_TYPE_INT32, ()))


@generator("FILL")
def fill(sketch: Sketch) -> RandomCase:
    operand_type, shape = sketch.pick((*FLOATS, I32)), sketch.shape(1, 5)
    value = (
        sketch.integer_scalar(sketch.integer(-(2**31), 2**31 - 1))
        if operand_type == I32
        else sketch.number(operand_type, sketch.pick((0.0, -2.5, 1e4, 0.125)))
    )
    return sketch.finish([sketch.vector(shape), value], TensorType(operand_type, ()))
