# SPDX-License-Identifier: Apache-2.0
"""Reductions along axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from halyard.model import Array
from halyard.reference.tensor import Call, operation

_REDUCTIONS: dict[str, Callable[..., Array]] = {
    "MEAN": np.mean,
    "REDUCE_ALL": np.all,
    "REDUCE_ANY": np.any,
    "REDUCE_MAX": np.max,
    "REDUCE_MIN": np.min,
    "REDUCE_PROD": np.prod,
    "REDUCE_SUM": np.sum,
}


@operation(*_REDUCTIONS)
def reduce(call: Call) -> Sequence[Array]:
    """An axis may be negative, and may be named twice. What has no axis left has the shape [1]."""
    data = call.real("input")
    axes = tuple({axis % data.ndim for axis in call.integers("axes")})
    result = _REDUCTIONS[call.name](data, axis=axes, keepdims=call.flag("keep_dims"))
    return [np.reshape(result, 1) if np.ndim(result) == 0 else result]
