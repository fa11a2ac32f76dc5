# SPDX-License-Identifier: Apache-2.0
"""Products of matrices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halyard.model import Array
from halyard.reference.convolution import bias
from halyard.reference.tensor import Call, activate, operation


@operation("FULLY_CONNECTED")
def fully_connected(call: Call) -> Sequence[Array]:
    """The input is taken as [batch, input size], whatever its rank. Weights: [units, input
    size]."""
    weights = call.real("weights")
    data = call.real("input")
    rows = data.reshape(-1, weights.shape[1]) if data.size else np.zeros((0, weights.shape[1]))
    sums = rows @ weights.T + bias(call, "weights")
    return [activate(sums, call.integer("activation"))]


@operation("BATCH_MATMUL")
def batch_matmul(call: Call) -> Sequence[Array]:
    """Each of two matrices may come transposed (adj_x, adj_y)."""
    left, right = call.real("a"), call.real("b")
    if call.flag("transpose_a"):
        left = left.swapaxes(-1, -2)
    if call.flag("transpose_b"):
        right = right.swapaxes(-1, -2)
    return [left @ right]
