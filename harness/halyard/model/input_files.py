# SPDX-License-Identifier: Apache-2.0
"""Inputs of a model from files: arrays, raw bytes, and images as arrays."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np

from halyard.errors import HalyardError, PackageMissing
from halyard.model.operands import Array
from halyard.model.stimuli import ZERO_POINT
from halyard.model.tensors import TensorInfo

_IMAGES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".webp"})

# Of a byte of an image in a model that computes with floats: -1 to 1.
_IMAGE_SCALE = 1 / 128


def read_input(path: Path, info: TensorInfo) -> Array:
    """The value of an input. `.npy` has its type and shape, or so many elements; an image is
    brought to the input's size; anything else is raw bytes, little endian and row-major.
    HalyardError names the file and what the input takes."""
    try:
        if path.suffix.lower() == ".npy":
            return _array(path, info)
        if path.suffix.lower() in _IMAGES:
            return _image(path, info)
        content = path.read_bytes()
    except OSError as error:
        raise HalyardError(f"{path}: {error.strerror or error}") from error
    expected = info.dtype.itemsize * int(np.prod(info.shape))
    if len(content) != expected:
        raise _unfit(path, info, f"{len(content)} bytes, not {expected}")
    return np.frombuffer(content, info.dtype).reshape(info.shape)


def _array(path: Path, info: TensorInfo) -> Array:
    try:
        values: Array = np.load(path, allow_pickle=False)
    except ValueError as error:
        raise HalyardError(f"{path}: this is no array of numpy's: {error}") from error
    if values.dtype != info.dtype:
        raise _unfit(path, info, f"elements of type {values.dtype}")
    if values.size != int(np.prod(info.shape)):
        raise _unfit(path, info, f"the shape {list(values.shape)}")
    return values.reshape(info.shape)


def _image(path: Path, info: TensorInfo) -> Array:
    """Bytes as they are for an unsigned input, less 128 for a signed one, and -1 to 1 for floats:
    as the synthetic images."""
    if len(info.shape) != 4 or info.shape[0] != 1 or info.shape[3] not in (1, 3):
        raise _unfit(path, info, "an image, which takes an input [1, height, width, 1 or 3]")
    try:
        pillow = importlib.import_module("PIL.Image")
    except ImportError as error:
        raise PackageMissing(
            f"{path}: to read an image takes the package pillow: pip install pillow, or give the "
            "pixels as .npy"
        ) from error
    _, height, width, channels = info.shape
    try:
        picture = pillow.open(path).convert("L" if channels == 1 else "RGB")
    except pillow.UnidentifiedImageError as error:
        raise HalyardError(f"{path}: this is no image that pillow can read") from error
    pixels = np.asarray(picture.resize((width, height)), np.uint8).reshape(info.shape)
    if info.dtype == np.uint8:
        return pixels
    centred = pixels.astype(np.int16) - ZERO_POINT
    if info.dtype == np.int8:
        return centred.astype(np.int8)
    if np.issubdtype(info.dtype, np.floating):
        return (centred * _IMAGE_SCALE).astype(info.dtype)
    raise _unfit(path, info, "an image")


def _unfit(path: Path, info: TensorInfo, what: str) -> HalyardError:
    return HalyardError(
        f"{path} has {what}; the input {info.name or 'of the model'} takes "
        f"{info.dtype}{list(info.shape)}"
    )
