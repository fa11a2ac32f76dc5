# SPDX-License-Identifier: Apache-2.0
"""Operations that arrange elements anew."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halyard.model import Array
from halyard.reference.tensor import Call, operation
from halyard.reference.window import from_layout, to_layout


@operation("RESHAPE")
def reshape(call: Call) -> Sequence[Array]:
    """One extent may be -1: what the others leave."""
    first, *others = call.integers("shape")
    return [call.real("input").reshape(first if first == -1 else first * call.batch, *others)]


@operation("SQUEEZE")
def squeeze(call: Call) -> Sequence[Array]:
    data = call.real("input")
    if not call.has("axes"):
        return [data.squeeze()]
    return [data.squeeze(tuple(sorted({axis % data.ndim for axis in call.integers("axes")})))]


@operation("EXPAND_DIMS")
def expand_dims(call: Call) -> Sequence[Array]:
    data = call.real("input")
    return [np.expand_dims(data, call.axis("axis", data.ndim + 1))]


@operation("TRANSPOSE")
def transpose(call: Call) -> Sequence[Array]:
    """Without a permutation the axes are reversed."""
    return [
        call.real("input").transpose(
            call.integers("permutation") if call.has("permutation") else None
        )
    ]


@operation("CONCATENATION")
def concatenation(call: Call) -> Sequence[Array]:
    parts = call.reals("inputs")
    return [np.concatenate(parts, axis=call.axis("axis", parts[0].ndim))]


@operation("PACK")
def pack(call: Call) -> Sequence[Array]:
    parts = call.reals("inputs")
    return [np.stack(parts, axis=call.axis("axis", parts[0].ndim + 1))]


@operation("SPLIT")
def split(call: Call) -> Sequence[Array]:
    data = call.real("input")
    return np.split(data, call.integer("count"), axis=call.axis("axis", data.ndim))


@operation("TILE")
def tile(call: Call) -> Sequence[Array]:
    return [np.tile(call.real("input"), call.integers("multiples"))]


@operation("REVERSE")
def reverse(call: Call) -> Sequence[Array]:
    return [np.flip(call.real("input"), axis=tuple(call.integers("axis")))]


@operation("CHANNEL_SHUFFLE")
def channel_shuffle(call: Call) -> Sequence[Array]:
    """Channel i of group g of the input becomes channel g of group i."""
    data, groups = call.real("input"), call.integer("groups")
    axis = call.axis("axis", data.ndim)
    before, channels, after = data.shape[:axis], data.shape[axis], data.shape[axis + 1 :]
    grouped = data.reshape(*before, groups, channels // groups, *after)
    return [grouped.swapaxes(axis, axis + 1).reshape(data.shape)]


@operation("DEPTH_TO_SPACE")
def depth_to_space(call: Call) -> Sequence[Array]:
    block, nchw = call.integer("block"), call.flag("layout")
    data = from_layout(call.real("input"), nchw)
    batch, height, width, depth = data.shape
    cells = data.reshape(batch, height, width, block, block, depth // block**2)
    image = cells.transpose(0, 1, 3, 2, 4, 5).reshape(batch, height * block, width * block, -1)
    return [to_layout(image, nchw)]


@operation("SPACE_TO_DEPTH")
def space_to_depth(call: Call) -> Sequence[Array]:
    block, nchw = call.integer("block"), call.flag("layout")
    data = from_layout(call.real("input"), nchw)
    batch, height, width, depth = data.shape
    cells = data.reshape(batch, height // block, block, width // block, block, depth)
    image = cells.transpose(0, 1, 3, 2, 4, 5)
    return [to_layout(image.reshape(*image.shape[:3], block**2 * depth), nchw)]


@operation("BATCH_TO_SPACE_ND")
def batch_to_space_nd(call: Call) -> Sequence[Array]:
    (rows, columns), nchw = call.integers("block"), call.flag("layout")
    data = from_layout(call.real("input"), nchw)
    batch, height, width, depth = data.shape
    cells = data.reshape(rows, columns, batch // (rows * columns), height, width, depth)
    image = cells.transpose(2, 3, 0, 4, 1, 5)
    shape = (batch // (rows * columns), height * rows, width * columns, depth)
    return [to_layout(image.reshape(shape), nchw)]


@operation("SPACE_TO_BATCH_ND")
def space_to_batch_nd(call: Call) -> Sequence[Array]:
    """Paddings, [[top, bottom], [left, right]], are zeros; of a quantised type zero points."""
    (rows, columns), nchw = call.integers("block"), call.flag("layout")
    top, bottom, left, right = call.integers("paddings")
    data = np.pad(
        from_layout(call.real("input"), nchw), ((0, 0), (top, bottom), (left, right), (0, 0))
    )
    batch, height, width, depth = data.shape
    cells = data.reshape(batch, height // rows, rows, width // columns, columns, depth)
    image = cells.transpose(2, 4, 0, 1, 3, 5)
    shape = (batch * rows * columns, height // rows, width // columns, depth)
    return [to_layout(image.reshape(shape), nchw)]


@operation("RANK")
def rank(call: Call) -> Sequence[Array]:
    return [np.array(float(len(call.tensor("input").shape)))]


@operation("FILL")
def fill(call: Call) -> Sequence[Array]:
    return [np.full(call.integers("dims"), call.number("value"))]
