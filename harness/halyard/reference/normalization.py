# SPDX-License-Identifier: Apache-2.0
"""Normalisations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halyard.model import Array
from halyard.reference.tensor import Call, operation
from halyard.reference.window import from_layout, to_layout


@operation("L2_NORMALIZATION")
def l2_normalization(call: Call) -> Sequence[Array]:
    """x / sqrt(sum of squares along the axis). Zeros stay zeros."""
    data = call.real("input")
    norm = np.sqrt((data**2).sum(axis=call.axis("axis", data.ndim), keepdims=True))
    return [np.divide(data, norm, out=np.zeros_like(data), where=norm != 0)]


@operation("LOCAL_RESPONSE_NORMALIZATION")
def local_response_normalization(call: Call) -> Sequence[Array]:
    """x / (bias + alpha * sum of squares within the radius along the axis) ** beta."""
    data, radius = call.real("input"), call.integer("radius")
    bias, alpha, beta = map(call.number, ("bias", "alpha", "beta"))
    axis = call.axis("axis", data.ndim)
    squares = np.moveaxis(data**2, axis, -1)
    extent = squares.shape[-1]
    near = np.abs(np.subtract.outer(np.arange(extent), np.arange(extent))) <= radius
    sums = np.moveaxis(squares @ near.astype(np.float64), -1, axis)
    return [data / (bias + alpha * sums) ** beta]


@operation("INSTANCE_NORMALIZATION")
def instance_normalization(call: Call) -> Sequence[Array]:
    """(x - mean) * gamma / sqrt(variance + epsilon) + beta, over each channel of each image."""
    nchw = call.flag("layout")
    gamma, beta, epsilon = map(call.number, ("gamma", "beta", "epsilon"))
    data = from_layout(call.real("input"), nchw)
    mean = data.mean(axis=(1, 2), keepdims=True)
    variance = data.var(axis=(1, 2), keepdims=True)
    return [to_layout((data - mean) * gamma / np.sqrt(variance + epsilon) + beta, nchw)]
