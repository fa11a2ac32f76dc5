# SPDX-License-Identifier: Apache-2.0
"""Operators of a .tflite file as a file of their own."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from halyard.model import Array
from halyard.tflite.graph import made, packed
from halyard.tflite.reading.file import File


def cut(
    file: File,
    operators: Collection[int],
    inputs: Sequence[int],
    outputs: Sequence[int],
    known: Mapping[int, Array],
) -> bytes:
    """A file with these operators of the first graph and all other graphs. `known` are the values
    of tensors that were computed when the file was read, and are constants of this one: what tells
    the shape of a value would want the value."""
    model = file.content
    main = model.subgraphs[0]
    tensors = list(main.tensors)
    values: list[bytes] = []
    for index, array in known.items():
        tensors[index] = made(
            schema.TensorT,
            **{**vars(tensors[index]), "buffer": len(file.buffers) + len(values)},
        )
        values.append(array.tobytes())
    piece = made(
        schema.SubGraphT,
        **{
            **vars(main),
            "tensors": tensors,
            "operators": [main.operators[number] for number in sorted(operators)],
            "inputs": np.asarray(inputs, "<i4"),
            "outputs": np.asarray(outputs, "<i4"),
        },
    )
    graphs = [piece, *model.subgraphs[1:]]
    used = {tensor.buffer for graph in graphs[1:] for tensor in graph.tensors or ()}
    used |= {
        main.tensors[index].buffer
        for number in operators
        for index in file.graphs[0].operators[number].inputs
        if index >= 0
    }
    kept = sum(len(data or b"") for number, data in enumerate(file.buffers) if number in used)
    kept += sum(map(len, values))
    file.budget.take_bytes(kept, "what the host runs of it")
    whole = made(
        schema.ModelT,
        **{
            **vars(model),
            "subgraphs": graphs,
            "buffers": [
                _buffer(data if number in used else None)
                for number, data in enumerate(file.buffers)
            ]
            + [_buffer(data) for data in values],
            # They speak of the graph that was.
            "signatureDefs": None,
            "metadata": None,
            "metadataBuffer": None,
        },
    )
    return packed(whole)


def _buffer(data: bytes | None) -> Any:
    return made(schema.BufferT, data=None if data is None else np.frombuffer(data, np.uint8))
