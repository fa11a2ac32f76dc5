# SPDX-License-Identifier: Apache-2.0
"""Constants that are stored without their zeros, level by level of a tree."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from ai_edge_litert.schema_py_generated import DimensionType

from halyard.model import Array


def dense(sparsity: Any, shape: tuple[int, ...], values: Array, most_places: int = 2**31) -> Array:
    """All elements of a tensor of which `values` are those that are stored. ValueError where the
    file's account of them makes no sense, or has more places on a level than it may.

    A level stands for an axis, or for one of the blocks that an axis is cut into; `parents` are the
    places on the level above, and `found` the indexes along each level so far.
    """
    blocks = _integers(sparsity.blockMap)
    order = _integers(sparsity.traversalOrder)
    levels = list(sparsity.dimMetadata or ())
    rank, size = len(shape), min(math.prod(shape), most_places)
    if sorted(order) != list(range(rank + len(blocks))) or len(levels) != len(order):
        raise ValueError("its levels are not those of its axes and blocks")
    if len(set(blocks)) != len(blocks) or not all(0 <= axis < rank for axis in blocks):
        raise ValueError("its blocks are of axes that it has not")
    parents = np.zeros(1, np.int64)
    found: dict[int, Array] = {}
    extents: dict[int, int] = {}
    for axis, level in zip(order, levels, strict=True):
        if level.format == DimensionType.DENSE:
            extent = int(level.denseSize)
            if extent < 1 or len(parents) * extent > size:
                raise ValueError(f"it has a level of {extent}, which is more than its shape")
            extents[axis] = extent
            repeats: Array = np.full(len(parents), extent)
            places = np.tile(np.arange(extent), len(parents))
            parents = np.repeat(parents, extent) * extent + places
        else:
            parents, repeats, places = _stored(level, parents, size)
        found = {each: np.repeat(indexes, repeats) for each, indexes in found.items()}
        found[axis] = places
    if len(parents) and parents.max() >= len(values):
        raise ValueError("it stores fewer values than it names")
    result = np.zeros(shape, values.dtype)
    result[_positions(found, extents, blocks, shape)] = values[parents]
    return result


def _stored(level: Any, parents: Array, size: int) -> tuple[Array, Array, Array]:
    """Of a level that names the indexes that it has."""
    segments = np.array(_integers(getattr(level.arraySegments, "values", None)), np.int64)
    indexes = np.array(_integers(getattr(level.arrayIndices, "values", None)), np.int64)
    if len(parents) and parents.max() + 1 >= len(segments):
        raise ValueError("a level has fewer segments than the one above has places")
    repeats = segments[parents + 1] - segments[parents]
    if (
        np.any(repeats < 0)
        or np.any(segments < 0)
        or np.any(segments > len(indexes))
        or repeats.sum() > size
    ):
        raise ValueError("a level's segments are not in its indexes")
    ends = np.cumsum(repeats)
    within = np.arange(repeats.sum()) - np.repeat(ends - repeats, repeats)
    stored = np.repeat(segments[parents], repeats) + within
    return stored, repeats, indexes[stored]


def _positions(
    found: dict[int, Array], extents: dict[int, int], blocks: list[int], shape: tuple[int, ...]
) -> tuple[Array, ...]:
    positions = []
    for axis, extent in enumerate(shape):
        position = found[axis]
        if axis in blocks:
            block = len(shape) + blocks.index(axis)
            if block not in extents:
                raise ValueError("a block has not all of its elements")
            position = position * extents[block] + found[block]
        if np.any(position < 0) or np.any(position >= extent):
            raise ValueError(f"it names an element that is not among the {extent} of axis {axis}")
        positions.append(position)
    return tuple(positions)


def _integers(given: Any) -> list[int]:
    return [] if given is None or np.ndim(given) == 0 else [int(each) for each in given]
