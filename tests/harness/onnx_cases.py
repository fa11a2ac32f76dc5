# SPDX-License-Identifier: Apache-2.0
"""Single operators of ONNX, and what they compute: right values are given, or ONNX Runtime's with
its optimiser off."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from halyard import onnx
from halyard.model import Array, Conversion
from tests.harness.on_parts import converted, original
from tests.harness.onnx_models import Graph


@dataclass
class Case:
    opset: int
    build: Callable[[Graph], str]
    inputs: Sequence[Array]
    expected: Array | None = None  # ONNX Runtime's where it is left out
    mapped: bool = True  # whether all of it runs on NNAPI


def conversion_of(case: Case, folder: Path) -> tuple[Conversion, Path]:
    g = Graph(0, case.opset)
    path = folder / "model.onnx"
    path.write_bytes(g.model(case.build(g)).SerializeToString())
    return onnx.read_conversion(path.read_bytes(), path), path


def check(case: Case, folder: Path) -> Conversion:
    conversion, path = conversion_of(case, folder)
    assert (conversion.unmapped == ()) == case.mapped, [each.text() for each in conversion.unmapped]
    [found] = converted(conversion, case.inputs)
    expected = original(path, case.inputs)[0] if case.expected is None else case.expected
    assert found.shape == expected.shape
    if np.issubdtype(expected.dtype, np.floating):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    else:
        np.testing.assert_array_equal(found, expected)
    return conversion


def floats(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype("f4")


def image(g: Graph, values: Array) -> str:
    return g.input("x", values.shape)
