# SPDX-License-Identifier: Apache-2.0
"""How the pixels of an image become a model's input."""

from __future__ import annotations

import enum
import importlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from halyard.errors import HalyardError, PackageMissing
from halyard.model.operands import Array
from halyard.model.stimuli import ZERO_POINT
from halyard.model.tensors import TensorInfo

SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".webp"})

# Of a byte of an image in a model that computes with floats: -1 to 1.
_IMAGE_SCALE = 1 / 128


class Layout(enum.Enum):
    NCHW = "NCHW"
    NHWC = "NHWC"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Pixels:
    """(pixel - mean) * scale, with one number for all channels or one for each; none: as an input's
    type has it. No layout: the one that the input's shape has."""

    layout: Layout | None = None
    mean: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.layout or self.mean or self.scale)


def read_image(path: Path, info: TensorInfo, pixels: Pixels) -> Array:
    """At the input's size, as RGB or grey. Unless numbers are given, bytes as they are for an
    unsigned input, less 128 for a signed one, and -1 to 1 for floats: as the synthetic images."""
    layout = _layout(path, info, pixels)
    height, width, channels = _extents(info, layout)
    try:
        pillow = importlib.import_module("PIL.Image")
    except ImportError as error:
        raise PackageMissing(
            f"{path}: to read an image takes the package pillow: pip install pillow, or give the "
            "pixels as .npy"
        ) from error
    try:
        with pillow.open(path) as image:
            resized = image.convert("L" if channels == 1 else "RGB").resize((width, height))
    except pillow.UnidentifiedImageError as error:
        raise HalyardError(f"{path}: this is no image that pillow can read") from error
    # A bomb, or bytes that are missing in the middle.
    except (ValueError, pillow.DecompressionBombError) as error:
        raise HalyardError(f"{path}: pillow can't read this image: {error}") from error
    bytes_of = np.asarray(resized, np.uint8).reshape(1, height, width, channels)
    values = _values(path, bytes_of, info, pixels)
    if layout is Layout.NCHW:
        values = values.transpose(0, 3, 1, 2)
    return np.ascontiguousarray(values)


def _layout(path: Path, info: TensorInfo, pixels: Pixels) -> Layout:
    shape = info.shape
    fitting = [
        layout
        for layout, axis in ((Layout.NHWC, 3), (Layout.NCHW, 1))
        if len(shape) == 4 and shape[0] == 1 and shape[axis] in (1, 3) and 0 not in shape
    ]
    if pixels.layout is not None:
        fitting = [layout for layout in fitting if layout is pixels.layout]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise HalyardError(
            f"{path}: the input {info.name or 'of the model'} of {list(shape)} may be NHWC or "
            "NCHW: --layout says which"
        )
    wanted = {
        None: "[1, height, width, 1 or 3] or [1, 1 or 3, height, width]",
        Layout.NHWC: "[1, height, width, 1 or 3]",
        Layout.NCHW: "[1, 1 or 3, height, width]",
    }[pixels.layout]
    raise HalyardError(
        f"{path} has an image, which takes an input {wanted}; the input "
        f"{info.name or 'of the model'} takes {info.dtype}{list(shape)}"
    )


def _extents(info: TensorInfo, layout: Layout) -> tuple[int, int, int]:
    """Height, width and channels."""
    _, *extents = info.shape
    if layout is Layout.NCHW:
        extents = [*extents[1:], extents[0]]
    height, width, channels = extents
    return height, width, channels


def _values(path: Path, pixels: Array, info: TensorInfo, how: Pixels) -> Array:
    """Of [1, height, width, channels]."""
    if how.mean or how.scale:
        channels = pixels.shape[3]
        for option, given in (("--mean", how.mean), ("--scale", how.scale)):
            if len(given) not in (0, 1, channels):
                raise HalyardError(
                    f"{path}: {option} has {len(given)} numbers, and the input {info.name} has "
                    f"{channels} channels"
                )
        real: Array = (pixels - np.asarray(how.mean or (0.0,))) * np.asarray(how.scale or (1.0,))
        if info.quantized:
            limits = np.iinfo(info.dtype)
            steps = np.rint(real / info.scale) + info.zero_point
            clipped: Array = np.clip(steps, limits.min, limits.max).astype(info.dtype)
            return clipped
        if np.issubdtype(info.dtype, np.floating):
            numbers: Array = real.astype(info.dtype)
            return numbers
        raise HalyardError(
            f"{path}: --mean and --scale make real numbers, and the input {info.name} takes "
            f"{info.dtype}"
        )
    if info.dtype == np.uint8:
        return pixels
    centred = pixels.astype(np.int16) - ZERO_POINT
    if info.dtype == np.int8:
        return centred.astype(np.int8)
    if np.issubdtype(info.dtype, np.floating):
        return (centred * _IMAGE_SCALE).astype(info.dtype)
    raise HalyardError(
        f"{path} has an image; the input {info.name or 'of the model'} takes "
        f"{info.dtype}{list(info.shape)}"
    )
