# SPDX-License-Identifier: Apache-2.0
"""A model's inner values, made visible on any driver."""

from __future__ import annotations

from collections.abc import Iterable

from halyard.proto import halyard_pb2 as pb


def temporaries(model: pb.Model) -> list[int]:
    """The operands of the main subgraph that operations write and that are no outputs, in the order
    in which they are written."""
    return [
        index
        for operation in model.main.operations
        for index in operation.outputs
        if model.main.operands[index].lifetime == pb.OPERAND_LIFE_TIME_TEMPORARY_VARIABLE
    ]


def exposed(model: pb.Model, operands: Iterable[int]) -> pb.Model:
    """The model with these temporaries as further outputs, behind its own. ValueError for what is
    no temporary."""
    made = pb.Model()
    made.CopyFrom(model)
    for index in operands:
        operand = made.main.operands[index]
        if operand.lifetime != pb.OPERAND_LIFE_TIME_TEMPORARY_VARIABLE:
            raise ValueError(f"operand {index} is no temporary")
        operand.lifetime = pb.OPERAND_LIFE_TIME_SUBGRAPH_OUTPUT
        made.main.output_indexes.append(index)
    return made
