# SPDX-License-Identifier: Apache-2.0
"""Random .tflite graphs of TFLite's operators, with all of their options, in the types and ranks
that LiteRT takes."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from ai_edge_litert.interpreter import OpResolverType

from tests.harness.tflite_file import packed
from tests.harness.tflite_sketch import (
    BYTES,
    FLOATS,
    RandomGraph,
    Refused,
    Shape,
    Sketch,
    Value,
    interpreted,
)

Maker = Callable[[Sketch], None]

_REAL = (*FLOATS, *BYTES)
_WIDE = (*_REAL, "int16")
_MOVED = (*_REAL, "int32", "bool", "int16", "int64")


def _real_result(sketch: Sketch, source: Value, span: float = 0.0) -> Value:
    return sketch.result(source.dtype, span=span)


# ---- element by element -------------------------------------------------------------------------


def _unary(kind: str, dtypes: tuple[str, ...], *, positive: bool = False, span: float = 0) -> Maker:
    def make(sketch: Sketch) -> None:
        dtype = sketch.among(dtypes)
        shape = sketch.shape()
        values = sketch.numbers(shape, dtype, span or 2.0)
        if positive and dtype == "float32":
            values = np.asarray(np.abs(values) + 0.05, np.float32)
        source = sketch.given(shape, dtype, values) if positive or span else sketch.value(dtypes)
        output = sketch.result(source.dtype)
        if kind in ("LOGISTIC", "SOFTMAX") and source.dtype in BYTES:
            output = _fixed(sketch, source.dtype, 1 / 256, -128 if source.dtype == "int8" else 0)
        if kind == "TANH" and source.dtype in BYTES:
            output = _fixed(sketch, source.dtype, 1 / 128, 0 if source.dtype == "int8" else 128)
        sketch.emit(kind, [source], [output])

    return make


def _fixed(sketch: Sketch, dtype: str, scale: float, zero_point: int) -> Value:
    index = sketch.graph.tensor((), dtype, scale, zero_point)
    return Value(index, (), dtype, scale, zero_point)


def _binary(kind: str, options: str = "", dtypes: tuple[str, ...] = _REAL) -> Maker:
    def make(sketch: Sketch) -> None:
        first = sketch.value(dtypes, rank=range(7))
        shape = sketch.broadcast(first.shape) if sketch.flag() else first.shape
        same = kind in ("MAXIMUM", "MINIMUM")
        second = sketch.operand(shape, first, same_scale=same)
        pair = [first, second] if sketch.flag() else [second, first]
        if kind == "DIV":
            pair = [first, _away_from_zero(sketch, shape, first)]
        fields: dict[str, Any] = {}
        if options:
            fields["fusedActivationFunction"] = sketch.among([0, 0, 1, 2, 3])
        output = sketch.result(first.dtype, first if same else None)
        sketch.emit(kind, pair, [output], options, **fields)

    return make


def _away_from_zero(sketch: Sketch, shape: Shape, like: Value) -> Value:
    values = sketch.numbers(shape, like.dtype)
    if like.dtype == "float32":
        values = np.asarray(np.where(values < 0, values - 0.1, values + 0.1), np.float32)
    elif like.dtype == "int32":
        values = np.asarray(np.where(values == 0, 3, values), np.int32)
    second = sketch.constant(values)
    if like.dtype in BYTES:
        near = np.abs(values.astype(int) - second.zero_point) < 8
        if near.any():
            raise Refused("a divisor near zero")
    return second


def _comparison(kind: str) -> Maker:
    def make(sketch: Sketch) -> None:
        dtypes = (*_REAL, "int32", "bool") if kind in ("EQUAL", "NOT_EQUAL") else (*_REAL, "int32")
        # Of floats that are computed, the order of a sum may decide.
        dtype = sketch.among(dtypes)
        shape = sketch.shape()
        first = sketch.given(shape, dtype)
        other = sketch.broadcast(shape) if sketch.flag() else shape
        second = sketch.operand(other, first, same_scale=True)
        sketch.emit(kind, [first, second], [sketch.result("bool")])

    return make


def _logical(kind: str) -> Maker:
    def make(sketch: Sketch) -> None:
        first = sketch.value(("bool",))
        inputs = [first]
        if kind != "LOGICAL_NOT":
            inputs.append(sketch.operand(sketch.broadcast(first.shape), first))
        sketch.emit(kind, inputs, [sketch.result("bool")])

    return make


def _select(kind: str) -> Maker:
    def make(sketch: Sketch) -> None:
        first = sketch.value((*_REAL, "int32", "bool", "int16"))
        second = sketch.operand(
            sketch.broadcast(first.shape) if kind == "SELECT_V2" else first.shape,
            first,
            same_scale=True,
        )
        where = first.shape
        if kind == "SELECT_V2" and sketch.flag():
            where = sketch.broadcast(first.shape)
        elif kind == "SELECT" and sketch.chance(0.3):
            where = first.shape[:1]
        condition = sketch.given(where, "bool")
        pair = [first, second] if sketch.flag() else [second, first]
        options = {"SELECT": "SelectOptions", "SELECT_V2": "SelectV2Options"}[kind]
        sketch.emit(kind, [condition, *pair], [sketch.result(first.dtype, first)], options)

    return make


def _leaky(sketch: Sketch) -> None:
    source = sketch.value(_WIDE)
    alpha = float(np.float32(sketch.random.uniform(-0.5, 1.5)))
    output = _real_result(sketch, source)
    sketch.emit("LEAKY_RELU", [source], [output], "LeakyReluOptions", alpha=alpha)


def _prelu(sketch: Sketch) -> None:
    source = sketch.value(_REAL, rank=range(1, 5))
    slope = sketch.constant(sketch.numbers(sketch.broadcast(source.shape), source.dtype, 1.0))
    sketch.emit("PRELU", [source, slope], [_real_result(sketch, source)])


def _softmax(kind: str) -> Maker:
    def make(sketch: Sketch) -> None:
        source = sketch.value(_REAL if kind == "SOFTMAX" else (*FLOATS, *BYTES), rank=range(1, 5))
        output = sketch.result("float32")
        if source.dtype in BYTES:
            low = -128 if source.dtype == "int8" else 0
            output = (
                _fixed(sketch, source.dtype, 1 / 256, low)
                if kind == "SOFTMAX"
                else _fixed(sketch, source.dtype, 16 / 256, low + 255)
            )
        if kind == "SOFTMAX":
            beta = sketch.among([1.0, 1.0, 0.5, 2.5])
            sketch.emit(kind, [source], [output], "SoftmaxOptions", beta=beta)
        else:
            sketch.emit(kind, [source], [output], "LogSoftmaxOptions")

    return make


def _cast(sketch: Sketch) -> None:
    source = sketch.value(("float32", "int32", "bool", "int64", "uint8", "float16"))
    target = sketch.among(["float32", "int32", "bool", "int64", "float16"])
    scale = source.scale
    if scale:
        raise Refused("quantised numbers are not cast")
    sketch.emit("CAST", [source], [sketch.result(target)], "CastOptions")


def _quantize(sketch: Sketch) -> None:
    source = sketch.value(_WIDE)
    sketch.emit("QUANTIZE", [source], [sketch.result(sketch.among([*BYTES, "int16"]))])


def _dequantize(sketch: Sketch) -> None:
    source = sketch.value((*BYTES, "int16", "float16"))
    if source.dtype == "float16" and sketch.flag():
        source = sketch.constant(sketch.numbers(source.shape, "float16"))
    sketch.emit("DEQUANTIZE", [source], [sketch.result("float32")])


# ---- reductions and matrices --------------------------------------------------------------------


def _reduction(kind: str) -> Maker:
    def make(sketch: Sketch) -> None:
        dtypes: tuple[str, ...] = _WIDE if kind in ("MEAN", "SUM") else _REAL
        if kind in ("REDUCE_ALL", "REDUCE_ANY"):
            dtypes = ("bool",)
        elif kind == "REDUCE_PROD":
            dtypes = FLOATS
        source = sketch.value((*dtypes, "int32") if kind == "SUM" else dtypes)
        rank = source.rank
        count = sketch.integer(0 if sketch.chance(0.1) else 1, max(rank, 1))
        axes = [sketch.axis(rank) for _ in range(count)] if rank else []
        same = kind in ("REDUCE_MAX", "REDUCE_MIN") or sketch.chance(0.3)
        output = sketch.result(source.dtype, source if same else None)
        indexes = sketch.integers(np.asarray(axes, "int32"))
        if len(axes) == 1 and sketch.flag():
            indexes = sketch.integers(axes[0])
        sketch.emit(kind, [source, indexes], [output], "ReducerOptions", keepDims=sketch.flag())

    return make


def _extremum(kind: str) -> Maker:
    def make(sketch: Sketch) -> None:
        dtype = sketch.among([*_REAL, "int32"])
        source = sketch.given(sketch.shape(sketch.integer(1, 6)), dtype)
        options = {"ARG_MAX": "ArgMaxOptions", "ARG_MIN": "ArgMinOptions"}[kind]
        wide = sketch.chance(0.3)
        output = sketch.result("int64" if wide else "int32")
        axis = sketch.integers(sketch.axis(source.rank), sketch.among(["int32", "int64"]))
        sketch.emit(kind, [source, axis], [output], options, outputType=4 if wide else 2)

    return make


def _top_k(sketch: Sketch) -> None:
    source = sketch.given(sketch.shape(sketch.integer(1, 5)), sketch.among([*_REAL, "int32"]))
    count = sketch.integers(sketch.integer(1, source.shape[-1]))
    outputs = [sketch.result(source.dtype, source), sketch.result("int32")]
    sketch.emit("TOPK_V2", [source, count], outputs, "TopKV2Options")


def _matmul(sketch: Sketch) -> None:
    dtype = sketch.among(["float32", "float32", "int8", "int16"])
    rows, depth, columns = (sketch.integer(1, 5) for _ in range(3))
    batch = sketch.shape(sketch.integer(0, 3), 3)
    other = sketch.broadcast(batch)
    adjoint = sketch.flag(), sketch.flag()
    first = sketch.given((*batch, *((depth, rows) if adjoint[0] else (rows, depth))), dtype)
    right = (*other, *((columns, depth) if adjoint[1] else (depth, columns)))
    second = sketch.operand(right, first)
    if sketch.flag() and not any(adjoint) and rows == columns:
        first, second = second, first
    if dtype == "float32" and sketch.chance(0.15):
        second = _hybrid_weights(sketch, right, 0, channels=0)
    span = 0.0 if dtype == "float32" else 60 * depth * first.scale * second.scale * 60
    output = sketch.result(dtype, span=span)
    sketch.emit(
        "BATCH_MATMUL",
        [first, second],
        [output],
        "BatchMatMulOptions",
        adjX=adjoint[0],
        adjY=adjoint[1],
        asymmetricQuantizeInputs=False,
    )


# ---- weights ------------------------------------------------------------------------------------


def _scales(sketch: Sketch, count: int) -> list[float]:
    found = np.exp(sketch.random.uniform(np.log(0.002), np.log(0.02), count))
    return [float(each) for each in found.astype(np.float32)]


def _hybrid_weights(sketch: Sketch, shape: Shape, axis: int, channels: int) -> Value:
    """INT8, with a scale, or one for each channel."""
    values = np.asarray(sketch.random.integers(-127, 128, shape), np.int8)
    scales = _scales(sketch, max(1, channels))
    index = sketch.graph.constant(values, "int8", scales, axis=axis)
    return Value(index, shape, "int8", scales[0])


def _weights(
    sketch: Sketch, data: Value, shape: Shape, axis: int, depth: int
) -> tuple[list[Value | int], Value]:
    """Filters and a bias, and the output."""
    channels = shape[axis]
    mode = sketch.random.random()
    if data.dtype == "float32":
        if mode < 0.25:
            filters = _hybrid_weights(sketch, shape, axis, channels if sketch.flag() else 0)
        elif mode < 0.4:
            half = sketch.constant(sketch.numbers(shape, "float16"))
            filters = sketch.result("float32")
            sketch.graph.add("DEQUANTIZE", [half.index], [filters.index])
        else:
            filters = sketch.constant(sketch.numbers(shape, "float32"))
        bias: Value | int = sketch.constant(sketch.numbers((channels,), "float32"))
        output = sketch.result("float32")
    else:
        if data.dtype == "uint8":
            filters = sketch.constant(sketch.numbers(shape, "uint8"))
            scales = [filters.scale]
        else:
            values = np.asarray(sketch.random.integers(-127, 128, shape), np.int8)
            scales = _scales(sketch, channels if sketch.chance(0.6) else 1)
            index = sketch.graph.constant(values, "int8", scales, axis=axis)
            filters = Value(index, shape, "int8", scales[0])
        steps = [float(np.float32(data.scale) * np.float32(each)) for each in scales]
        kind = "int64" if data.dtype == "int16" else "int32"
        values = np.asarray(sketch.random.integers(-3000, 3000, channels), kind)
        bias = Value(sketch.graph.constant(values, kind, steps), (channels,), kind)
        wide = 20000 if data.dtype == "int16" else 100
        output = sketch.result(data.dtype, span=float(np.mean(steps)) * 60 * wide * depth**0.5)
    if sketch.chance(0.25):
        bias = -1
    return [filters, bias], output


def _window(sketch: Sketch) -> tuple[Shape, dict[str, int]]:
    shape = (sketch.integer(1, 2), sketch.integer(1, 7), sketch.integer(1, 7), sketch.integer(1, 4))
    return shape, {
        "padding": sketch.integer(0, 1),
        "strideW": sketch.among([1, 1, 2, 3]),
        "strideH": sketch.among([1, 1, 2, 3]),
    }


def _convolution(kind: str) -> Maker:
    def make(sketch: Sketch) -> None:
        shape, fields = _window(sketch)
        data = sketch.value(_WIDE, shape=shape)
        size = sketch.integer(1, 3), sketch.integer(1, 3)
        if sketch.chance(0.3):
            fields |= {"dilationWFactor": sketch.integer(1, 3)}
            fields |= {"dilationHFactor": sketch.integer(1, 3)}
        fields["fusedActivationFunction"] = sketch.among([0, 0, 1, 2, 3])
        if kind == "CONV_2D":
            groups = 2 if shape[3] % 2 == 0 and sketch.chance(0.2) else 1
            outputs = groups * sketch.integer(1, 4)
            filters, axis = (outputs, *size, shape[3] // groups), 0
            depth, options = size[0] * size[1] * filters[3], "Conv2DOptions"
        else:
            multiplier = sketch.integer(1, 3)
            filters, axis = (1, *size, shape[3] * multiplier), 3
            depth, options = size[0] * size[1], "DepthwiseConv2DOptions"
            fields["depthMultiplier"] = multiplier
        given, output = _weights(sketch, data, filters, axis, depth)
        sketch.emit(kind, [data, *given], [output], options, **fields)

    return make


def _transposed(sketch: Sketch) -> None:
    shape, fields = _window(sketch)
    data = sketch.value(_REAL, shape=shape)
    size = sketch.integer(1, 3), sketch.integer(1, 3)
    filters = (sketch.integer(1, 4), *size, shape[3])
    [weights, bias], output = _weights(sketch, data, filters, 0, size[0] * size[1] * shape[3])
    if data.dtype == "float32" and weights.dtype != "float32":  # type: ignore[union-attr]
        raise Refused("no hybrid kernel")
    extents = []
    for extent, span, side in zip(shape[1:3], size, ("H", "W"), strict=True):
        stride = fields[f"stride{side}"]
        if fields["padding"] == 0:
            extents.append(extent * stride - sketch.integer(0, stride - 1))
        else:
            extents.append((extent - 1) * stride + span)
    if min(extents) < 1:
        raise Refused("no such extent")
    target = sketch.integers([shape[0], *extents, filters[0]])
    given = [target, weights, data] + ([] if bias == -1 else [bias])
    fields["fusedActivationFunction"] = sketch.among([0, 0, 1, 3])
    sketch.emit("TRANSPOSE_CONV", given, [output], "TransposeConvOptions", **fields)


def _fully_connected(sketch: Sketch) -> None:
    data = sketch.value(_WIDE, rank=range(1, 6))
    depth = data.shape[-1]
    if sketch.chance(0.1):
        depth = int(np.prod(data.shape))
    weights, output = _weights(sketch, data, (sketch.integer(1, 6), depth), 0, depth)
    sketch.emit(
        "FULLY_CONNECTED",
        [data, *weights],
        [output],
        "FullyConnectedOptions",
        fusedActivationFunction=sketch.among([0, 0, 1, 2, 3]),
        keepNumDims=sketch.flag(),
        asymmetricQuantizeInputs=False,
    )


def _pool(kind: str) -> Maker:
    def make(sketch: Sketch) -> None:
        shape, fields = _window(sketch)
        source = sketch.value(FLOATS if kind == "L2_POOL_2D" else _REAL, shape=shape)
        sketch.emit(
            kind,
            [source],
            [sketch.result(source.dtype, source)],
            "Pool2DOptions",
            filterWidth=sketch.integer(1, 4),
            filterHeight=sketch.integer(1, 4),
            fusedActivationFunction=sketch.among([0, 0, 1, 2, 3]),
            **fields,
        )

    return make


# ---- shapes -------------------------------------------------------------------------------------


def _moved(sketch: Sketch, rank: Any = None) -> tuple[Value, Value]:
    source = sketch.value(_MOVED, rank=rank)
    return source, sketch.result(source.dtype, source if source.scale else None)


def _reshape(sketch: Sketch) -> None:
    source, output = _moved(sketch)
    count = int(np.prod(source.shape, dtype=int))
    shape: list[int] = []
    while count > 1 and len(shape) < 5:
        factor = sketch.among([each for each in range(1, count + 1) if count % each == 0])
        shape.append(factor)
        count //= factor
    shape.append(count)
    if sketch.flag():
        shape[sketch.integer(0, len(shape) - 1)] = -1
    sketch.emit("RESHAPE", [source, sketch.integers(shape)], [output], "ReshapeOptions")


def _squeeze(sketch: Sketch) -> None:
    source, output = _moved(sketch)
    ones = [axis for axis, extent in enumerate(source.shape) if extent == 1]
    dims = [axis for axis in ones if sketch.flag()]
    sketch.emit("SQUEEZE", [source], [output], "SqueezeOptions", squeezeDims=dims)


def _expand(sketch: Sketch) -> None:
    source, output = _moved(sketch)
    axis = sketch.integers(sketch.integer(-source.rank - 1, source.rank))
    sketch.emit("EXPAND_DIMS", [source, axis], [output], "ExpandDimsOptions")


def _transpose(sketch: Sketch) -> None:
    source, output = _moved(sketch, range(1, 7))
    order = sketch.integers(sketch.random.permutation(source.rank).astype("int32"))
    sketch.emit("TRANSPOSE", [source, order], [output], "TransposeOptions")


def _reverse(sketch: Sketch) -> None:
    source, output = _moved(sketch, range(1, 7))
    axes = [int(each) for each in sketch.random.permutation(source.rank)]
    chosen = axes[: sketch.integer(1, source.rank)]
    chosen = [each - source.rank if sketch.flag() else each for each in chosen]
    sketch.emit("REVERSE_V2", [source, sketch.integers(chosen)], [output], "ReverseV2Options")


def _pad(kind: str) -> Maker:
    def make(sketch: Sketch) -> None:
        source, output = _moved(sketch, range(1, 6))
        amounts = np.asarray(sketch.random.integers(0, 3, (source.rank, 2)))
        dtype = sketch.among(["int32", "int64"])
        inputs: list[Value | int] = [source]
        fields: dict[str, Any] = {}
        options = "PadOptions"
        if kind == "MIRROR_PAD":
            fields["mode"] = sketch.integer(0, 1)
            most = np.array(source.shape)[:, None] - (1 - fields["mode"])
            amounts = np.minimum(amounts, most)
            options = "MirrorPadOptions"
        inputs.append(sketch.integers(amounts, dtype))
        if kind == "PADV2":
            like = source if source.scale else None
            value = sketch.numbers((), source.dtype)
            inputs.append(sketch.constant(value, like))
            options = "PadV2Options"
        sketch.emit(kind, inputs, [output], options, **fields)

    return make


def _tile(sketch: Sketch) -> None:
    source, output = _moved(sketch, range(1, 5))
    times = [sketch.integer(1, 2) for _ in source.shape]
    sketch.emit("TILE", [source, sketch.integers(times)], [output], "TileOptions")


def _slice(sketch: Sketch) -> None:
    source, output = _moved(sketch, range(1, 6))
    begin = [sketch.integer(0, extent - 1) for extent in source.shape]
    size = [
        -1 if sketch.chance(0.3) else sketch.integer(1, extent - at)
        for at, extent in zip(begin, source.shape, strict=True)
    ]
    dtype = sketch.among(["int32", "int64"])
    bounds = [sketch.integers(each, dtype) for each in (begin, size)]
    sketch.emit("SLICE", [source, *bounds], [output], "SliceOptions")


def _strided(sketch: Sketch) -> None:
    source, output = _moved(sketch, range(1, 6))
    begin, end, strides = [], [], []
    for extent in source.shape:
        stride = sketch.among([1, 1, 2, -1, -2])
        first, last = sorted(sketch.integer(-1, extent + 1) for _ in range(2))
        if stride < 0:
            first, last = last, first - 2
        # LiteRT reads what lies before and behind where a slice begins there.
        first = min(max(first, 0), extent - 1)
        begin.append(first - extent if sketch.chance(0.2) else first)
        end.append(last)
        strides.append(stride)
    bits = 2**source.rank - 1
    fields = {
        name: sketch.integer(0, bits) & sketch.integer(0, bits)
        for name in ("beginMask", "endMask", "shrinkAxisMask")
    }
    # LiteRT reads what lies elsewhere where an axis that goes has a stride backwards.
    strides = [
        abs(each) if fields["shrinkAxisMask"] >> at & 1 else each for at, each in enumerate(strides)
    ]
    if sketch.chance(0.1):
        fields["newAxisMask"] = sketch.integer(0, bits) & sketch.integer(0, bits)
    if sketch.chance(0.1):
        fields["ellipsisMask"] = 1 << sketch.integer(0, source.rank - 1)
    if sketch.chance(0.3):
        # Bounds of fewer axes than there are.
        count = sketch.integer(1, source.rank)
        begin, end, strides = begin[:count], end[:count], strides[:count]
    bounds = [sketch.integers(each) for each in (begin, end, strides)]
    sketch.emit("STRIDED_SLICE", [source, *bounds], [output], "StridedSliceOptions", **fields)


def _gather(sketch: Sketch) -> None:
    source, output = _moved(sketch, range(1, 5))
    batch = sketch.integer(0, source.rank - 1) if sketch.chance(0.2) else 0
    axis = sketch.integer(batch, source.rank - 1)
    shape = (*source.shape[:batch], *sketch.shape(sketch.integer(0, 2), 3))
    values = np.asarray(sketch.random.integers(0, source.shape[axis], shape), "int32")
    indices = sketch.given(shape, "int32", values) if sketch.flag() else sketch.constant(values)
    if sketch.flag() and axis >= batch:
        axis -= source.rank
    sketch.emit("GATHER", [source, indices], [output], "GatherOptions", axis=axis, batchDims=batch)


def _concatenation(sketch: Sketch) -> None:
    first = sketch.value(_MOVED, rank=range(1, 6))
    axis = sketch.axis(first.rank)
    inputs = [first]
    for _ in range(sketch.integer(0, 2)):
        shape = list(first.shape)
        shape[axis] = sketch.integer(1, 3)
        inputs.append(sketch.operand(tuple(shape), first, same_scale=sketch.chance(0.8)))
    output = sketch.result(first.dtype, first if sketch.chance(0.8) else None)
    if not first.scale:
        output = sketch.result(first.dtype)
    activation = sketch.among([0, 0, 0, 1, 3]) if first.is_float else 0
    sketch.emit(
        "CONCATENATION",
        inputs,
        [output],
        "ConcatenationOptions",
        axis=axis,
        fusedActivationFunction=activation,
    )


def _split(sketch: Sketch) -> None:
    source, _ = _moved(sketch, range(1, 6))
    axis = sketch.axis(source.rank)
    extent = source.shape[axis]
    count = sketch.among([each for each in range(1, extent + 1) if extent % each == 0])
    like = source if source.scale else None
    outputs = [sketch.result(source.dtype, like) for _ in range(count)]
    sketch.emit("SPLIT", [sketch.integers(axis), source], outputs, "SplitOptions", numSplits=count)


def _split_v(sketch: Sketch) -> None:
    source, _ = _moved(sketch, range(1, 6))
    axis = sketch.axis(source.rank)
    sizes: list[int] = []
    left = source.shape[axis]
    while left:
        sizes.append(sketch.integer(1, left))
        left -= sizes[-1]
    like = source if source.scale else None
    outputs = [sketch.result(source.dtype, like) for _ in sizes]
    if sketch.chance(0.2):
        sizes[sketch.integer(0, len(sizes) - 1)] = -1
    given = [source, sketch.integers(sizes), sketch.integers(axis)]
    sketch.emit("SPLIT_V", given, outputs, "SplitVOptions", numSplits=len(sizes))


def _pack(sketch: Sketch) -> None:
    first = sketch.value(_MOVED, rank=range(5))
    inputs = [first]
    inputs += [
        sketch.operand(first.shape, first, same_scale=True) for _ in range(sketch.integer(0, 2))
    ]
    output = sketch.result(first.dtype, first if first.scale else None)
    axis = sketch.integer(-first.rank - 1, first.rank)
    sketch.emit("PACK", inputs, [output], "PackOptions", axis=axis, valuesCount=len(inputs))


def _unpack(sketch: Sketch) -> None:
    source, _ = _moved(sketch, range(1, 6))
    axis = sketch.axis(source.rank)
    like = source if source.scale else None
    outputs = [sketch.result(source.dtype, like) for _ in range(source.shape[axis])]
    sketch.emit("UNPACK", [source], outputs, "UnpackOptions", axis=axis, num=len(outputs))


def _resize(kind: str) -> Maker:
    def make(sketch: Sketch) -> None:
        source = sketch.value(_REAL, rank=4)
        size = sketch.integers([sketch.integer(1, 8), sketch.integer(1, 8)])
        options = {
            "RESIZE_BILINEAR": "ResizeBilinearOptions",
            "RESIZE_NEAREST_NEIGHBOR": "ResizeNearestNeighborOptions",
        }[kind]
        how = sketch.integer(0, 2)
        sketch.emit(
            kind,
            [source, size],
            [sketch.result(source.dtype, source)],
            options,
            alignCorners=how == 1,
            halfPixelCenters=how == 2,
        )

    return make


def _depth(kind: str) -> Maker:
    def make(sketch: Sketch) -> None:
        block = sketch.integer(1, 3)
        batch, height, width, channels = sketch.shape(4, 3)
        shape = (
            (batch, height * block, width * block, channels)
            if kind == "SPACE_TO_DEPTH"
            else (batch, height, width, channels * block * block)
        )
        source = sketch.value((*_REAL, "int32"), shape=shape)
        options = {
            "SPACE_TO_DEPTH": "SpaceToDepthOptions",
            "DEPTH_TO_SPACE": "DepthToSpaceOptions",
        }[kind]
        sketch.emit(
            kind,
            [source],
            [sketch.result(source.dtype, source if source.scale else None)],
            options,
            blockSize=block,
        )

    return make


def _batches(kind: str) -> Maker:
    def make(sketch: Sketch) -> None:
        block = [sketch.integer(1, 2), sketch.integer(1, 3)]
        batch, height, width, channels = sketch.shape(4, 3)
        amounts = np.asarray(sketch.random.integers(0, 2, (2, 2)), "int32")
        if kind == "SPACE_TO_BATCH_ND":
            shape = (
                batch,
                max(1, height * block[0] - amounts[0].sum()),
                max(1, width * block[1] - amounts[1].sum()),
                channels,
            )
        else:
            shape = (batch * block[0] * block[1], height, width, channels)
            amounts *= sketch.chance(0.3)
        source = sketch.value(_REAL, shape=tuple(int(each) for each in shape))
        options = {
            "SPACE_TO_BATCH_ND": "SpaceToBatchNDOptions",
            "BATCH_TO_SPACE_ND": "BatchToSpaceNDOptions",
        }[kind]
        given = [source, sketch.integers(block), sketch.integers(amounts)]
        sketch.emit(kind, given, [sketch.result(source.dtype, source)], options)

    return make


def _l2(sketch: Sketch) -> None:
    source = sketch.value(_REAL, rank=range(1, 5))
    output = sketch.result("float32")
    if source.dtype in BYTES:
        output = _fixed(sketch, source.dtype, 1 / 128, 0 if source.dtype == "int8" else 128)
    fused = sketch.among([0, 0, 1])
    sketch.emit(
        "L2_NORMALIZATION", [source], [output], "L2NormOptions", fusedActivationFunction=fused
    )


def _local_response(sketch: Sketch) -> None:
    source = sketch.value(FLOATS, rank=4)
    sketch.emit(
        "LOCAL_RESPONSE_NORMALIZATION",
        [source],
        [sketch.result("float32")],
        "LocalResponseNormalizationOptions",
        radius=sketch.integer(0, 3),
        bias=1.0,
        alpha=float(sketch.random.uniform(0, 0.5)),
        beta=sketch.among([0.5, 0.75, 1.0]),
    )


def _fill(sketch: Sketch) -> None:
    shape = sketch.shape(sketch.integer(1, 4))
    value = sketch.constant(sketch.numbers((), sketch.among(["float32", "int32", "bool"])))
    sketch.emit(
        "FILL", [sketch.integers(shape), value], [sketch.result(value.dtype)], "FillOptions"
    )


def _embedding(sketch: Sketch) -> None:
    table = sketch.value(FLOATS, shape=sketch.shape(sketch.integer(2, 4)))
    count = sketch.integer(1, 5)
    values = np.asarray(sketch.random.integers(0, table.shape[0], count), "int32")
    ids = sketch.given((count,), "int32", values)
    if sketch.chance(0.3):
        table = _hybrid_weights(sketch, table.shape, 0, 0)
    sketch.emit("EMBEDDING_LOOKUP", [ids, table], [sketch.result("float32")])


def _pow(sketch: Sketch) -> None:
    shape = sketch.shape()
    base = sketch.given(
        shape, "float32", np.abs(sketch.numbers(shape, "float32")) + np.float32(0.1)
    )
    exponent = sketch.operand(sketch.broadcast(shape), base)
    sketch.emit("POW", [base, exponent], [sketch.result("float32")], "PowOptions")


_ELEMENTS: dict[str, Maker] = {
    **{
        kind: _unary(kind, dtypes)
        for kind, dtypes in (
            ("ABS", (*FLOATS, "int32", "int8", "int16")),
            ("ELU", (*FLOATS, "int8")),
            ("EXP", (*FLOATS, "int8", "int16")),
            ("HARD_SWISH", _REAL),
            ("LOGISTIC", _WIDE),
            ("NEG", (*FLOATS, "int32", "int64")),
            ("RELU", _WIDE),
            ("RELU6", _REAL),
            ("RELU_N1_TO_1", _REAL),
            ("SIN", FLOATS),
            ("SQUARE", FLOATS),
            ("TANH", _WIDE),
            ("ZEROS_LIKE", (*FLOATS, "int32", "int64")),
            ("GELU", (*FLOATS, "int8", "uint8")),
            ("COS", FLOATS),
            ("CEIL", FLOATS),
            ("ROUND", FLOATS),
            ("SIGN", FLOATS),
        )
    },
    **{
        kind: _unary(kind, dtypes, positive=True)
        for kind, dtypes in (
            ("LOG", FLOATS),
            ("RSQRT", (*FLOATS, "int8")),
            ("SQRT", (*FLOATS, "int8")),
        )
    },
    "FLOOR": _unary("FLOOR", FLOATS, span=4.0),
    "ADD": _binary("ADD", "AddOptions", (*_WIDE, "int32", "int64")),
    "SUB": _binary("SUB", "SubOptions", (*_WIDE, "int32", "int64")),
    "MUL": _binary("MUL", "MulOptions", (*_WIDE, "int32", "int64")),
    "DIV": _binary("DIV", "DivOptions", ("float32", "int32", "uint8")),
    "MAXIMUM": _binary("MAXIMUM", "", (*_WIDE, "int32")),
    "MINIMUM": _binary("MINIMUM", "", (*_WIDE, "int32")),
    "SQUARED_DIFFERENCE": _binary("SQUARED_DIFFERENCE", "", ("float32", "int32", "int8")),
    "FLOOR_DIV": _binary("FLOOR_DIV", "", ("float32",)),
    "POW": _pow,
    **{
        kind: _comparison(kind)
        for kind in ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")
    },
    **{kind: _logical(kind) for kind in ("LOGICAL_AND", "LOGICAL_OR", "LOGICAL_NOT")},
    "SELECT": _select("SELECT"),
    "SELECT_V2": _select("SELECT_V2"),
    "LEAKY_RELU": _leaky,
    "PRELU": _prelu,
    "SOFTMAX": _softmax("SOFTMAX"),
    "LOG_SOFTMAX": _softmax("LOG_SOFTMAX"),
    "CAST": _cast,
    "QUANTIZE": _quantize,
    "DEQUANTIZE": _dequantize,
}
_SUMS: dict[str, Maker] = {
    **{
        kind: _reduction(kind)
        for kind in (
            "MEAN",
            "SUM",
            "REDUCE_MAX",
            "REDUCE_MIN",
            "REDUCE_PROD",
            "REDUCE_ALL",
            "REDUCE_ANY",
        )
    },
    "ARG_MAX": _extremum("ARG_MAX"),
    "ARG_MIN": _extremum("ARG_MIN"),
    "TOPK_V2": _top_k,
    "BATCH_MATMUL": _matmul,
    "CONV_2D": _convolution("CONV_2D"),
    "DEPTHWISE_CONV_2D": _convolution("DEPTHWISE_CONV_2D"),
    "TRANSPOSE_CONV": _transposed,
    "FULLY_CONNECTED": _fully_connected,
    "AVERAGE_POOL_2D": _pool("AVERAGE_POOL_2D"),
    "MAX_POOL_2D": _pool("MAX_POOL_2D"),
    "L2_POOL_2D": _pool("L2_POOL_2D"),
    "L2_NORMALIZATION": _l2,
    "LOCAL_RESPONSE_NORMALIZATION": _local_response,
    "EMBEDDING_LOOKUP": _embedding,
}
_MOVES: dict[str, Maker] = {
    "RESHAPE": _reshape,
    "SQUEEZE": _squeeze,
    "EXPAND_DIMS": _expand,
    "TRANSPOSE": _transpose,
    "REVERSE_V2": _reverse,
    "PAD": _pad("PAD"),
    "PADV2": _pad("PADV2"),
    "MIRROR_PAD": _pad("MIRROR_PAD"),
    "TILE": _tile,
    "SLICE": _slice,
    "STRIDED_SLICE": _strided,
    "GATHER": _gather,
    "CONCATENATION": _concatenation,
    "SPLIT": _split,
    "SPLIT_V": _split_v,
    "PACK": _pack,
    "UNPACK": _unpack,
    "RESIZE_BILINEAR": _resize("RESIZE_BILINEAR"),
    "RESIZE_NEAREST_NEIGHBOR": _resize("RESIZE_NEAREST_NEIGHBOR"),
    "SPACE_TO_DEPTH": _depth("SPACE_TO_DEPTH"),
    "DEPTH_TO_SPACE": _depth("DEPTH_TO_SPACE"),
    "SPACE_TO_BATCH_ND": _batches("SPACE_TO_BATCH_ND"),
    "BATCH_TO_SPACE_ND": _batches("BATCH_TO_SPACE_ND"),
    "FILL": _fill,
}
MAKERS: dict[str, Maker] = {**_ELEMENTS, **_SUMS, **_MOVES}
KINDS = tuple(MAKERS)


def graph(seed: int, number: int, kind: str = "") -> RandomGraph:
    """The graph of this number. Refused where LiteRT does not take what was tried.

    What is quantised is moved, and then computed once: a step of one operator would decide many of
    the next one's.
    """
    random = np.random.default_rng([seed, number])
    sketch = Sketch(random)
    for _ in range(sketch.among([0, 0, 0, 1, 2])):
        MAKERS[sketch.among(list(_MOVES))](sketch)
        _with_shapes(sketch)
    MAKERS[kind or sketch.among(KINDS)](sketch)
    _with_shapes(sketch)
    content = sketch.graph.content(*sketch.outputs)
    try:
        by_xnnpack = interpreted(content, sketch.feeds, OpResolverType.AUTO)[1]
    except Refused:
        by_xnnpack = None
    try:
        expected = interpreted(content, sketch.feeds, OpResolverType.BUILTIN_REF)[1]
    except Refused:
        # Some operators have no reference kernel.
        if by_xnnpack is None:
            raise
        expected = by_xnnpack
    if by_xnnpack is not None and [each.shape for each in by_xnnpack] != [
        each.shape for each in expected
    ]:
        # Of a window that is larger than its image, one has nothing and the other a row.
        raise Refused("LiteRT's kernels disagree about shapes")
    return RandomGraph(tuple(sketch.kinds), content, sketch.feeds, expected, by_xnnpack)


def _with_shapes(sketch: Sketch) -> None:
    """Gives tensors the shapes that LiteRT finds."""
    content = packed(copy.deepcopy(sketch.graph).model(*sketch.outputs))
    try:
        interpreter, _ = interpreted(content, sketch.feeds, OpResolverType.BUILTIN_REF)
    except Refused:
        interpreter, _ = interpreted(content, sketch.feeds, OpResolverType.AUTO)
    found = {
        each["index"]: tuple(int(extent) for extent in each["shape"])
        for each in interpreter.get_tensor_details()
    }
    for index, tensor in enumerate(sketch.graph.tensors):
        tensor.shape = list(found.get(index, tensor.shape))
    sketch.last = [
        Value(each.index, found[each.index], each.dtype, each.scale, each.zero_point)
        for each in sketch.last
    ]


@contextmanager
def silence() -> Iterator[None]:
    """Without what LiteRT writes of each graph that it refuses."""
    kept, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(null)
