# SPDX-License-Identifier: Apache-2.0
"""Synthetic photographs.

Smooth light, edges and texture: a network sees what it would see of the world, not white noise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from halyard.model import Array

# The models' input: a byte b stands for (b - 128) / 128, which is exact in every data type.
INPUT_SCALE = 1.0 / 128
INPUT_ZERO_POINT = 128

_SHAPES_PER_IMAGE = 6

# Statistics are taken from so many images, or from fewer that have so many pixels together.
_MAX_SAMPLES = 8
_SAMPLE_PIXELS = _MAX_SAMPLES * 96 * 96


def image(shape: tuple[int, ...], seed: int) -> npt.NDArray[np.uint8]:
    """An image of the shape [1, height, width, channels]."""
    batch, height, width, channels = shape
    if batch != 1:
        raise ValueError(f"one image at a time, not {batch}")
    random = np.random.default_rng([0x1AA6E, seed])
    y, x = np.mgrid[0 : 1 : complex(0, height), 0 : 1 : complex(0, width)].astype(np.float32)
    # Light that falls in from one side.
    slope = random.uniform(-0.5, 0.5, (2, channels)).astype(np.float32)
    base = random.uniform(0.2, 0.8, channels).astype(np.float32)
    picture = base + (x - 0.5)[..., None] * slope[0] + (y - 0.5)[..., None] * slope[1]
    for _ in range(_SHAPES_PER_IMAGE):
        centre_y, centre_x = random.uniform(0, 1, 2)
        radius_y, radius_x = random.uniform(0.08, 0.4, 2)
        angle = random.uniform(0, np.pi)
        u = ((x - centre_x) * np.cos(angle) + (y - centre_y) * np.sin(angle)) / radius_x
        v = ((y - centre_y) * np.cos(angle) - (x - centre_x) * np.sin(angle)) / radius_y
        inside = np.hypot(u, v) < 1 if random.uniform() < 0.5 else np.maximum(abs(u), abs(v)) < 1
        colour = random.uniform(0, 1, channels).astype(np.float32)
        stripes = 0.15 * np.sin(random.uniform(2, 20) * u + random.uniform(0, np.pi))
        picture[inside] = colour + stripes[inside, None]
    picture += random.normal(0, 0.02, picture.shape)
    pixels = np.clip(np.rint(picture * 255), 0, 255)
    return np.asarray(pixels[None], np.uint8)


def as_input(pixels: npt.NDArray[np.uint8], dtype: np.dtype[Any]) -> Array:
    """The image in the element type of a model's input."""
    if dtype == np.uint8:
        return pixels
    centred = pixels.astype(np.int16) - INPUT_ZERO_POINT
    if dtype == np.int8:
        return centred.astype(np.int8)
    return (centred * INPUT_SCALE).astype(dtype)


def samples(shape: tuple[int, ...], first_seed: int) -> list[Array]:
    """Float inputs to take statistics from, one per seed from `first_seed` on."""
    count = min(_MAX_SAMPLES, max(4, _SAMPLE_PIXELS // (shape[1] * shape[2])))
    dtype = np.dtype(np.float32)
    return [as_input(image(shape, first_seed + number), dtype) for number in range(count)]
