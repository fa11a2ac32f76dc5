# SPDX-License-Identifier: Apache-2.0
"""Operators of 8 bits that NNAPI has for other numbers or scales only: within a step of what LiteRT
gives."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert.interpreter")

from tests.harness.tflite_file import GraphFile
from tests.harness.tflite_models import RANDOM, check, operations

# Of what goes in, and of what comes out.
_ONE, _OTHER = (0.02, -3), (0.013, 17)


def _through(kind: str, found: list[str]) -> None:
    assert found[0] == "DEQUANTIZE"
    assert found[-1] == "QUANTIZE"
    assert kind in found[1:-1]


@pytest.mark.parametrize(
    ("kind", "operation", "positive"),
    [
        ("ABS", "ABS", False),
        ("ELU", "ELU", False),
        ("EXP", "EXP", False),
        ("RELU", "RELU", False),
        ("RELU6", "RELU6", False),
        ("RELU_N1_TO_1", "RELU1", False),
        ("SQRT", "SQRT", True),
    ],
)
def test_functions_of_each_element(
    kind: str, operation: str, positive: bool, tmp_path: Path
) -> None:
    graph = GraphFile()
    one = (0.02, -128) if positive else _ONE
    source, output = graph.input((4, 16), "int8", *one), graph.tensor((4, 16), "int8", *_OTHER)
    graph.add(kind, [source], [output])
    _through(operation, operations(check(graph, [output], tmp_path)))


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize(("kind", "operation"), [("MEAN", "MEAN"), ("SUM", "REDUCE_SUM")])
def test_sums_that_are_quantised_anew(
    kind: str, operation: str, keep: bool, tmp_path: Path
) -> None:
    graph = GraphFile()
    source = graph.input((2, 3, 4, 5), "int8", *_ONE)
    output = graph.tensor((2, 1, 1, 5) if keep else (2, 5), "int8", 0.09, 5)
    axes = graph.constant([1, 2], "int32")
    graph.add(kind, [source, axes], [output], "ReducerOptions", keepDims=keep)
    _through(operation, operations(check(graph, [output], tmp_path)))


@pytest.mark.parametrize(("kind", "dtype"), [("DIV", "uint8"), ("SQUARED_DIFFERENCE", "int8")])
def test_two_tensors(kind: str, dtype: str, tmp_path: Path) -> None:
    graph = GraphFile()
    source = graph.input((3, 8), dtype, 0.02, 10)
    other = graph.constant(RANDOM.integers(60, 120, (3, 8)), dtype, 0.03, zero_point=20)
    output = graph.tensor((3, 8), dtype, 0.05, 40)
    options = f"{kind.title().replace('_', '')}Options"
    graph.add(kind, [source, other], [output], options)
    _through("DIV" if kind == "DIV" else "SUB", operations(check(graph, [output], tmp_path)))


@pytest.mark.parametrize("shape", [(4, 12), (2, 3, 12), (12,)])
@pytest.mark.parametrize("activation", [0, 1, 3])
@pytest.mark.parametrize("has_bias", [False, True])
def test_fully_connected_with_a_scale_for_each_unit(
    has_bias: bool, activation: int, shape: Any, tmp_path: Path
) -> None:
    """As today's quantiser writes it: a convolution over one point, whose bytes are LiteRT's."""
    graph = GraphFile()
    source = graph.input(shape, "int8", *_ONE)
    scales = [0.004 + 0.001 * unit for unit in range(7)]
    filters = graph.constant(RANDOM.integers(-127, 128, (7, 12)), "int8", scales)
    steps = [0.02 * each for each in scales]
    bias = graph.constant(RANDOM.integers(-900, 900, 7), "int32", steps) if has_bias else -1
    result = (*shape[:-1], 7) if len(shape) > 1 else (1, 7)
    output = graph.tensor(result, "int8", 0.05, 4)
    graph.add(
        "FULLY_CONNECTED",
        [source, filters, bias],
        [output],
        "FullyConnectedOptions",
        keepNumDims=len(shape) > 2,
        fusedActivationFunction=activation,
    )
    found = operations(check(graph, [output], tmp_path))
    assert "CONV_2D" in found
    assert "FULLY_CONNECTED" not in found


def test_a_classifier_that_follows_such_a_layer(tmp_path: Path) -> None:
    graph = GraphFile()
    source = graph.input((2, 12), "int8", *_ONE)
    scales = list(np.linspace(0.004, 0.01, 5))
    filters = graph.constant(RANDOM.integers(-127, 128, (5, 12)), "int8", scales)
    logits = graph.tensor((2, 5), "int8", 0.06, 4)
    graph.add("FULLY_CONNECTED", [source, filters, -1], [logits], "FullyConnectedOptions")
    output = graph.tensor((2, 5), "int8", 1 / 256, -128)
    graph.add("SOFTMAX", [logits], [output], "SoftmaxOptions", beta=1.0)
    check(graph, [output], tmp_path)
