# SPDX-License-Identifier: Apache-2.0
"""Inputs that look like what a network is for: images and sequences.

Each is made of bytes around 128, which stand for real values that are exact in every data type.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from halyard.model import images, signals
from halyard.model.operands import Array

ZERO_POINT = 128

# Statistics are taken from so many inputs, or from fewer that have so many elements together.
_MAX_SAMPLES = 32
_MIN_SAMPLES = 8
_SAMPLE_ELEMENTS = 8 * 96 * 96 * 3


@dataclass(frozen=True)
class Kind:
    """A byte b of what `make` gives for a shape and a seed stands for (b - ZERO_POINT) * scale."""

    make: Callable[[tuple[int, ...], int], npt.NDArray[np.uint8]]
    scale: float

    def as_input(self, shape: tuple[int, ...], seed: int, dtype: np.dtype[Any]) -> Array:
        """In the element type of a model's input: a float, or a byte of either sign."""
        made = self.make(shape, seed)
        if dtype == np.uint8:
            return made
        centred = made.astype(np.int16) - ZERO_POINT
        if dtype == np.int8:
            return centred.astype(np.int8)
        return (centred * self.scale).astype(dtype)


IMAGE = Kind(images.image, 1 / 128)
SIGNAL = Kind(signals.signal, 1 / 32)


def kind_of(shape: tuple[int, ...]) -> Kind | None:
    """The bytes of an input of the shape; None where the shape does not tell."""
    match shape:
        case (1, _, _, 1 | 3):
            return IMAGE
        case (1, _, _):
            return SIGNAL
        case _:
            return None


def samples(shape: tuple[int, ...], first_seed: int) -> list[Array]:
    """Float inputs to take statistics from, one per seed from `first_seed` on."""
    kind = kind_of(shape)
    if kind is None:
        raise ValueError(f"nothing is known that has the shape {list(shape)}")
    count = min(_MAX_SAMPLES, max(_MIN_SAMPLES, _SAMPLE_ELEMENTS // int(np.prod(shape))))
    dtype = np.dtype(np.float32)
    return [kind.as_input(shape, first_seed + number, dtype) for number in range(count)]
