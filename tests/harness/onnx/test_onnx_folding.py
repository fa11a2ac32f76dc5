# SPDX-License-Identifier: Apache-2.0
"""Operators on constants are computed as their versions say, be they old ones."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from halyard import onnx
from halyard.model import Array
from halyard.onnx.reading.folding import evaluated
from tests.harness.onnx_models import Graph

_NUMBERS = np.arange(6, dtype="f4").reshape(1, 2, 3)
_PADDED = np.pad(_NUMBERS, [(0, 0), (1, 0), (0, 0)])


@pytest.mark.parametrize(
    ("opset", "kind", "inputs", "attributes", "expected"),
    [
        (9, "Slice", [_NUMBERS], {"starts": [1], "ends": [2], "axes": [1]}, _NUMBERS[:, 1:]),
        (11, "Squeeze", [_NUMBERS], {"axes": [0]}, _NUMBERS[0]),
        (11, "Unsqueeze", [np.array(3.0, "f4")], {"axes": [0]}, np.array([3.0], "f4")),
        (11, "Split", [_NUMBERS], {"axis": 1, "split": [1, 1]}, _NUMBERS[:, :1]),
        (11, "ReduceSum", [_NUMBERS], {"axes": [1]}, _NUMBERS.sum(1, keepdims=True)),
        (6, "Clip", [_NUMBERS], {"min": 1.0, "max": 3.0}, _NUMBERS.clip(1, 3)),
        (6, "Pad", [_NUMBERS], {"pads": [0, 1, 0, 0, 0, 0]}, _PADDED),
        (10, "DequantizeLinear", [np.arange(3, dtype="u1"), np.float32(0.5), np.uint8(1)], {},
         np.array([-0.5, 0, 0.5], "f4")),
    ],
)  # fmt: skip
def test_constants_are_computed_as_the_version_of_the_operator_says(
    opset: int,
    kind: str,
    inputs: Sequence[Array],
    attributes: Mapping[str, object],
    expected: Array,
) -> None:
    names = [f"x_{number}" for number in range(len(inputs))]
    outputs = ["y", "z"] if kind == "Split" else ["y"]
    node = helper.make_node(kind, names, outputs, **attributes)
    found = evaluated(node, opset, inputs)[0]
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype


def test_shape_that_an_older_operator_set_computes_is_a_constant(tmp_path: Path) -> None:
    """A batch, taken out of a shape, in the shape of a state of zeros."""
    g = Graph(1, 11)
    x = g.input("x", (3, 4))
    batch = g.op("Unsqueeze", g.op("Gather", g.op("Shape", x), g.constant(0, "i8")), axes=[0])
    zeros = g.op("ConstantOfShape", g.op("Concat", batch, g.ints(4), axis=0))
    path = tmp_path / "model.onnx"
    path.write_bytes(g.model(g.op("Add", x, zeros)).SerializeToString())
    conversion = onnx.read_conversion(path.read_bytes(), path)
    assert not conversion.unmapped
