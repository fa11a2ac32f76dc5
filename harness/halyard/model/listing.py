# SPDX-License-Identifier: Apache-2.0
"""A model as text, to read and to compare: its operations in order, each with its operands by name.

A difference between two models shows in their texts: of constants that are not shown there is a
checksum.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import numpy as np

from halyard.model.operands import (
    Array,
    constants,
    is_tensor,
    operation_name,
    type_name,
)
from halyard.programs import operations
from halyard.proto import halyard_pb2 as pb

# Of the elements of a constant; more are shown by their range.
_SHOWN = 8


def listing(model: pb.Model) -> str:
    lines = [f"model {_quoted(model.name)}"]
    if model.relax_computation_float32_to_float16:
        lines.append("may compute FLOAT32 with the precision of FLOAT16")
    lines += _graph(model, model.main)
    for number, graph in enumerate(model.referenced):
        lines += ["", f"subgraph {number}", *_graph(model, graph)]
    return "\n".join(lines) + "\n"


def operand_type(operand: pb.Operand) -> str:
    """ "FLOAT32[1,224,224,3]", "QUANT8_ASYMM[1,10] scale 0.5 zero point 3"."""
    text = type_name(operand.type)
    if is_tensor(operand.type):
        text += f"[{','.join(str(extent) if extent else '?' for extent in operand.dimensions)}]"
    if operand.scale:
        text += f" scale {operand.scale:.9g}"
    if operand.zero_point:
        text += f" zero point {operand.zero_point}"
    channels = operand.channel_quant
    if channels.scales:
        low, high = min(channels.scales), max(channels.scales)
        text += f" scales {low:.6g}..{high:.6g} of axis {channels.channel_dim}"
    return text


def names_of_places(graph: pb.Subgraph, operation: pb.Operation) -> tuple[list[str], list[str]]:
    """The driver's names of an operation's inputs and outputs; numbers where it does not know it
    with such operands."""
    types = tuple(graph.operands[index].type for index in operation.inputs)
    inputs = [f"input {place}" for place in range(len(operation.inputs))]
    outputs = [f"output {place}" for place in range(len(operation.outputs))]
    try:
        name = operation_name(operation.type)
        places = operations.places(name, types, len(operation.outputs))
    except ValueError:
        return inputs, outputs
    for found, named in ((inputs, places.inputs), (outputs, places.outputs)):
        for name, indexes in named.items():
            for place in indexes:
                found[place] = name
    return inputs, outputs


def _graph(model: pb.Model, graph: pb.Subgraph) -> Iterator[str]:
    values = constants(model, graph)
    for side, indexes in (("input", graph.input_indexes), ("output", graph.output_indexes)):
        for index in indexes:
            yield f"{side} {_operand(graph, index)}"
    for number, operation in enumerate(graph.operations):
        inputs, outputs = names_of_places(graph, operation)
        yield ""
        yield f"operation {number} {operation_name(operation.type)}"
        for name, index in zip(inputs, operation.inputs, strict=True):
            yield f"    {name}: {_input(graph, index, values.get(index))}"
        for name, index in zip(outputs, operation.outputs, strict=True):
            yield f"    -> {name}: {_operand(graph, index)}"


def _operand(graph: pb.Subgraph, index: int) -> str:
    operand = graph.operands[index]
    name = f" {_quoted(operand.name)}" if operand.name else ""
    return f"%{index}{name} {operand_type(operand)}"


def _input(graph: pb.Subgraph, index: int, values: Array | None) -> str:
    operand = graph.operands[index]
    if operand.lifetime == pb.OPERAND_LIFE_TIME_NO_VALUE:
        return f"left out ({type_name(operand.type)})"
    if operand.type == pb.OPERAND_TYPE_SUBGRAPH:
        return f"subgraph {operand.location.offset}"
    if values is None:
        return _operand(graph, index)
    if not is_tensor(operand.type):
        return f"{_number(values.reshape(-1)[0])} ({type_name(operand.type)})"
    return f"{_operand(graph, index)} = {_shown(values)}"


def _shown(values: Array) -> str:
    if values.size <= _SHOWN:
        return f"[{', '.join(map(_number, values.reshape(-1)))}]"
    checksum = zlib.crc32(np.ascontiguousarray(values).tobytes())
    low, high = _number(values.min()), _number(values.max())
    return f"{values.size} values, {low}..{high}, crc32 {checksum:08x}"


def _number(value: float) -> str:
    return f"{value:.9g}" if isinstance(value, np.floating) else str(value)


def _quoted(name: str) -> str:
    """As Python writes it: a name may have anything in it."""
    return repr(name)
