# SPDX-License-Identifier: Apache-2.0
"""Resizing images."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from halyard.model import Array
from halyard.reference.tensor import Call, operation
from halyard.reference.window import from_layout, to_layout


@operation("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")
def resize(call: Call) -> Sequence[Array]:
    """To a width and a height, or by factors of them."""
    nchw = call.flag("layout")
    align_corners, half_pixel = call.flag("align_corners"), call.flag("half_pixel_centers")
    image = from_layout(call.real("input"), nchw)
    for axis, name in ((1, "height"), (2, "width")):
        extent = image.shape[axis]
        size = _size(call, name, extent)
        places = _places(extent, size, align_corners, half_pixel)
        if call.name == "RESIZE_BILINEAR":
            image = _interpolate(image, axis, places)
        else:
            image = _nearest(image, axis, places, align_corners, half_pixel)
    return [to_layout(image, nchw)]


def _size(call: Call, name: str, extent: int) -> int:
    if call.has(name):
        return call.integer(name)
    return int(np.floor(extent * call.number(f"{name}_scale")))


def _places(extent: int, size: int, align_corners: bool, half_pixel: bool) -> list[Fraction]:
    """Where in the input the outputs lie. With aligned corners the first and last elements of both
    are at the same places; with half pixel centers element i is at i + 0.5."""
    aligned = align_corners and size > 1
    scale = Fraction(extent - 1, size - 1) if aligned else Fraction(extent, size)
    half = Fraction(1, 2) if half_pixel else Fraction(0)
    return [(i + half) * scale - half for i in range(size)]


def _interpolate(image: Array, axis: int, places: Sequence[Fraction]) -> Array:
    """Beyond the edges lies what is at the edges."""
    last = image.shape[axis] - 1
    lower = [min(max(place.__floor__(), 0), last) for place in places]
    upper = [min(max(place.__floor__() + 1, 0), last) for place in places]
    along = [1] * image.ndim
    along[axis] = -1
    shares = [float(place - place.__floor__()) for place in places]
    weights = np.array(shares, image.dtype).reshape(along)
    below, above = np.take(image, lower, axis), np.take(image, upper, axis)
    return np.asarray(below * (1 - weights) + above * weights)


def _nearest(
    image: Array, axis: int, places: Sequence[Fraction], align_corners: bool, half_pixel: bool
) -> Array:
    """With aligned corners the nearest element, else the one whose cell the place lies in: with
    half pixel centers cells are half a pixel further."""
    last = image.shape[axis] - 1
    half = Fraction(1, 2)
    shift = (half if half_pixel else 0) + (half if align_corners else 0)
    chosen = [min(max((place + shift).__floor__(), 0), last) for place in places]
    return np.take(image, chosen, axis)
