# SPDX-License-Identifier: Apache-2.0
"""A model's operations cut out as a model of their own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from halyard.model.operands import is_constant
from halyard.proto import halyard_pb2 as pb

_KEPT = frozenset({pb.OPERAND_LIFE_TIME_NO_VALUE, pb.OPERAND_LIFE_TIME_SUBGRAPH})


@dataclass(frozen=True)
class Submodel:
    """`operands`: of the submodel's own by those of the whole."""

    model: pb.Model
    operands: dict[int, int]


def cut(
    model: pb.Model,
    operations: Collection[int],
    outputs: Sequence[int],
    *,
    keep_inputs: bool = False,
) -> Submodel:
    """The operations of the main subgraph with these numbers, with what they need and no more.

    Operands that they read and do not compute become inputs; inputs that the whole has come first,
    in its order, all of them if they are kept. `outputs`, which they compute, become the outputs.
    """
    whole = model.main
    chosen = [each for number, each in enumerate(whole.operations) if number in operations]
    written = {index for each in chosen for index in each.outputs}
    used = _ordered(index for each in chosen for index in (*each.inputs, *each.outputs))
    if keep_inputs:
        used |= _ordered(whole.input_indexes)
    inputs = [index for index in whole.input_indexes if index in used]
    inputs += [
        index
        for index in used
        if index not in written and index not in inputs and _is_fed(whole.operands[index])
    ]
    # In the order of the whole, so that a cut of everything changes nothing.
    places = {index: place for place, index in enumerate(sorted(used))}
    submodel = pb.Model(
        name=model.name,
        relax_computation_float32_to_float16=model.relax_computation_float32_to_float16,
        referenced=model.referenced,
        extension_name_to_prefix=model.extension_name_to_prefix,
    )
    values = _Values(model, submodel)
    for index in sorted(used):
        operand = submodel.main.operands.add()
        operand.CopyFrom(whole.operands[index])
        if index in inputs:
            operand.lifetime = pb.OPERAND_LIFE_TIME_SUBGRAPH_INPUT
        elif index in written:
            operand.lifetime = (
                pb.OPERAND_LIFE_TIME_SUBGRAPH_OUTPUT
                if index in outputs
                else pb.OPERAND_LIFE_TIME_TEMPORARY_VARIABLE
            )
        elif is_constant(operand):
            values.move(operand)
    # Subgraphs are kept whole, and so are their constants.
    for subgraph in submodel.referenced:
        for operand in subgraph.operands:
            if is_constant(operand):
                values.move(operand)
    values.finish()
    for each in chosen:
        submodel.main.operations.add(
            type=each.type,
            inputs=[places[index] for index in each.inputs],
            outputs=[places[index] for index in each.outputs],
        )
    submodel.main.input_indexes.extend(places[index] for index in inputs)
    submodel.main.output_indexes.extend(places[index] for index in outputs)
    return Submodel(submodel, places)


def _is_fed(operand: pb.Operand) -> bool:
    return not is_constant(operand) and operand.lifetime not in _KEPT


class _Values:
    """Constants on their way from one model's pools to another's."""

    _ALIGNMENT = 64

    def __init__(self, source: pb.Model, target: pb.Model) -> None:
        # A field's bytes are copied each time that they are asked for.
        self._copied = memoryview(source.operand_values)
        self._pools = [memoryview(pool) for pool in source.pools]
        self._target = target
        self._values = bytearray()
        self._pool = bytearray()
        # Shared values stay shared.
        self._moved: dict[tuple[int, int, int, int], tuple[int, int]] = {}

    def move(self, operand: pb.Operand) -> None:
        place = operand.location
        small = operand.lifetime == pb.OPERAND_LIFE_TIME_CONSTANT_COPY
        source = self._copied if small else self._pools[place.pool_index]
        block = self._values if small else self._pool
        key = (operand.lifetime, place.pool_index, place.offset, place.length)
        if key not in self._moved:
            block.extend(bytes(-len(block) % (4 if small else self._ALIGNMENT)))
            self._moved[key] = (len(block), place.length)
            block.extend(source[place.offset : place.offset + place.length])
        offset, length = self._moved[key]
        operand.location.CopyFrom(pb.DataLocation(offset=offset, length=length))

    def finish(self) -> None:
        self._target.operand_values = bytes(self._values)
        if self._pool:
            self._target.pools.append(bytes(self._pool))


def _ordered(indexes: Iterable[int]) -> dict[int, None]:
    return dict.fromkeys(indexes)
