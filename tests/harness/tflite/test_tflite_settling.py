# SPDX-License-Identifier: Apache-2.0
""".tflite files whose own shapes are placeholders, and whose shapes are computed from constants:
what they come to is known before anything runs, and the values are LiteRT's."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert.interpreter")

from tests.harness.tflite_file import GraphFile
from tests.harness.tflite_models import check, operations, weights

_INT = "int32"


def framed(length: int = 14, frame: int = 4, step: int = 2) -> tuple[GraphFile, list[int]]:
    """Overlapping windows of a signal, as TensorFlow's `frame` is exported: how many there are it
    computes of the signal's shape, and its own shapes say 1."""
    graph = GraphFile()
    signal = graph.input((1, length))
    shape, sizes, size, total = (graph.tensor(each, _INT) for each in ((2,), (1,), (1,), ()))
    none = graph.tensor((0,), _INT)
    graph.add("SHAPE", [signal], [shape], "ShapeOptions", outType=2)
    lengths = graph.constant([1, 1, 0], _INT)
    axis = graph.constant(0, _INT)
    graph.add("SPLIT_V", [shape, lengths, axis], [sizes, size, none], "SplitVOptions", numSplits=3)
    graph.add("RESHAPE", [size, none], [total], "ReshapeOptions")
    left, whole, count, positive = (graph.tensor((), _INT) for _ in range(4))
    graph.add("SUB", [total, graph.constant(frame, _INT)], [left], "SubOptions")
    graph.add("FLOOR_DIV", [left, graph.constant(step, _INT)], [whole], "FloorDivOptions")
    graph.add("ADD", [whole, graph.constant(1, _INT)], [count], "AddOptions")
    graph.add("MAXIMUM", [count, axis], [positive], "MaximumMinimumOptions")
    first, begins = (graph.tensor((1,), _INT, signature=(-1,)) for _ in range(2))
    one = graph.constant(1, _INT)
    graph.add("RANGE", [axis, positive, one], [first], "RangeOptions")
    graph.add("MUL", [first, graph.constant(step, _INT)], [begins], "MulOptions")
    column, places = (graph.tensor((1, width), _INT, signature=(-1, width)) for width in (1, frame))
    into = graph.tensor((2,), _INT)
    graph.add("PACK", [positive, one], [into], "PackOptions", valuesCount=2)
    graph.add("RESHAPE", [begins, into], [column], "ReshapeOptions")
    within = graph.constant(np.arange(frame).reshape(1, frame), _INT)
    graph.add("ADD", [column, within], [places], "AddOptions")
    frames = graph.tensor((1, 1, frame), signature=(-1, -1, frame))
    graph.add("GATHER", [signal, places], [frames], "GatherOptions", axis=1)
    result = graph.tensor((1, 1, 3), signature=(-1, -1, 3))
    matrix = graph.constant(weights(3, frame))
    graph.add(
        "FULLY_CONNECTED", [frames, matrix, -1], [result], "FullyConnectedOptions", keepNumDims=True
    )
    return graph, [result]


def test_placeholders_become_the_shapes_that_follow(tmp_path: Path) -> None:
    """The file says [1, 1, 3] of six windows."""
    found = check(*framed(), tmp_path)
    assert found.outputs[0].shape == (1, 6, 3)
    assert not found.unmapped


@pytest.mark.parametrize("activation", [0, 1, 2, 3])
@pytest.mark.parametrize("kind", ["ADD", "SUB", "MUL"])
def test_constants_are_folded_with_their_activation(
    kind: str, activation: int, tmp_path: Path
) -> None:
    graph = GraphFile()
    x = graph.input((1, 4))
    found, wide, output = graph.tensor((4,), _INT), graph.tensor((4,)), graph.tensor((1, 4))
    pair = [graph.constant(each, _INT) for each in ([-7, 3, 0, 9], [2, -2, 1, 4])]
    name = kind.capitalize() + "Options"
    graph.add(kind, pair, [found], name, fusedActivationFunction=activation)
    graph.add("CAST", [found], [wide], "CastOptions", inDataType=2, outDataType=0)
    graph.add("ADD", [x, wide], [output], "AddOptions")
    conversion = check(graph, [output], tmp_path)
    assert "MAXIMUM" not in operations(conversion)


def _folded(kind: str, inputs: list[Any], shape: tuple[int, ...], options: str) -> Any:
    graph = GraphFile()
    x = graph.input((1, *shape))
    found, wide, output = graph.tensor(shape, _INT), graph.tensor(shape), graph.tensor((1, *shape))
    graph.add(kind, [graph.constant(each, _INT) for each in inputs], [found], options)
    graph.add("CAST", [found], [wide], "CastOptions", inDataType=2, outDataType=0)
    graph.add("ADD", [x, wide], [output], "AddOptions")
    return graph, [output]


@pytest.mark.parametrize(
    ("kind", "inputs", "shape", "options"),
    [
        ("FLOOR_DIV", [[-7, 7, 8, -8], [2, -2, 3, 4]], (4,), "FloorDivOptions"),
        ("RANGE", [2, 12, 3], (4,), "RangeOptions"),
        ("RANGE", [5, -4, -2], (5,), "RangeOptions"),
        ("MAXIMUM", [[1, -5, 3], [0, -4, 3]], (3,), "MaximumMinimumOptions"),
    ],
)
def test_what_constants_come_to_is_litert_s(
    kind: str, inputs: list[Any], shape: tuple[int, ...], options: str, tmp_path: Path
) -> None:
    conversion = check(*_folded(kind, inputs, shape, options), tmp_path)
    assert not conversion.unmapped
