# SPDX-License-Identifier: Apache-2.0
"""Operations that choose among elements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halyard.model import Array
from halyard.reference.tensor import Call, operation


@operation("ARGMAX", "ARGMIN")
def arg_max(call: Call) -> Sequence[Array]:
    """The first of equals. What has no axis left has the shape [1]."""
    data = call.real("input")
    find = np.argmax if call.name == "ARGMAX" else np.argmin
    found = np.asarray(find(data, axis=call.axis("axis", data.ndim)))
    return [found.reshape(1) if found.ndim == 0 else found]


@operation("TOPK_V2")
def topk_v2(call: Call) -> Sequence[Array]:
    """The k largest of the last axis, in descending order, and where they were: "if two values are
    equal, the one with larger index appears first", says the contract."""
    data, k = call.real("input"), call.integer("k")
    order = np.argsort(data, axis=-1, kind="stable")[..., ::-1][..., :k]
    return [np.take_along_axis(data, order, axis=-1), order]


@operation("SELECT")
def select(call: Call) -> Sequence[Array]:
    return [np.where(call.real("condition") != 0, call.real("a"), call.real("b"))]
