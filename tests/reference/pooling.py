# SPDX-License-Identifier: Apache-2.0
"""Poolings. What lies on the padding does not count."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.reference.tensor import Array, Call, activate, operation
from tests.reference.window import arguments, from_layout, lines, to_layout, windows


@operation("AVERAGE_POOL_2D", "L2_POOL_2D", "MAX_POOL_2D")
def pool(call: Call) -> Sequence[Array]:
    given = arguments(call, 1, 7)
    width, height = call.integer(given.next), call.integer(given.next + 1)
    activation, nchw = call.integer(given.next + 2), call.flag(given.next + 3)
    image = from_layout(call.real(0), nchw)
    vertical, horizontal = lines(given, image.shape[1:3], (height, width))
    found = windows(image, vertical, horizontal, 0)
    there = windows(np.ones((1, *image.shape[1:3], 1)), vertical, horizontal, 0)
    if call.name == "MAX_POOL_2D":
        pooled = np.where(there, found, -np.inf).max(axis=(4, 5))
    elif call.name == "AVERAGE_POOL_2D":
        pooled = found.sum(axis=(4, 5)) / there.sum(axis=(4, 5))
    else:
        pooled = np.sqrt((found**2).sum(axis=(4, 5)) / there.sum(axis=(4, 5)))
    return [to_layout(activate(pooled, activation), nchw)]
