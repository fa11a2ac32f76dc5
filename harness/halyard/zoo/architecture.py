# SPDX-License-Identifier: Apache-2.0
"""A network of the zoo, before it is composed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from halyard.model import DataType
from halyard.proto import halyard_pb2 as pb

# Of a network whose operations NNAPI has for all of them.
ALL_TYPES = tuple(DataType)


@dataclass(frozen=True)
class Architecture:
    """`compose` makes the float32 model from size, width, seed and classes."""

    compose: Callable[[int, float, int, int], pb.Model]
    size: int  # unless another is asked for: of an image's side in pixels, of a sequence in frames
    classes: int
    types: tuple[DataType, ...] = ALL_TYPES


def make_divisible(channels: float, divisor: int = 8) -> int:
    """The multiple of `divisor` next to `channels`, never more than a tenth below it."""
    rounded = max(divisor, int(channels + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * channels else rounded
