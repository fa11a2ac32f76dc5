# SPDX-License-Identifier: Apache-2.0
"""Values in another type that holds the same."""

from __future__ import annotations

import numpy as np

from halyard.errors import HalyardError
from halyard.model.operands import Array
from halyard.model.tensors import TensorInfo


def fitted(values: Array, info: TensorInfo) -> Array:
    """The same values in another integer type, and numbers as vectors of one or the other way
    around. HalyardError where they do not fit."""
    if not info.is_open and values.size != np.prod(info.shape, dtype=np.int64):
        raise HalyardError(
            f"{info.name}: {list(values.shape)} came, and {list(info.shape)} is what it is for: "
            "its shape depends on values, or is not the one that the file declares"
        )
    converted = values.astype(info.dtype)
    if info.dtype.kind in "iu" and not np.array_equal(converted, values):
        raise HalyardError(f"{info.name}: it has values that {info.dtype} can't hold")
    shape = values.shape if info.is_open else info.shape
    return np.ascontiguousarray(converted).reshape(shape)
