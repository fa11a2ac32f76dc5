# SPDX-License-Identifier: Apache-2.0
"""Operators of a .tflite file as a file of their own."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from halyard.tflite.graph import made, packed
from halyard.tflite.reading.file import File, Graph


def cut(
    file: File, operators: Collection[int], inputs: Sequence[int], outputs: Sequence[int]
) -> bytes:
    """A file with these operators of the first graph and all other graphs. Operators that compute
    what is a constant for NNAPI come along where one of them reads it."""
    chosen = _with_sources(file.graphs[0], set(operators), set(inputs))
    model = file.content
    main = model.subgraphs[0]
    piece = made(
        schema.SubGraphT,
        **{
            **vars(main),
            "operators": [main.operators[number] for number in sorted(chosen)],
            "inputs": np.asarray(inputs, "<i4"),
            "outputs": np.asarray(outputs, "<i4"),
        },
    )
    graphs = [piece, *model.subgraphs[1:]]
    used = {tensor.buffer for graph in graphs[1:] for tensor in graph.tensors or ()}
    used |= {
        main.tensors[index].buffer
        for number in chosen
        for index in file.graphs[0].operators[number].inputs
        if index >= 0
    }
    kept = sum(len(data or b"") for number, data in enumerate(file.buffers) if number in used)
    file.budget.take_bytes(kept, "what the host runs of it")
    whole = made(
        schema.ModelT,
        **{
            **vars(model),
            "subgraphs": graphs,
            "buffers": [
                _buffer(data if number in used else None)
                for number, data in enumerate(file.buffers)
            ],
            # They speak of the graph that was.
            "signatureDefs": None,
            "metadata": None,
            "metadataBuffer": None,
        },
    )
    return packed(whole)


def _with_sources(graph: Graph, chosen: set[int], inputs: set[int]) -> set[int]:
    writers = {index: operator.number for operator in graph.operators for index in operator.outputs}
    left = list(chosen)
    while left:
        for index in graph.operators[left.pop()].inputs:
            writer = writers.get(index)
            if index not in inputs and writer is not None and writer not in chosen:
                chosen.add(writer)
                left.append(writer)
    return chosen


def _buffer(data: bytes | None) -> Any:
    return made(schema.BufferT, data=None if data is None else np.frombuffer(data, np.uint8))
