# SPDX-License-Identifier: Apache-2.0
"""Operations that take parts, choose, pad and reduce: negative axes and strides, masks, ties."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halyard.model import TensorType
from tests.random_models.sketch import (
    B8,
    BYTES,
    F16,
    FLOATS,
    I32,
    RandomCase,
    Sketch,
    generator,
    like,
)


def _data(sketch: Sketch, shape: Sequence[int], *more: int) -> TensorType:
    return sketch.type_of(sketch.pick((*FLOATS, *BYTES, *more)), shape)


@generator("SLICE")
def slice_(sketch: Sketch) -> RandomCase:
    data = _data(sketch, sketch.shape(1, 5), I32)
    begins = [sketch.integer(0, extent - 1) for extent in data.dimensions]
    sizes = [
        -1 if sketch.chance(0.2) else sketch.integer(1, extent - begin)
        for begin, extent in zip(begins, data.dimensions, strict=True)
    ]
    inputs = [sketch.tensor(data), sketch.vector(begins), sketch.vector(sizes)]
    return sketch.finish(inputs, like(data))


@generator("STRIDED_SLICE")
def strided_slice(sketch: Sketch) -> RandomCase:
    """Ends that lie beyond the tensor, negative ones, negative strides, and each of the masks. No
    axis comes out empty, and one that goes has one element."""
    data = _data(sketch, sketch.shape(1, 4))
    begins, ends, strides = [], [], []
    begin_mask, end_mask, shrink_mask = 0, 0, 0
    for axis, extent in enumerate(data.dimensions):
        bit = 1 << axis
        shrinks = sketch.chance(0.15)
        while True:
            stride = sketch.pick((1, 1, 2, 3, extent) if shrinks else (1, 1, 2, 3, -1, -2))
            begin, end = (sketch.integer(-extent - 2, extent + 2) for _ in range(2))
            open_begin, open_end = sketch.chance(0.2), sketch.chance(0.2)
            whole = range(extent)
            part = whole[None if open_begin else begin : None if open_end else end : stride]
            if len(part) == 1 or (part and not shrinks):
                break
        shrink_mask |= bit if shrinks else 0
        begin_mask |= bit if open_begin else 0
        end_mask |= bit if open_end else 0
        begins.append(begin)
        ends.append(end)
        strides.append(stride)
    inputs = [sketch.tensor(data), *(sketch.vector(v) for v in (begins, ends, strides))]
    inputs += [sketch.integer_scalar(mask) for mask in (begin_mask, end_mask, shrink_mask)]
    return sketch.finish(inputs, like(data))


@generator("GATHER")
def gather(sketch: Sketch) -> RandomCase:
    data = _data(sketch, sketch.shape(1, 4), I32)
    axis = sketch.axis(len(data.dimensions))
    shape = sketch.shape(1, 3, 4)
    indices = sketch.source.integers(0, data.dimensions[axis], shape)
    inputs = [
        sketch.tensor(data),
        sketch.integer_scalar(axis),
        sketch.tensor(TensorType(I32, shape), indices),
    ]
    return sketch.finish(inputs, like(data))


@generator("PAD", "PAD_V2", "MIRROR_PAD")
def pad(sketch: Sketch) -> RandomCase:
    mirrors = sketch.operation == "MIRROR_PAD"
    many_axes = mirrors and sketch.chance(0.1)
    shape = sketch.shape(1, 4)
    if many_axes:
        shape = tuple(sketch.integer(1, 2) for _ in range(sketch.integer(5, 10)))
    data = _data(sketch, shape, *([I32] if mirrors else []))
    symmetric = sketch.chance()
    margins = []
    for extent in data.dimensions:
        most = (extent if symmetric else extent - 1) if mirrors else 3
        sides = [sketch.integer(0, min(most, 1 if many_axes else 3)) for _ in range(2)]
        margins += [sides[0], 0] if many_axes else sides
    rows = TensorType(I32, (len(data.dimensions), 2))
    inputs = [sketch.tensor(data), sketch.tensor(rows, np.array(margins))]
    if mirrors:
        inputs.append(sketch.integer_scalar(int(symmetric)))
    elif sketch.operation == "PAD_V2":
        value = int(sketch.stored(like(data, (1,)))[0]) if data.type in BYTES else 0
        number = sketch.pick((0.0, -1.5, 9.25))
        inputs.append(
            sketch.integer_scalar(value) if data.type in BYTES else sketch.number(data.type, number)
        )
    return sketch.finish(inputs, like(data))


_REDUCED = {
    "MEAN": (*FLOATS, *BYTES),
    "REDUCE_ALL": (B8,),
    "REDUCE_ANY": (B8,),
    "REDUCE_MAX": (*FLOATS, *BYTES),
    "REDUCE_MIN": (*FLOATS, *BYTES),
    "REDUCE_PROD": FLOATS,
    "REDUCE_SUM": FLOATS,
}


@generator(*_REDUCED)
def reduction(sketch: Sketch) -> RandomCase:
    """Axes from both ends, some of them twice."""
    data = sketch.type_of(sketch.pick(_REDUCED[sketch.operation]), sketch.shape(1, 4))
    rank = len(data.dimensions)
    axes = [sketch.axis(rank) for _ in range(sketch.integer(1, rank))]
    values = sketch.stored(data)
    if sketch.operation == "REDUCE_PROD":
        # Powers of two, whose products are exact, and a zero now and then.
        signs = sketch.source.choice((-1.0, 1.0, 1.0), data.dimensions)
        values = signs * 2.0 ** sketch.source.integers(-1, 2, data.dimensions)
        values = np.clip(values, -2, 2)
        if data.type == F16 or values.size > 60:
            values = signs
        if sketch.chance(0.2):
            values.flat[0] = 0
    keep = sketch.chance()
    flag = sketch.integer_scalar(int(keep)) if sketch.operation == "MEAN" else sketch.flag(keep)
    return sketch.finish([sketch.tensor(data, values), sketch.vector(axes), flag], like(data))


@generator("ARGMAX", "ARGMIN")
def arg_max(sketch: Sketch) -> RandomCase:
    data = _data(sketch, sketch.shape(1, 4), I32)
    values = sketch.stored(data)
    if sketch.chance():
        values = values % 3 if data.type not in FLOATS else np.floor(values / 2)
    axis = sketch.integer_scalar(sketch.axis(len(data.dimensions)))
    return sketch.finish([sketch.tensor(data, values), axis], TensorType(I32, ()))


@generator("TOPK_V2")
def topk_v2(sketch: Sketch) -> RandomCase:
    data = _data(sketch, sketch.shape(1, 4), I32)
    values = sketch.stored(data)
    if sketch.chance():
        values = values % 3 if data.type not in FLOATS else np.floor(values / 2)
    count = sketch.integer_scalar(sketch.integer(1, data.dimensions[-1]))
    return sketch.finish([sketch.tensor(data, values), count], like(data), TensorType(I32, ()))


@generator("EMBEDDING_LOOKUP")
def embedding_lookup(sketch: Sketch) -> RandomCase:
    data = _data(sketch, sketch.shape(2, 4), I32)
    count = sketch.integer(1, 6)
    rows = sketch.source.integers(0, data.dimensions[0], count)
    inputs = [sketch.tensor(TensorType(I32, (count,)), rows), sketch.tensor(data)]
    return sketch.finish(inputs, like(data))


@generator("HASHTABLE_LOOKUP")
def hashtable_lookup(sketch: Sketch) -> RandomCase:
    """Keys that are there, and keys that are not."""
    data = sketch.type_of(sketch.pick((FLOATS[0], I32, BYTES[0])), sketch.shape(2, 4))
    rows, count = data.dimensions[0], sketch.integer(1, 6)
    keys = np.sort(sketch.source.choice(np.arange(-2 * rows, 4 * rows), rows, replace=False))
    lookups = sketch.source.choice(np.concatenate([keys, keys + 1]), count)
    inputs = [
        sketch.tensor(TensorType(I32, (count,)), lookups),
        sketch.tensor(TensorType(I32, (rows,)), keys),
        sketch.tensor(data),
    ]
    return sketch.finish(inputs, like(data), TensorType(BYTES[0], (), 1.0, 0))
