# SPDX-License-Identifier: Apache-2.0
"""Where a model normalises by a variance. A variance is the mean of squares, of which eight bits
hold too little, so that a quantised model computes all of it in floats."""

from __future__ import annotations

from collections.abc import Iterator

from halyard.model import is_constant
from halyard.proto import halyard_pb2 as pb

# The operations that work element by element between the means and behind the root.
_ELEMENTWISE = frozenset(
    {pb.OPERATION_TYPE_ADD, pb.OPERATION_TYPE_MUL, pb.OPERATION_TYPE_SUB, pb.OPERATION_TYPE_RSQRT}
)


def normalizations(model: pb.Model) -> frozenset[int]:
    """The numbers of the main subgraph's operations that are part of one.

    Each reciprocal root of a mean is the middle of one: x - mean(x), the mean of its square and the
    root before it; the product with the root, and factors and summands that are constant, behind.
    """
    return frozenset(
        number
        for root, operation in enumerate(model.main.operations)
        if operation.type == pb.OPERATION_TYPE_RSQRT
        for number in _around(model, root)
    )


def _around(model: pb.Model, root: int) -> set[int]:
    operations = model.main.operations
    makers = {index: number for number, each in enumerate(operations) for index in each.outputs}
    means = [
        number
        for number in _upwards(model, makers, root, frozenset())
        if operations[number].type == pb.OPERATION_TYPE_MEAN
    ][:2]
    if len(means) < 2:
        return set()
    found = set(_upwards(model, makers, root, frozenset({operations[means[1]].inputs[0]})))
    waiting = [root]
    while waiting:
        written = set(operations[waiting.pop()].outputs)
        for number, each in enumerate(operations):
            if number in found or each.type not in _ELEMENTWISE or not written & set(each.inputs):
                continue
            if all(_is_inside(model, makers, index, found) for index in each.inputs):
                found.add(number)
                waiting.append(number)
    return found


def _upwards(
    model: pb.Model, makers: dict[int, int], root: int, ends: frozenset[int]
) -> Iterator[int]:
    """The root, and what it is computed from element by element or as a mean, the nearest first;
    not what makes one of the operands `ends`."""
    seen = {root}
    waiting = [root]
    for number in waiting:
        yield number
        for index in model.main.operations[number].inputs:
            maker = makers.get(index)
            if maker is None or maker in seen or index in ends:
                continue
            if model.main.operations[maker].type in {*_ELEMENTWISE, pb.OPERATION_TYPE_MEAN}:
                seen.add(maker)
                waiting.append(maker)


def _is_inside(model: pb.Model, makers: dict[int, int], index: int, found: set[int]) -> bool:
    return is_constant(model.main.operands[index]) or makers.get(index) in found
