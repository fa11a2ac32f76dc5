# SPDX-License-Identifier: Apache-2.0
"""Parts of a model as one: what one of them gives goes into those behind it."""

from __future__ import annotations

from collections.abc import Sequence

from halyard.model.conversion import NnapiPart
from halyard.model.operands import is_constant
from halyard.proto import halyard_pb2 as pb

# Of constants in a model's value block.
_ALIGNMENT = 4


def side_by_side(name: str, parts: Sequence[NnapiPart]) -> pb.Model:
    """With the outputs of all. What none of them gives comes in."""
    whole = pb.Model(name=name)
    values = bytearray()
    places: dict[str, int] = {}
    for part in parts:
        values.extend(bytes(-len(values) % _ALIGNMENT))
        _add(whole, part, places, len(values))
        values.extend(part.model.operand_values)
        whole.pools.extend(part.model.pools)
        whole.relax_computation_float32_to_float16 |= (
            part.model.relax_computation_float32_to_float16
        )
    whole.operand_values = bytes(values)
    return whole


def _add(whole: pb.Model, part: NnapiPart, places: dict[str, int], offset: int) -> None:
    main, model = whole.main, part.model
    pools, graphs = len(whole.pools), len(whole.referenced)
    named = dict(zip(model.main.input_indexes, part.inputs, strict=True))
    indexes: list[int] = []
    for index, operand in enumerate(model.main.operands):
        known = places.get(named.get(index, ""))
        if known is not None and _same(main.operands[known], operand):
            indexes.append(known)
            continue
        indexes.append(len(main.operands))
        _move(main.operands.add(), operand, offset, pools, graphs)
        if index in named:
            places[named[index]] = indexes[index]
            main.input_indexes.append(indexes[index])
    for graph in model.referenced:
        copy = whole.referenced.add()
        copy.CopyFrom(graph)
        for operand, source in zip(copy.operands, graph.operands, strict=True):
            _move(operand, source, offset, pools, graphs)
    for operation in model.main.operations:
        main.operations.add(
            type=operation.type,
            inputs=[indexes[index] for index in operation.inputs],
            outputs=[indexes[index] for index in operation.outputs],
        )
    for name, index in zip(part.outputs, model.main.output_indexes, strict=True):
        places[name] = indexes[index]
        main.output_indexes.append(indexes[index])


def _move(copy: pb.Operand, operand: pb.Operand, offset: int, pools: int, graphs: int) -> None:
    copy.CopyFrom(operand)
    if operand.lifetime == pb.OPERAND_LIFE_TIME_SUBGRAPH:
        copy.location.offset += graphs
    elif operand.lifetime == pb.OPERAND_LIFE_TIME_CONSTANT_COPY:
        copy.location.offset += offset
    elif is_constant(operand):
        copy.location.pool_index += pools


def _same(one: pb.Operand, other: pb.Operand) -> bool:
    return (one.type, one.dimensions, one.scale, one.zero_point) == (
        other.type,
        other.dimensions,
        other.scale,
        other.zero_point,
    )
