# SPDX-License-Identifier: Apache-2.0
"""Operations that take parts of a tensor, or put margins around it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halyard.model import Array
from halyard.reference.tensor import Call, Tensor, operation


@operation("SLICE")
def slice_(call: Call) -> Sequence[Array]:
    """A size of -1: all from the begin on."""
    data = call.real("input")
    parts = tuple(
        slice(begin, extent if size == -1 else begin + size)
        for begin, size, extent in zip(
            call.integers("begin"), call.integers("size"), data.shape, strict=True
        )
    )
    return [data[parts]]


@operation("STRIDED_SLICE")
def strided_slice(call: Call) -> Sequence[Array]:
    """Python's slices. A bit of begin_mask or end_mask leaves that end open; one of
    shrink_axis_mask takes away an axis whose slice is of one element."""
    data = call.real("input")
    begin_mask, end_mask, shrink_mask = map(
        call.integer, ("begin_mask", "end_mask", "shrink_axis_mask")
    )
    parts = [
        slice(
            None if begin_mask >> axis & 1 else begin, None if end_mask >> axis & 1 else end, stride
        )
        for axis, (begin, end, stride) in enumerate(
            zip(call.integers("begin"), call.integers("end"), call.integers("strides"), strict=True)
        )
    ]
    shrunk = tuple(axis for axis in range(data.ndim) if shrink_mask >> axis & 1)
    result = data[tuple(parts)].squeeze(shrunk)
    return [result.reshape(1) if result.ndim == 0 else result]


@operation("GATHER")
def gather(call: Call) -> Sequence[Array]:
    data = call.real("input")
    return [np.take(data, call.tensor("indices").stored, axis=call.axis("axis", data.ndim))]


@operation("PAD", "PAD_V2")
def pad(call: Call) -> Sequence[Array]:
    """PAD pads with zeros. PAD_V2 pads with a given value, which for a quantised tensor is one of
    its stored values."""
    data = call.tensor("input")
    fill = 0.0
    if call.name == "PAD_V2":
        fill = call.number("padding_value")
        if data.is_quantized:
            stored = np.array(fill)
            fill = float(Tensor(data.type, stored, data.scale, data.zero_point).real)
    return [np.pad(data.real, _margins(call), constant_values=fill)]


@operation("MIRROR_PAD")
def mirror_pad(call: Call) -> Sequence[Array]:
    """Mode 0 mirrors about the first and last element, 1 repeats them, too."""
    if call.integer("mode"):
        return [np.pad(call.real("input"), _margins(call), mode="symmetric")]
    return [np.pad(call.real("input"), _margins(call), mode="reflect")]


def _margins(call: Call) -> list[tuple[int, int]]:
    rows = call.tensor("paddings").stored.reshape(-1, 2)
    return [(int(before), int(after)) for before, after in rows]
