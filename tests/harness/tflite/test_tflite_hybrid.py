# SPDX-License-Identifier: Apache-2.0
"""Operators of float activations and 8-bit weights."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert.interpreter")

from click.testing import CliRunner

from halyard.cli.program import cli
from halyard.engines.litert import Kernels, LiteRt
from halyard.engines.original import run_file, run_source
from halyard.model import Array, Conversion
from tests.harness.on_parts import converted
from tests.harness.tflite_file import GraphFile
from tests.harness.tflite_models import RANDOM, convert, operations, weights


def _values(*shape: int) -> Array:
    return RANDOM.integers(-127, 128, shape)


def _graph(kind: str, per_channel: bool) -> tuple[GraphFile, int]:
    graph = GraphFile()
    if kind == "FULLY_CONNECTED":
        source, output = graph.input((4, 24)), graph.tensor((4, 9))
        filters, channels, axis = _values(9, 24), 9, 0
        options: dict[str, Any] = {"options": "FullyConnectedOptions"}
    else:
        source, output = graph.input((1, 6, 6, 4)), graph.tensor((1, 6, 6, 8))
        depthwise = kind == "DEPTHWISE_CONV_2D"
        filters = _values(1, 3, 3, 8) if depthwise else _values(8, 3, 3, 4)
        channels, axis = 8, 3 if depthwise else 0
        name = "DepthwiseConv2DOptions" if depthwise else "Conv2DOptions"
        options = {"options": name, "strideW": 1, "strideH": 1}
        if depthwise:
            options["depthMultiplier"] = 2
    scales = [0.004 + 0.001 * each for each in range(channels)] if per_channel else [0.01]
    given = [
        source,
        graph.constant(filters, "int8", scales, axis=axis),
        graph.constant(weights(channels)),
    ]
    graph.add(kind, given, [output], **options)
    return graph, output


def _both(found: Conversion, kernels: Kernels) -> tuple[Array, Array, Array]:
    """Of ours, of the file that it is compared with, and of the file itself."""
    random = np.random.default_rng(4)
    inputs = [random.uniform(-1, 1, info.shape).astype(np.float32) for info in found.inputs]
    [ours] = converted(found, inputs)
    engine = LiteRt(kernels=kernels)
    [compared], _ = run_source(engine, found.source, inputs, 1, 0)
    [itself], _ = run_file(engine, found.source.path, inputs, 1, 0)
    return ours, compared, itself


@pytest.mark.parametrize(
    ("kind", "per_channel"),
    [
        ("CONV_2D", False),
        ("CONV_2D", True),
        ("DEPTHWISE_CONV_2D", True),  # LiteRT has it so only
        ("FULLY_CONNECTED", False),
        ("FULLY_CONNECTED", True),
    ],
)
def test_weights_become_floats(kind: str, per_channel: bool, tmp_path: Path) -> None:
    """The same as LiteRT of such a file; its hybrid kernels round activations, by a part of the
    range that is told."""
    graph, output = _graph(kind, per_channel)
    found = convert(graph, [output], tmp_path)
    assert operations(found) == [kind]
    assert not found.unmapped
    [note] = found.notes
    assert note.startswith(f"0 {kind} 't1': 8-bit weights of float activations are widened")
    ours, compared, itself = _both(found, Kernels.REFERENCE)
    np.testing.assert_allclose(ours, compared, 1e-5, 1e-5)
    span = float(np.abs(itself).max())
    assert np.abs(ours - itself).max() < 0.03 * span


def test_tables_become_floats_exactly(tmp_path: Path) -> None:
    graph = GraphFile()
    ids, output = graph.input((5,), "int32"), graph.tensor((5, 7))
    table = graph.constant(_values(2, 7), "int8", 0.02)
    graph.add("EMBEDDING_LOOKUP", [ids, table], [output])
    found = convert(graph, [output], tmp_path)
    given = [np.array([0, 1, 1, 0, 1], np.int32)]
    [ours] = converted(found, given)
    [theirs], _ = run_file(LiteRt(), found.source.path, given, 1, 0)
    np.testing.assert_array_equal(ours, theirs)


def test_weights_that_others_read_as_they_are_stay_for_them(tmp_path: Path) -> None:
    graph = GraphFile()
    source, output = graph.input((2, 6)), graph.tensor((2, 3))
    bytes_ = graph.constant(_values(3, 6), "int8", 0.01)
    graph.add("FULLY_CONNECTED", [source, bytes_, -1], [output], "FullyConnectedOptions")
    real = graph.tensor((3, 6))
    graph.add("DEQUANTIZE", [bytes_], [real], "DequantizeOptions")
    total = graph.tensor((2, 3))
    graph.add("BATCH_MATMUL", [source, real], [total], "BatchMatMulOptions", adjY=True)
    found = convert(graph, [output, total], tmp_path)
    random = np.random.default_rng(4)
    first, second = converted(found, [random.uniform(-1, 1, (2, 6)).astype(np.float32)])
    np.testing.assert_allclose(first, second, 1e-5, 1e-6)


def test_commands_tell_it_and_agree(tmp_path: Path) -> None:
    graph, output = _graph("FULLY_CONNECTED", per_channel=True)
    path = convert(graph, [output], tmp_path).source.path
    done = CliRunner().invoke(cli, ["run", str(path), "--device", "host"])
    assert done.exit_code == 0, done.output
    assert "8-bit weights of float activations are" in " ".join(done.output.split())


def test_weights_that_are_computed_are_for_the_host(tmp_path: Path) -> None:
    graph = GraphFile()
    source, filters = graph.input((2, 6)), graph.input((3, 6), "int8", 0.01, 0)
    output = graph.tensor((2, 3))
    graph.add("FULLY_CONNECTED", [source, filters, -1], [output], "FullyConnectedOptions")
    [unmapped] = convert(graph, [output], tmp_path).unmapped
    assert "a hybrid one, of FLOAT32 activations and INT8 weights" in unmapped.reason
