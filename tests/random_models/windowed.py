# SPDX-License-Identifier: Apache-2.0
"""Operations with windows: implicit and explicit padding, strides, dilation, both layouts, filters
of one scale and of one per channel, tails; and products of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halyard.model import TensorType
from tests.random_models.sketch import (
    BYTES,
    CHANNELS,
    F32,
    FLOATS,
    I32,
    RandomCase,
    Sketch,
    generator,
    like,
    product,
)

_SAME = 1
_VALID = 2


@dataclass(frozen=True)
class _Layout:
    nchw: bool

    def shape(self, batch: int, height: int, width: int, depth: int) -> tuple[int, ...]:
        return (batch, depth, height, width) if self.nchw else (batch, height, width, depth)


@dataclass(frozen=True)
class _Window:
    """Arguments from the padding on, and an image that the window fits on."""

    arguments: list[int]
    height: int
    width: int


def _window(
    sketch: Sketch,
    filters: tuple[int, int],
    dilations: tuple[int, int] = (1, 1),
    *,
    pads_below_filter: bool = False,
) -> _Window:
    """Padding and strides as operands, for a filter of (height, width)."""
    reach = [
        (extent - 1) * dilation + 1 for extent, dilation in zip(filters, dilations, strict=True)
    ]
    strides = [sketch.integer(1, 3) for _ in range(2)]  # of width, height
    height, width = (extent + sketch.integer(0, 6) for extent in reach)
    if sketch.chance(0.4):
        scheme = sketch.pick((_SAME, _VALID))
        if scheme == _SAME and sketch.chance(0.3):
            # An image smaller than the window.
            height, width = sketch.integer(1, reach[0]), sketch.integer(1, reach[1])
        return _Window([scheme, *strides], height, width)
    most = [extent - 1 if pads_below_filter else extent for extent in reach]
    top, bottom = (sketch.integer(0, most[0]) for _ in range(2))
    left, right = (sketch.integer(0, most[1]) for _ in range(2))
    return _Window([left, right, top, bottom, *strides], height, width)


def _weighted(
    sketch: Sketch,
    data: TensorType,
    weights_shape: Sequence[int],
    channels: int,
    channel_dim: int,
    *,
    per_channel: bool = True,
) -> list[int]:
    """Operands: data, weights, bias. Sums of floats stay exact in float32."""
    if data.type in FLOATS:
        weights = TensorType(data.type, tuple(weights_shape))
        bias = TensorType(data.type, (channels,))
        dtype = np.float16 if data.type != F32 else np.float32
        return [
            sketch.tensor(data, sketch.grid(data.dimensions, 2, 1 / 4).astype(dtype)),
            sketch.tensor(weights, sketch.grid(weights_shape, 2, 1 / 4).astype(dtype)),
            sketch.tensor(bias),
        ]
    if per_channel and sketch.chance():
        scales = tuple(
            float(np.float32(2.0 ** sketch.source.uniform(-8, 0))) for _ in range(channels)
        )
        weights = TensorType(
            CHANNELS, tuple(weights_shape), channel_scales=scales, channel_dim=channel_dim
        )
        bias = TensorType(I32, (channels,))
        constant: bool | None = True
    else:
        weights = sketch.type_of(data.type, weights_shape)
        bias = TensorType(I32, (channels,), float(np.float32(data.scale * weights.scale)))
        constant = None
    inputs = [sketch.tensor(data), sketch.tensor(weights, constant=constant)]
    values = sketch.source.integers(-20000, 20000, (channels,), endpoint=True)
    return [*inputs, sketch.tensor(bias, values)]


def _close(sketch: Sketch, data: TensorType, inputs: list[int]) -> RandomCase:
    return sketch.finish(inputs, like(data), fit=[0] if data.type in BYTES else [])


def _data(sketch: Sketch, shape: Sequence[int]) -> TensorType:
    return sketch.type_of(sketch.pick((*FLOATS, *BYTES, *BYTES)), shape)


def _dilations(sketch: Sketch) -> tuple[int, int]:
    return (sketch.integer(1, 3), sketch.integer(1, 3)) if sketch.chance(0.4) else (1, 1)


def _tail(sketch: Sketch, layout: _Layout, dilations: tuple[int, int] | None = None) -> list[int]:
    """Layout and dilations, which may be left out where they are the default."""
    operands = []
    dilated = dilations not in (None, (1, 1))
    if layout.nchw or dilated or sketch.chance():
        operands.append(sketch.flag(layout.nchw))
        if dilations is not None and (dilated or sketch.chance()):
            height, width = dilations
            operands += [sketch.integer_scalar(width), sketch.integer_scalar(height)]
    return operands


@generator("CONV_2D")
def conv_2d(sketch: Sketch) -> RandomCase:
    filters = (sketch.integer(1, 4), sketch.integer(1, 4))
    dilations, layout = _dilations(sketch), _Layout(sketch.chance(0.3))
    window = _window(sketch, filters, dilations)
    depth, channels = sketch.pick((1, 2, 3, 8, 17)), sketch.pick((1, 2, 5, 8, 19))
    data = _data(sketch, layout.shape(sketch.integer(1, 3), window.height, window.width, depth))
    inputs = _weighted(sketch, data, (channels, *filters, depth), channels, 0)
    scalars = [*window.arguments, sketch.integer(0, 3)]
    inputs += [sketch.integer_scalar(value) for value in scalars]
    return _close(sketch, data, inputs + _tail(sketch, layout, dilations))


@generator("DEPTHWISE_CONV_2D")
def depthwise_conv_2d(sketch: Sketch) -> RandomCase:
    filters = (sketch.integer(1, 4), sketch.integer(1, 4))
    dilations, layout = _dilations(sketch), _Layout(sketch.chance(0.3))
    window = _window(sketch, filters, dilations)
    depth, multiplier = sketch.pick((1, 2, 3, 8, 17)), sketch.integer(1, 3)
    channels = depth * multiplier
    data = _data(sketch, layout.shape(sketch.integer(1, 3), window.height, window.width, depth))
    inputs = _weighted(sketch, data, (1, *filters, channels), channels, 3)
    scalars = [*window.arguments, multiplier, sketch.integer(0, 3)]
    inputs += [sketch.integer_scalar(value) for value in scalars]
    return _close(sketch, data, inputs + _tail(sketch, layout, dilations))


@generator("GROUPED_CONV_2D")
def grouped_conv_2d(sketch: Sketch) -> RandomCase:
    filters = (sketch.integer(1, 3), sketch.integer(1, 3))
    layout, window = _Layout(sketch.chance(0.4)), _window(sketch, filters)
    groups = sketch.integer(1, 4)
    depth, channels = groups * sketch.integer(1, 5), groups * sketch.integer(1, 4)
    data = _data(sketch, layout.shape(sketch.integer(1, 2), window.height, window.width, depth))
    inputs = _weighted(sketch, data, (channels, *filters, depth // groups), channels, 0)
    scalars = [*window.arguments, groups, sketch.integer(0, 3)]
    inputs += [sketch.integer_scalar(value) for value in scalars]
    return _close(sketch, data, [*inputs, sketch.flag(layout.nchw)])


@generator("TRANSPOSE_CONV_2D")
def transpose_conv_2d(sketch: Sketch) -> RandomCase:
    layout, filters = _Layout(sketch.chance(0.4)), (sketch.integer(1, 4), sketch.integer(1, 4))
    batch, depth, channels = (sketch.integer(1, 3) for _ in range(3))
    strides = [sketch.integer(1, 3), sketch.integer(1, 3)]  # of width, height
    extents = [sketch.integer(1, 5), sketch.integer(1, 5)]  # height, width
    data = _data(sketch, layout.shape(batch, extents[0], extents[1], depth))
    inputs = _weighted(sketch, data, (channels, *filters, depth), channels, 0)
    if sketch.chance():
        scheme = sketch.pick((_SAME, _VALID))
        sizes = []
        for extent, stride, reach in zip(extents, reversed(strides), filters, strict=True):
            # All that a convolution would take to `extent`.
            least = (extent - 1) * stride + (1 if scheme == _SAME else reach)
            sizes.append(least + sketch.integer(0, stride - 1))
        shape = layout.shape(batch, sizes[0], sizes[1], channels)
        inputs += [sketch.vector(shape, constant=True), sketch.integer_scalar(scheme)]
    else:
        pads = []
        for extent, stride, reach in reversed(
            list(zip(extents, reversed(strides), filters, strict=True))
        ):
            before = sketch.integer(0, reach - 1)
            most = (extent - 1) * stride + reach - before - 1
            pads += [before, sketch.integer(0, min(most, reach - 1))]
        inputs += [sketch.integer_scalar(pad) for pad in pads]
    inputs += [sketch.integer_scalar(value) for value in [*strides, sketch.integer(0, 3)]]
    return _close(sketch, data, [*inputs, sketch.flag(layout.nchw)])


@generator("AVERAGE_POOL_2D", "L2_POOL_2D", "MAX_POOL_2D")
def pool(sketch: Sketch) -> RandomCase:
    filters = (sketch.integer(1, 5), sketch.integer(1, 5))
    layout = _Layout(sketch.chance(0.3))
    window = _window(sketch, filters, pads_below_filter=True)
    shape = layout.shape(
        sketch.integer(1, 3), window.height, window.width, sketch.pick((1, 3, 8, 17, 33))
    )
    types = FLOATS if sketch.operation == "L2_POOL_2D" else (*FLOATS, *BYTES)
    data = sketch.type_of(sketch.pick(types), shape)
    scalars = [*window.arguments, filters[1], filters[0], sketch.integer(0, 3)]
    inputs = [sketch.tensor(data), *(sketch.integer_scalar(value) for value in scalars)]
    return sketch.finish(inputs + _tail(sketch, layout), like(data))


@generator("FULLY_CONNECTED")
def fully_connected(sketch: Sketch) -> RandomCase:
    """The input may have any rank from 2 on; it is taken as rows."""
    shape = sketch.shape(2, 4)
    size = product(shape[sketch.integer(1, len(shape) - 1) :])
    units = sketch.pick((1, 2, 7, 16, 33))
    data = _data(sketch, shape)
    inputs = _weighted(sketch, data, (units, size), units, 0, per_channel=False)
    return _close(sketch, data, [*inputs, sketch.integer_scalar(sketch.integer(0, 3))])


@generator("BATCH_MATMUL")
def batch_matmul(sketch: Sketch) -> RandomCase:
    batch = sketch.shape(0, 2, 3)
    rows, inner, columns = (sketch.pick((1, 2, 5, 17)) for _ in range(3))
    adjoint = sketch.chance(), sketch.chance()
    left = (inner, rows) if adjoint[0] else (rows, inner)
    right = (columns, inner) if adjoint[1] else (inner, columns)
    operand_type = sketch.pick((*FLOATS, BYTES[1]))
    types = [sketch.type_of(operand_type, (*batch, *shape)) for shape in (left, right)]
    inputs = [sketch.tensor(tensor) for tensor in types]
    inputs += [sketch.flag(flag) for flag in adjoint]
    return _close(sketch, types[0], inputs)
