# SPDX-License-Identifier: Apache-2.0
"""Synthetic photographs.

Smooth light, edges and texture: a network sees what it would see of the world, not white noise.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_SHAPES_PER_IMAGE = 6


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
    image = base + (x - 0.5)[..., None] * slope[0] + (y - 0.5)[..., None] * slope[1]
    for _ in range(_SHAPES_PER_IMAGE):
        centre_y, centre_x = random.uniform(0, 1, 2)
        radius_y, radius_x = random.uniform(0.08, 0.4, 2)
        angle = random.uniform(0, np.pi)
        u = ((x - centre_x) * np.cos(angle) + (y - centre_y) * np.sin(angle)) / radius_x
        v = ((y - centre_y) * np.cos(angle) - (x - centre_x) * np.sin(angle)) / radius_y
        inside = np.hypot(u, v) < 1 if random.uniform() < 0.5 else np.maximum(abs(u), abs(v)) < 1
        colour = random.uniform(0, 1, channels).astype(np.float32)
        stripes = 0.15 * np.sin(random.uniform(2, 20) * u + random.uniform(0, np.pi))
        image[inside] = colour + stripes[inside, None]
    image += random.normal(0, 0.02, image.shape)
    pixels = np.clip(np.rint(image * 255), 0, 255)
    return np.asarray(pixels[None], np.uint8)
