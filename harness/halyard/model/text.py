# SPDX-License-Identifier: Apache-2.0
"""A model as text, for people: its operations in order, with what they read and write."""

from __future__ import annotations

from collections.abc import Iterator

from halyard.model.operands import constant, is_constant, operation_name, type_name
from halyard.proto import halyard_pb2 as pb

# Elements of a constant that are shown.
_ELEMENTS = 8


def as_text(model: pb.Model) -> str:
    """Whatever is wrong with the model: what can't be read is shown as "?"."""
    lines = [*_subgraph(model, model.main, "main")]
    for number, subgraph in enumerate(model.referenced):
        lines += ["", *_subgraph(model, subgraph, f"subgraph {number}")]
    return "\n".join(lines)


def _subgraph(model: pb.Model, subgraph: pb.Subgraph, title: str) -> Iterator[str]:
    yield f"{title}: {model.name}" if model.name and title == "main" else title
    for word, indexes in (("in", subgraph.input_indexes), ("out", subgraph.output_indexes)):
        for index in indexes:
            yield f"  {word:4}{_operand(model, subgraph, index)}"
    for number, operation in enumerate(subgraph.operations):
        written = ", ".join(_name(subgraph, index) for index in operation.outputs)
        yield f"  {number:<4}{operation_name(operation.type)} -> {written}"
        for index in operation.inputs:
            yield f"        {_operand(model, subgraph, index)}"


def _name(subgraph: pb.Subgraph, index: int) -> str:
    if index >= len(subgraph.operands):
        return f"%{index} ?"
    return f"%{index} {subgraph.operands[index].name}".rstrip()


def _operand(model: pb.Model, subgraph: pb.Subgraph, index: int) -> str:
    """ "%3 weights FLOAT32[1, 2] = [0.5, 1]"."""
    if index >= len(subgraph.operands):
        return f"%{index} ?"
    operand = subgraph.operands[index]
    words = [_name(subgraph, index), f"{type_name(operand.type)}{list(operand.dimensions) or ''}"]
    if operand.scale:
        words.append(f"scale {operand.scale:.9g} zero point {operand.zero_point}")
    if operand.lifetime == pb.OPERAND_LIFE_TIME_NO_VALUE:
        words.append("= none")
    elif is_constant(operand):
        words.append(f"= {_value(model, operand)}")
    return " ".join(words)


def _value(model: pb.Model, operand: pb.Operand) -> str:
    try:
        values = constant(model, operand)
    except (KeyError, IndexError, ValueError):
        return "?"
    shown = [f"{value:.9g}" for value in values.flat[:_ELEMENTS].tolist()]
    if not values.ndim:
        return shown[0]
    more = ", ..." if values.size > _ELEMENTS else ""
    return f"[{', '.join(shown)}{more}]"
