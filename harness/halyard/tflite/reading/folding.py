# SPDX-License-Identifier: Apache-2.0
"""Values known before anything runs: shapes, and those computed from them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from halyard.errors import NotExpressible
from halyard.model import Array
from halyard.tflite.reading import shaping
from halyard.tflite.reading.file import Operator
from halyard.tflite.reading.mapper import NO_OPERATION, Handler, Mapper
from halyard.tflite.reading.operator_options import LIMITS, fused, options

# Shapes are short: what is longer is computed where the rest is.
_MOST_ELEMENTS = 64

# Of numbers that count frames.
_LONGEST_RANGE = 1 << 16

# An operator's function of constants. ValueError, IndexError where they do not go together.
Compute = Callable[[Operator, list[Array]], Array]


def shape(mapper: Mapper, operator: Operator) -> None:
    found = mapper.shape(mapper.input(operator, 0))
    mapper.fold(mapper.output(operator), _integers(mapper, operator, found))


def rank(mapper: Mapper, operator: Operator) -> None:
    found = np.array(len(mapper.shape(mapper.input(operator, 0))))
    mapper.fold(mapper.output(operator), found.astype(_dtype(mapper, operator)))


def zeros_like(mapper: Mapper, operator: Operator) -> None:
    tensor = mapper.tensor(mapper.output(operator))
    if tensor.scales:
        raise NotExpressible("of quantised numbers")
    mapper.file.budget.take_bytes(tensor.byte_size, "its zeros")
    found = np.zeros(mapper.shape(mapper.output(operator)), _dtype(mapper, operator))
    mapper.fold(mapper.output(operator), found)


def folded_or(handler: Handler, compute: Compute) -> Handler:
    """Of a few integers that are all known it is done here and now: they tell shapes, and may have
    64 bits."""

    def folding(mapper: Mapper, operator: Operator) -> None:
        values = [mapper.values(index) if index >= 0 else None for index in operator.inputs]
        known = [each for each in values if each is not None]
        small = all(each.dtype.kind == "i" and each.size <= _MOST_ELEMENTS for each in known)
        if len(known) != len(values) or not known or not small or len(operator.outputs) != 1:
            handler(mapper, operator)
            return
        try:
            with np.errstate(all="ignore"):
                found = compute(operator, known)
        except (ValueError, IndexError, TypeError) as error:
            raise NotExpressible(f"its constants do not go together: {error}") from error
        mapper.fold(mapper.output(operator), np.asarray(found, _dtype(mapper, operator)))

    return folding


def without_operation(_: Mapper, __: Operator) -> None:
    raise NotExpressible(NO_OPERATION)


def split_unevenly(mapper: Mapper, operator: Operator) -> None:
    """Of a shape, into parts that may have nothing."""
    values = [mapper.values(index) if index >= 0 else None for index in operator.inputs]
    known = [each for each in values if each is not None and each.dtype.kind == "i"]
    if len(known) != 3 or len(values) != 3 or known[0].size > _MOST_ELEMENTS:
        shaping.split_unevenly(mapper, operator)
        return
    whole, sizes, axis = known
    ends = np.cumsum(sizes)
    if whole.ndim != 1 or axis.reshape(-1).tolist() not in ([0], [-1]) or (sizes < 0).any():
        shaping.split_unevenly(mapper, operator)
        return
    if len(ends) != len(operator.outputs) or ends[-1] != len(whole):
        raise NotExpressible("its constants do not go together")
    for place, part in enumerate(np.split(whole, ends[:-1])):
        mapper.fold(mapper.output(operator, place), part)


def reshape(mapper: Mapper, operator: Operator) -> None:
    """Of a shape to a number, and back."""
    values = mapper.values(mapper.input(operator, 0))
    shape = mapper.tensor(mapper.output(operator)).shape
    if values is None or values.dtype.kind != "i" or values.size > _MOST_ELEMENTS:
        shaping.reshape(mapper, operator)
    elif math.prod(shape) != values.size:
        raise NotExpressible(f"{list(values.shape)} is no {list(shape)}")
    else:
        mapper.fold(mapper.output(operator), values.reshape(shape))


def strided_slice(operator: Operator, inputs: list[Array]) -> Array:
    given = options(operator, schema.StridedSliceOptionsT)
    values, begin, end, strides = inputs
    if given.ellipsisMask or given.newAxisMask or given.offset:
        raise NotExpressible("it has an ellipsis, a new axis or an offset")
    parts: list[int | slice] = []
    for axis, (first, last, stride) in enumerate(zip(begin, end, strides, strict=True)):
        if given.shrinkAxisMask >> axis & 1:
            parts.append(int(first))
            continue
        parts.append(
            slice(
                None if given.beginMask >> axis & 1 else int(first),
                None if given.endMask >> axis & 1 else int(last),
                int(stride),
            )
        )
    found: Array = values[tuple(parts)]
    return found


def pack(operator: Operator, inputs: list[Array]) -> Array:
    return np.stack(inputs, options(operator, schema.PackOptionsT).axis)


def concatenation(operator: Operator, inputs: list[Array]) -> Array:
    return np.concatenate(inputs, options(operator, schema.ConcatenationOptionsT).axis)


def gather(operator: Operator, inputs: list[Array]) -> Array:
    given = options(operator, schema.GatherOptionsT)
    if given.batchDims:
        raise NotExpressible(f"it has {given.batchDims} batch dimensions")
    return np.take(inputs[0], inputs[1], given.axis)


def product(operator: Operator, inputs: list[Array]) -> Array:
    first, second = inputs
    return _activated(operator, schema.MulOptionsT, first * second)


def total(operator: Operator, inputs: list[Array]) -> Array:
    first, second = inputs
    return _activated(operator, schema.AddOptionsT, first + second)


def difference(operator: Operator, inputs: list[Array]) -> Array:
    first, second = inputs
    return _activated(operator, schema.SubOptionsT, first - second)


def _activated(operator: Operator, kind: type, values: Array) -> Array:
    activation = fused(options(operator, kind))
    return np.clip(values, *LIMITS[activation]) if activation else np.asarray(values)


def larger(_: Operator, inputs: list[Array]) -> Array:
    return np.maximum(*inputs)


def quotient(_: Operator, inputs: list[Array]) -> Array:
    above, below = inputs
    if (below == 0).any():
        raise ValueError("a division by 0")
    return np.asarray(above // below)


def steps(_: Operator, inputs: list[Array]) -> Array:
    """RANGE. A long one is computed anew each time."""
    first, limit, step = (int(each.reshape(())) for each in inputs)
    if step == 0:
        raise ValueError("steps of 0")
    if len(range(first, limit, step)) > _LONGEST_RANGE:
        raise NotExpressible(NO_OPERATION)
    return np.arange(first, limit, step)


def product_along(operator: Operator, inputs: list[Array]) -> Array:
    given = options(operator, schema.ReducerOptionsT)
    axes = tuple(int(each) for each in inputs[1].reshape(-1))
    return np.asarray(np.prod(inputs[0], axes, keepdims=bool(given.keepDims)))


def _integers(mapper: Mapper, operator: Operator, values: tuple[int, ...]) -> Array:
    return np.array(values, _dtype(mapper, operator))


def _dtype(mapper: Mapper, operator: Operator) -> np.dtype[np.generic]:
    tensor = mapper.tensor(mapper.output(operator))
    if tensor.dtype is None:
        raise NotExpressible(f"its result is {tensor.type_name}")
    return tensor.dtype
