# SPDX-License-Identifier: Apache-2.0
"""Hybrid operators, of float activations and 8-bit weights, which NNAPI has not: their weights
become floats, as TFLite's NNAPI delegate makes them.

LiteRT's hybrid kernels round the activations to 8 bits as well, each row by its largest number.
Here they stay as they are, so that results are nearer to what the weights stand for, and some
hundredths of their range from LiteRT's. What they are compared with is the file with such weights.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.schema_py_generated import BuiltinOperator as Code
from ai_edge_litert.schema_py_generated import TensorType as Type

from halyard.tflite.graph import made, packed
from halyard.tflite.reading.elementwise import real_values
from halyard.tflite.reading.file import File, Graph, Operator

# Which input has the activations.
_ACTIVATIONS: Mapping[int, int] = {
    Code.BATCH_MATMUL: 0,
    Code.BIDIRECTIONAL_SEQUENCE_LSTM: 0,
    Code.BIDIRECTIONAL_SEQUENCE_RNN: 0,
    Code.CONV_2D: 0,
    Code.DEPTHWISE_CONV_2D: 0,
    Code.FULLY_CONNECTED: 0,
    Code.LSTM: 0,
    Code.RNN: 0,
    Code.SVDF: 0,
    Code.UNIDIRECTIONAL_SEQUENCE_LSTM: 0,
    Code.UNIDIRECTIONAL_SEQUENCE_RNN: 0,
}


def widened(file: File) -> tuple[bytes, list[str]] | None:
    """The file with floats for such weights, and what these operators are called; nothing where
    there are none."""
    model = file.content
    graphs, buffers, labels = [], list(model.buffers), []
    for graph, written in zip(file.graphs, model.subgraphs, strict=True):
        found = [(each, _weights(graph, each)) for each in graph.operators]
        if not any(places for _, places in found):
            graphs.append(written)
            continue
        changed = copy.copy(written)
        changed.tensors, operators = list(written.tensors), []
        added: dict[int, int] = {}
        for (operator, places), old in zip(found, written.operators, strict=True):
            if not places:
                operators.append(old)
                continue
            labels.append(graph.label(operator))
            for index in places:
                if index not in added:
                    added[index] = len(changed.tensors)
                    changed.tensors.append(_real(file, graph, written, index, buffers))
            new = copy.copy(old)
            new.inputs = [added[index] if index in places else index for index in operator.inputs]
            operators.append(new)
        changed.operators = operators
        graphs.append(changed)
    if not labels:
        return None
    whole = made(schema.ModelT, **{**vars(model), "subgraphs": graphs, "buffers": buffers})
    return packed(whole), labels


def note(labels: Sequence[str]) -> str:
    more = f" and {len(labels) - 1} more" if len(labels) > 1 else ""
    return (
        f"{labels[0]}{more}: 8-bit weights of float activations are widened to floats; LiteRT's "
        "hybrid kernels round the activations to 8 bits, and are not what it is compared with"
    )


def _weights(graph: Graph, operator: Operator) -> set[int]:
    place = _ACTIVATIONS.get(operator.code)
    if operator.code == Code.EMBEDDING_LOOKUP:
        # Of a look-up the output has them.
        activations = operator.outputs[:1]
    elif place is None:
        return set()
    else:
        activations = operator.inputs[place : place + 1]
    if not activations or activations[0] < 0:
        return set()
    if graph.tensors[activations[0]].type != Type.FLOAT32:
        return set()
    return {
        index
        for index in operator.inputs
        if index >= 0
        and graph.tensors[index].type in (Type.INT8, Type.UINT8)
        and graph.tensors[index].scales
        and graph.tensors[index].data is not None
    }


def _real(file: File, graph: Graph, written: Any, index: int, buffers: list[Any]) -> Any:
    tensor = graph.tensors[index]
    values = tensor.values
    assert values is not None  # only what has them is asked for
    file.budget.take_bytes(4 * values.size, "its weights, as floats,")
    floats = real_values(tensor, values)
    buffers.append(made(schema.BufferT, data=np.frombuffer(floats.tobytes(), np.uint8)))
    new = copy.copy(written.tensors[index])
    new.name, new.type, new.buffer = f"{tensor.name}/real", Type.FLOAT32, len(buffers) - 1
    new.quantization = new.sparsity = None
    return new
