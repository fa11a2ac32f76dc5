# SPDX-License-Identifier: Apache-2.0
"""Products of matrices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.reference.convolution import bias
from tests.reference.tensor import Array, Call, activate, operation


@operation("FULLY_CONNECTED")
def fully_connected(call: Call) -> Sequence[Array]:
    """The input is taken as [batch, input size], whatever its rank. Weights: [units, input
    size]."""
    weights = call.real(1)
    data = call.real(0)
    rows = data.reshape(-1, weights.shape[1]) if data.size else np.zeros((0, weights.shape[1]))
    sums = rows @ weights.T + bias(call, 2, call.tensor(0), call.tensor(1))
    return [activate(sums, call.integer(3))]


@operation("BATCH_MATMUL")
def batch_matmul(call: Call) -> Sequence[Array]:
    """Each of two matrices may come transposed (adj_x, adj_y)."""
    left, right = call.real(0), call.real(1)
    if call.flag(2):
        left = left.swapaxes(-1, -2)
    if call.flag(3):
        right = right.swapaxes(-1, -2)
    return [left @ right]
