# SPDX-License-Identifier: Apache-2.0
"""Convolutions. All but the transposed one are sums of products over the windows of an image."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halyard.model import Array, arguments
from halyard.model.arguments import Window
from halyard.reference.tensor import Call, activate, operation
from halyard.reference.window import Line, from_layout, lines, taps, to_layout


def bias(call: Call, weights: str) -> Array:
    """The real numbers of a bias. Of a quantised operation it is INT32, and its scale is that of
    the products: input scale times filter scale, of each output channel if the filter has many."""
    tensor = call.tensor("bias")
    if tensor.is_int32:
        return tensor.stored * (call.tensor("input").scale * call.tensor(weights).scales)
    return call.real("bias")


def convolved(image: Array, weights: Array, window: Window) -> Array:
    """Of an NHWC image and a filter [depth out, height, width, depth in], without a bias."""
    depth, *extents, _ = weights.shape
    seen = list(taps(image, *lines(window, image.shape[1:3], extents)))
    columns = seen[0] if len(seen) == 1 else np.concatenate(seen, axis=3)
    return np.asarray(columns @ weights.reshape(depth, -1).T)


def depthwise_convolved(image: Array, weights: Array, window: Window) -> Array:
    """Filter: [1, height, width, depth out]; output channel k * multiplier + q is of input channel
    k."""
    _, *extents, depth = weights.shape
    total: Array | None = None
    seen = taps(image, *lines(window, image.shape[1:3], extents))
    for tap, row in zip(seen, weights.reshape(-1, depth), strict=True):
        product = np.repeat(tap, window.multiplier, axis=3) if window.multiplier > 1 else tap
        total = product * row if total is None else total + product * row
    assert total is not None
    return total


@operation("CONV_2D")
def conv_2d(call: Call) -> Sequence[Array]:
    window = arguments.window(call)
    image = from_layout(call.real("input"), window.nchw)
    return _finish(call, convolved(image, call.real("filter"), window), window)


@operation("GROUPED_CONV_2D")
def grouped_conv_2d(call: Call) -> Sequence[Array]:
    """Filter: [depth out, height, width, depth of a group]; output channels belong to the groups in
    order."""
    window, groups = arguments.window(call), call.integer("groups")
    image = from_layout(call.real("input"), window.nchw)
    pairs = zip(np.split(image, groups, axis=3), np.split(call.real("filter"), groups), strict=True)
    sums = np.concatenate([convolved(*pair, window) for pair in pairs], axis=3)
    return _finish(call, sums, window)


@operation("DEPTHWISE_CONV_2D")
def depthwise_conv_2d(call: Call) -> Sequence[Array]:
    window = arguments.window(call)
    image = from_layout(call.real("input"), window.nchw)
    return _finish(call, depthwise_convolved(image, call.real("filter"), window), window)


@operation("TRANSPOSE_CONV_2D")
def transpose_conv_2d(call: Call) -> Sequence[Array]:
    """Each element of the input adds the filter, times itself, to the output at its place. Filter:
    [depth out, height, width, depth in]. The implicit form is given the output's shape."""
    window = arguments.window(call)
    image, weights = from_layout(call.real("input"), window.nchw), call.real("filter")
    batch, *extents, _ = image.shape
    depth, *filters, _ = weights.shape
    if call.has("output_shape"):
        shape = call.integers("output_shape")
        sizes = shape[2:] if window.nchw else shape[1:3]
        vertical, horizontal = lines(window, sizes, filters)
    else:
        vertical, horizontal = lines(window, extents, filters)
        sizes = [_transposed(*pair) for pair in zip((vertical, horizontal), extents, strict=True)]
    # On a canvas without padding, of which the output is a part.
    canvas = np.zeros(
        (
            batch,
            max((extents[0] - 1) * vertical.stride + filters[0], vertical.before + sizes[0]),
            max((extents[1] - 1) * horizontal.stride + filters[1], horizontal.before + sizes[1]),
            depth,
        )
    )
    for y, x in np.ndindex(filters[0], filters[1]):
        rows = slice(y, y + (extents[0] - 1) * vertical.stride + 1, vertical.stride)
        columns = slice(x, x + (extents[1] - 1) * horizontal.stride + 1, horizontal.stride)
        canvas[:, rows, columns] += image @ weights[:, y, x].T
    sums = canvas[
        :,
        vertical.before : vertical.before + sizes[0],
        horizontal.before : horizontal.before + sizes[1],
    ]
    return _finish(call, sums, window)


def _transposed(line: Line, extent: int) -> int:
    """How many outputs a convolution with this line needs to have `extent` inputs here."""
    return (extent - 1) * line.stride + line.extent - line.before - line.after


def _finish(call: Call, sums: Array, window: Window) -> Sequence[Array]:
    total = activate(sums + bias(call, "filter"), window.activation)
    return [to_layout(total, window.nchw)]
