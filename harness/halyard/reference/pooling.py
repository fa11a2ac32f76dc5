# SPDX-License-Identifier: Apache-2.0
"""Poolings. What lies on the padding does not count."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halyard.model import Array, arguments
from halyard.reference.tensor import Call, activate, operation
from halyard.reference.window import from_layout, lines, taps, to_layout


@operation("AVERAGE_POOL_2D", "L2_POOL_2D", "MAX_POOL_2D")
def pool(call: Call) -> Sequence[Array]:
    window = arguments.window(call)
    image = from_layout(call.real("input"), window.nchw)
    place = lines(window, image.shape[1:3], (window.filter_h, window.filter_w))
    if call.name == "MAX_POOL_2D":
        seen = taps(image, *place, -np.inf)
        pooled = next(seen)
        for tap in seen:
            pooled = np.maximum(pooled, tap)
    else:
        inside = np.ones((1, *image.shape[1:3], 1), image.dtype)
        count = sum(taps(inside, *place))
        if call.name == "AVERAGE_POOL_2D":
            pooled = np.asarray(sum(taps(image, *place)) / count)
        else:
            pooled = np.sqrt(sum(taps(image**2, *place)) / count)
    return [to_layout(activate(pooled, window.activation), window.nchw)]
