# SPDX-License-Identifier: Apache-2.0
"""Operators with windows, weights and a bias."""

from __future__ import annotations

import numpy as np

from tests.random_tflite.sketch import FLOATS, REAL, WIDE, Maker, Refused, Shape, Sketch, Value


def _scales(sketch: Sketch, count: int) -> list[float]:
    found = np.exp(sketch.random.uniform(np.log(0.002), np.log(0.02), count))
    return [float(each) for each in found.astype(np.float32)]


def hybrid_weights(sketch: Sketch, shape: Shape, axis: int, channels: int) -> Value:
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
            filters = hybrid_weights(sketch, shape, axis, channels if sketch.flag() else 0)
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
        data = sketch.value(WIDE, shape=shape)
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
    data = sketch.value(REAL, shape=shape)
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
    data = sketch.value(WIDE, rank=range(1, 6))
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
        source = sketch.value(FLOATS if kind == "L2_POOL_2D" else REAL, shape=shape)
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


def _embedding(sketch: Sketch) -> None:
    table = sketch.value(FLOATS, shape=sketch.shape(sketch.integer(2, 4)))
    count = sketch.integer(1, 5)
    values = np.asarray(sketch.random.integers(0, table.shape[0], count), "int32")
    ids = sketch.given((count,), "int32", values)
    if sketch.chance(0.3):
        table = hybrid_weights(sketch, table.shape, 0, 0)
    sketch.emit("EMBEDDING_LOOKUP", [ids, table], [sketch.result("float32")])


MAKERS: dict[str, Maker] = {
    "CONV_2D": _convolution("CONV_2D"),
    "DEPTHWISE_CONV_2D": _convolution("DEPTHWISE_CONV_2D"),
    "TRANSPOSE_CONV": _transposed,
    "FULLY_CONNECTED": _fully_connected,
    "AVERAGE_POOL_2D": _pool("AVERAGE_POOL_2D"),
    "MAX_POOL_2D": _pool("MAX_POOL_2D"),
    "L2_POOL_2D": _pool("L2_POOL_2D"),
    "EMBEDDING_LOOKUP": _embedding,
}
