# SPDX-License-Identifier: Apache-2.0
"""Convolutions. All but the transposed one are sums of products over the windows of an image."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.reference.tensor import Array, Call, Tensor, activate, operation
from tests.reference.window import (
    Arguments,
    Line,
    arguments,
    from_layout,
    lines,
    to_layout,
    windows,
)


def bias(call: Call, index: int, data: Tensor, weights: Tensor) -> Array:
    """The real numbers of a bias. Of a quantised operation it is INT32, and its scale is that of
    the products: input scale times filter scale, of each output channel if the filter has many."""
    tensor = call.tensor(index)
    if tensor.is_int32:
        return tensor.stored * (data.scale * weights.scales)
    return tensor.real


@operation("CONV_2D")
def conv_2d(call: Call) -> Sequence[Array]:
    """Filter: [depth out, height, width, depth in]."""
    given = arguments(call, 3, 7)
    nchw = call.flag(given.next + 1)
    dilations = (call.integer(given.next + 3, 1), call.integer(given.next + 2, 1))
    found = _windows(call, given, nchw, call.tensor(1).shape[1:3], dilations)
    sums = np.einsum("bhwkij,oijk->bhwo", found, call.real(1), optimize=True)
    return _finish(call, sums, call.integer(given.next), nchw)


@operation("GROUPED_CONV_2D")
def grouped_conv_2d(call: Call) -> Sequence[Array]:
    """Filter: [depth out, height, width, depth of a group]; output channels belong to the groups in
    order."""
    given = arguments(call, 3, 8)
    groups, nchw = call.integer(given.next), call.flag(given.next + 2)
    found = _windows(call, given, nchw, call.tensor(1).shape[1:3], (1, 1))
    weights = call.real(1)
    sums = np.concatenate(
        [
            np.einsum("bhwkij,oijk->bhwo", of_group, with_weights, optimize=True)
            for of_group, with_weights in zip(
                np.split(found, groups, axis=3), np.split(weights, groups), strict=True
            )
        ],
        axis=3,
    )
    return _finish(call, sums, call.integer(given.next + 1), nchw)


@operation("DEPTHWISE_CONV_2D")
def depthwise_conv_2d(call: Call) -> Sequence[Array]:
    """Filter: [1, height, width, depth out]; output channel k * multiplier + q is of input channel
    k."""
    given = arguments(call, 3, 8)
    multiplier, nchw = call.integer(given.next), call.flag(given.next + 2)
    dilations = (call.integer(given.next + 4, 1), call.integer(given.next + 3, 1))
    weights = call.real(1)[0]
    height, width, depth = weights.shape
    found = _windows(call, given, nchw, (height, width), dilations)
    weights = weights.reshape(height, width, depth // multiplier, multiplier)
    sums = np.einsum("bhwkij,ijkq->bhwkq", found, weights, optimize=True)
    sums = sums.reshape(*sums.shape[:3], depth)
    return _finish(call, sums, call.integer(given.next + 1), nchw)


@operation("TRANSPOSE_CONV_2D")
def transpose_conv_2d(call: Call) -> Sequence[Array]:
    """Each element of the input adds the filter, times itself, to the output at its place. Filter:
    [depth out, height, width, depth in]. The implicit form has the output's shape as input 3."""
    implicit = len(call.inputs) < 10 or call.tensor(3).shape != ()
    given = arguments(call, 4, 8) if implicit else arguments(call, 3, 9)
    activation, nchw = call.integer(given.next), call.flag(given.next + 1)
    image, weights = from_layout(call.real(0), nchw), call.real(1)
    batch, *extents, _ = image.shape
    depth, *filters, _ = weights.shape
    if implicit:
        shape = call.integers(3)
        sizes = shape[2:] if nchw else shape[1:3]
        vertical, horizontal = lines(given, sizes, (filters[0], filters[1]))
    else:
        vertical, horizontal = lines(given, extents, (filters[0], filters[1]))
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
    return _finish(call, sums, activation, nchw)


def _transposed(line: Line, extent: int) -> int:
    """How many outputs a convolution with this line needs to have `extent` inputs here."""
    return (extent - 1) * line.stride + line.extent - line.before - line.after


def _windows(
    call: Call,
    given: Arguments,
    nchw: bool,
    extents: tuple[int, ...],
    dilations: tuple[int, int],
) -> Array:
    image = from_layout(call.real(0), nchw)
    vertical, horizontal = lines(given, image.shape[1:3], (extents[0], extents[1]), dilations)
    return windows(image, vertical, horizontal, 0)


def _finish(call: Call, sums: Array, activation: int, nchw: bool) -> Sequence[Array]:
    total = sums + bias(call, 2, call.tensor(0), call.tensor(1))
    return [to_layout(activate(total, activation), nchw)]
