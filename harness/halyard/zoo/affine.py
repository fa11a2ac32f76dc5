# SPDX-License-Identifier: Apache-2.0
"""Scales and zero points that cover a range."""

from __future__ import annotations

import numpy as np

from halyard.model import Array


def affine(
    low: float, high: float, lowest: int, highest: int, finest: float = 0.0
) -> tuple[float, int]:
    """Scale and zero point with which the steps lowest..highest cover the range and 0.

    The scale is a float32 and not below `finest`.
    """
    low, high = min(low, 0.0), max(high, 0.0)
    scale = float(np.float32(max((high - low) / (highest - lowest), finest, 1e-8)))
    zero_point = round(lowest - low / scale)
    return scale, min(max(zero_point, lowest), highest)


def symmetric(largest: Array) -> Array:
    """The scale with which 127 steps reach `largest`."""
    return np.asarray(np.maximum(largest / np.float32(127), 1e-8), np.float32)
