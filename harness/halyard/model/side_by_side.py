# SPDX-License-Identifier: Apache-2.0
"""Parts of a model as one: what one of them gives goes into those behind it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from halyard.model.converted import NnapiPart
from halyard.model.operands import is_constant
from halyard.proto import halyard_pb2 as pb

# Of constants in a model's value block, and in its pool.
_WORD, _POOL_ALIGNMENT = 4, 64


class _Constants:
    """Of all parts, on their way into one model. Equal bytes lie there once: parts share some."""

    def __init__(self) -> None:
        self.values = bytearray()
        self.pool = bytearray()
        self._placed: dict[tuple[bool, int, bytes], int] = {}
        self._copied = memoryview(b"")
        self._pools: list[memoryview] = []

    def read_from(self, model: pb.Model) -> None:
        # A field's bytes are copied each time that they are asked for.
        self._copied = memoryview(model.operand_values)
        self._pools = [memoryview(pool) for pool in model.pools]

    def move(self, copy: pb.Operand) -> None:
        place = copy.location
        small = copy.lifetime == pb.OPERAND_LIFE_TIME_CONSTANT_COPY
        source = self._copied if small else self._pools[place.pool_index]
        data = source[place.offset : place.offset + place.length]
        key = (small, len(data), hashlib.sha256(data).digest())
        if key not in self._placed:
            block, alignment = (self.values, _WORD) if small else (self.pool, _POOL_ALIGNMENT)
            block.extend(bytes(-len(block) % alignment))
            self._placed[key] = len(block)
            block.extend(data)
        place.pool_index, place.offset = 0, self._placed[key]


def side_by_side(name: str, parts: Sequence[NnapiPart]) -> pb.Model:
    """With the outputs of all. What none of them gives comes in."""
    whole = pb.Model(name=name)
    constants = _Constants()
    places: dict[str, int] = {}
    for part in parts:
        constants.read_from(part.model)
        _add(whole, part, places, constants)
        whole.relax_computation_float32_to_float16 |= (
            part.model.relax_computation_float32_to_float16
        )
    whole.operand_values = bytes(constants.values)
    if constants.pool:
        whole.pools.append(bytes(constants.pool))
    return whole


def _add(whole: pb.Model, part: NnapiPart, places: dict[str, int], constants: _Constants) -> None:
    main, model = whole.main, part.model
    graphs = len(whole.referenced)
    named = dict(zip(model.main.input_indexes, part.inputs, strict=True))
    indexes: list[int] = []
    for index, operand in enumerate(model.main.operands):
        known = places.get(named.get(index, ""))
        if known is not None and _same(main.operands[known], operand):
            indexes.append(known)
            continue
        indexes.append(len(main.operands))
        _move(main.operands.add(), operand, constants, graphs)
        if index in named:
            places[named[index]] = indexes[index]
            main.input_indexes.append(indexes[index])
    for graph in model.referenced:
        copy = whole.referenced.add()
        copy.CopyFrom(graph)
        for operand, source in zip(copy.operands, graph.operands, strict=True):
            _move(operand, source, constants, graphs)
    for operation in model.main.operations:
        main.operations.add(
            type=operation.type,
            inputs=[indexes[index] for index in operation.inputs],
            outputs=[indexes[index] for index in operation.outputs],
        )
    for name, index in zip(part.outputs, model.main.output_indexes, strict=True):
        places[name] = indexes[index]
        main.output_indexes.append(indexes[index])


def _move(copy: pb.Operand, operand: pb.Operand, constants: _Constants, graphs: int) -> None:
    copy.CopyFrom(operand)
    if operand.lifetime == pb.OPERAND_LIFE_TIME_SUBGRAPH:
        copy.location.offset += graphs
    elif is_constant(operand):
        constants.move(copy)


def _same(one: pb.Operand, other: pb.Operand) -> bool:
    return (one.type, one.dimensions, one.scale, one.zero_point) == (
        other.type,
        other.dimensions,
        other.scale,
        other.zero_point,
    )
