# SPDX-License-Identifier: Apache-2.0
"""Where a window lies on an image: padding, strides, dilation and layout."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from halyard.model import Array
from halyard.model.arguments import ExplicitPadding, Padding, Window, same_padding


@dataclass(frozen=True)
class Line:
    """One direction of a window: how far it reaches, its steps, its padding."""

    extent: int
    stride: int
    before: int
    after: int
    dilation: int = 1

    @property
    def reach(self) -> int:
        return (self.extent - 1) * self.dilation + 1

    def outputs(self, extent: int) -> int:
        return (extent + self.before + self.after - self.reach) // self.stride + 1


def lines(window: Window, image: Sequence[int], extents: Sequence[int]) -> tuple[Line, Line]:
    """The vertical and the horizontal line of a window of `extents` (height, width) on an image of
    these extents (height, width)."""
    strides = (window.stride_h, window.stride_w)
    dilations = (window.dilation_h, window.dilation_w)
    found = []
    for axis in range(2):
        if isinstance(window.padding, ExplicitPadding):
            pads = window.padding.vertical if axis == 0 else window.padding.horizontal
        elif window.padding is Padding.SAME:
            reach = (extents[axis] - 1) * dilations[axis] + 1
            pads = same_padding(image[axis], reach, strides[axis])
        else:
            pads = (0, 0)
        found.append(Line(extents[axis], strides[axis], *pads, dilations[axis]))
    return found[0], found[1]


def taps(image: Array, vertical: Line, horizontal: Line, fill: float = 0.0) -> Iterator[Array]:
    """For each position in the window, row by row, what all windows see there, [batch, out height,
    out width, depth] of an NHWC image: `fill` where they lie on the padding."""
    margins = (vertical.before, vertical.after), (horizontal.before, horizontal.after)
    height, width = image.shape[1:3]
    if any(map(any, margins)):
        image = np.pad(image, ((0, 0), *margins, (0, 0)), constant_values=fill)
    below, right = vertical.outputs(height), horizontal.outputs(width)
    for y in range(vertical.extent):
        top = y * vertical.dilation
        rows = slice(top, top + (below - 1) * vertical.stride + 1, vertical.stride)
        for x in range(horizontal.extent):
            left = x * horizontal.dilation
            yield image[
                :, rows, left : left + (right - 1) * horizontal.stride + 1 : horizontal.stride
            ]


def from_layout(image: Array, nchw: bool) -> Array:
    """As NHWC."""
    return image.transpose(0, 2, 3, 1) if nchw else image


def to_layout(image: Array, nchw: bool) -> Array:
    return image.transpose(0, 3, 1, 2) if nchw else image
