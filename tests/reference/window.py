# SPDX-License-Identifier: Apache-2.0
"""Where a window lies on an image: padding, strides, dilation and layout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halyard.proto import halyard_pb2 as pb
from tests.reference.tensor import Array, Call

_SAME = 1  # the codes of the implicit padding schemes
_VALID = 2


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


@dataclass(frozen=True)
class Arguments:
    """The scalar arguments of a windowed operation from `first` on: padding (a scheme, or left,
    right, top, bottom), stride of width and height, then what the operation has of its own."""

    scheme: int  # 0: explicit
    pads: tuple[int, int, int, int]
    stride_w: int
    stride_h: int
    next: int  # the input after the strides


def arguments(call: Call, first: int, implicit_inputs: int) -> Arguments:
    """`implicit_inputs` counts the inputs of the shortest form with a padding scheme. What may
    follow in that form is the layout, a BOOL, where the explicit form has an integer."""
    count = len(call.inputs)
    implicit = count == implicit_inputs or (
        count > implicit_inputs and call.tensor(implicit_inputs).type == pb.OPERAND_TYPE_BOOL
    )
    at = first + (1 if implicit else 4)
    scheme = call.integer(first) if implicit else 0
    left, right, top, bottom = (
        (0, 0, 0, 0) if implicit else (call.integer(first + i) for i in range(4))
    )
    return Arguments(
        scheme, (left, right, top, bottom), call.integer(at), call.integer(at + 1), at + 2
    )


def lines(
    given: Arguments,
    image: Sequence[int],
    extents: tuple[int, int],
    dilations: tuple[int, int] = (1, 1),
) -> tuple[Line, Line]:
    """The vertical and the horizontal line of a window of `extents` (height, width) on an image of
    these extents (height, width)."""
    left, right, top, bottom = given.pads
    strides = (given.stride_h, given.stride_w)
    pads = ((top, bottom), (left, right))
    if given.scheme == _SAME:
        pads = tuple(
            _same(image[i], extents[i], strides[i], dilations[i])  # type: ignore[assignment]
            for i in range(2)
        )
    elif given.scheme == _VALID:
        pads = ((0, 0), (0, 0))
    vertical, horizontal = (Line(extents[i], strides[i], *pads[i], dilations[i]) for i in range(2))
    return vertical, horizontal


def _same(image: int, extent: int, stride: int, dilation: int) -> tuple[int, int]:
    """The output has ceil(image / stride) elements; an odd padding has the one more behind."""
    reach = (extent - 1) * dilation + 1
    total = max(0, (-(-image // stride) - 1) * stride + reach - image)
    return total // 2, total - total // 2


def windows(image: Array, vertical: Line, horizontal: Line, fill: float) -> Array:
    """[batch, out height, out width, depth, filter height, filter width] of an NHWC image, with
    `fill` where the window lies on the padding."""
    padded = np.pad(
        image,
        (
            (0, 0),
            (vertical.before, vertical.after),
            (horizontal.before, horizontal.after),
            (0, 0),
        ),
        constant_values=fill,
    )
    found = np.lib.stride_tricks.sliding_window_view(
        padded, (vertical.reach, horizontal.reach), axis=(1, 2)
    )
    return found[
        :, :: vertical.stride, :: horizontal.stride, :, :: vertical.dilation, :: horizontal.dilation
    ]


def from_layout(image: Array, nchw: bool) -> Array:
    """As NHWC."""
    return image.transpose(0, 2, 3, 1) if nchw else image


def to_layout(image: Array, nchw: bool) -> Array:
    return image.transpose(0, 3, 1, 2) if nchw else image
