# SPDX-License-Identifier: Apache-2.0
"""Operators of a .tflite file as a file of their own."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from halyard.model import Array
from halyard.tflite.graph import made, packed
from halyard.tflite.reading.file import File

# Bytes of a tensor and an operator in a file, without their names and values.
_TABLE_BYTES = 200


def cut(
    file: File,
    operators: Collection[int],
    inputs: Sequence[int],
    outputs: Sequence[int],
    known: Mapping[int, Array],
) -> bytes:
    """A file with these operators of the first graph, the tensors that they have, and, where one of
    them names a graph, all other graphs. `known` are the values of tensors that were computed when
    the file was read, and are constants of this one: what tells the shape of a value would want the
    value."""
    chosen = sorted(operators)
    model = file.content
    main = model.subgraphs[0]
    parts = [main.operators[number] for number in chosen]
    places = _places(
        index
        for number in chosen
        for each in (file.graphs[0].operators[number],)
        for index in (*each.inputs, *each.outputs, *each.intermediates)
    )
    places |= {index: len(places) + at for at, index in enumerate(_new(places, inputs, outputs))}
    tensors = [main.tensors[index] for index in places]
    values: list[bytes] = []
    for index, array in known.items():
        number = len(file.buffers) + len(values)
        fields = {**vars(main.tensors[index]), "buffer": number}
        tensors[places[index]] = made(schema.TensorT, **fields)
        values.append(array.tobytes())
    cut_graph = made(
        schema.SubGraphT,
        **{
            **vars(main),
            "tensors": tensors,
            "operators": [_moved(each, places) for each in parts],
            "inputs": _numbers(places[index] for index in inputs),
            "outputs": _numbers(places[index] for index in outputs),
        },
    )
    graphs = [cut_graph, *(model.subgraphs[1:] if any(map(_names_graphs, parts)) else ())]
    # Buffer 0 is the empty one.
    buffers = {0: 0}
    for tensor in (tensor for graph in graphs for tensor in graph.tensors or ()):
        buffers.setdefault(int(tensor.buffer), len(buffers))
    stored = (*file.buffers, *values)
    kept = [None if number == 0 else stored[number] for number in buffers]
    tables = sum(len(graph.tensors or ()) + len(graph.operators or ()) for graph in graphs)
    file.budget.take_bytes(
        sum(len(data or b"") for data in kept) + _TABLE_BYTES * tables, "what the host runs of it"
    )
    whole = made(
        schema.ModelT,
        **{
            **vars(model),
            "subgraphs": [_with_buffers(graph, buffers) for graph in graphs],
            "buffers": [_buffer(data) for data in kept],
            # They speak of the graph that was.
            "signatureDefs": None,
            "metadata": None,
            "metadataBuffer": None,
        },
    )
    return packed(whole)


def _places(indexes: Iterable[int]) -> dict[int, int]:
    ordered = dict.fromkeys(index for index in indexes if index >= 0)
    return {index: place for place, index in enumerate(ordered)}


def _new(known: dict[int, int], *more: Sequence[int]) -> list[int]:
    return list(dict.fromkeys(index for each in more for index in each if index not in known))


def _moved(operator: Any, places: dict[int, int]) -> Any:
    """With the new numbers of its tensors."""
    found = copy.copy(operator)
    for field in ("inputs", "outputs", "intermediates"):
        given = getattr(operator, field)
        if given is not None and np.ndim(given) == 1:
            moved = _numbers(places.get(int(index), int(index)) for index in given)
            setattr(found, field, moved if len(moved) else None)
    return found


def _names_graphs(operator: Any) -> bool:
    tables = (operator.builtinOptions, getattr(operator, "builtinOptions2", None))
    return any(
        "subgraphind" in field.lower()
        for table in tables
        if table is not None
        for field in vars(table)
    )


def _with_buffers(graph: Any, buffers: dict[int, int]) -> Any:
    tensors = []
    for tensor in graph.tensors or ():
        moved = copy.copy(tensor)
        moved.buffer = buffers[int(tensor.buffer)]
        tensors.append(moved)
    found = copy.copy(graph)
    found.tensors = tensors
    return found


def _numbers(given: Iterable[int]) -> Any:
    return np.fromiter(given, "<i4")


def _buffer(data: bytes | None) -> Any:
    return made(schema.BufferT, data=None if data is None else np.frombuffer(data, np.uint8))
