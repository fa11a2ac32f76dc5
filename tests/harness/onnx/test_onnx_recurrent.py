# SPDX-License-Identifier: Apache-2.0
"""LSTM, RNN and GRU agree with ONNX Runtime, over directions, states and what is left out."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from halyard import onnx
from halyard.model import Conversion
from tests.harness.on_parts import converted, inputs_for, operations, original
from tests.harness.onnx_models import Graph

pytest.importorskip("onnxruntime")

STEPS, BATCH, SIZE, UNITS = 5, 2, 3, 4
DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}


def network(
    g: Graph,
    kind: str,
    direction: str = "forward",
    *,
    steps: int = STEPS,
    bias: bool = True,
    states: str = "computed",
    peepholes: bool = False,
    lengths: Sequence[int] = (),
    **attributes: object,
) -> list[str]:
    """All outputs that it has."""
    gates, count = {"LSTM": 4, "RNN": 1, "GRU": 3}[kind], DIRECTIONS[direction]
    x = g.input("x", (steps, BATCH, SIZE))
    inputs = [
        x,
        g.weights(count, gates * UNITS, SIZE, scale=0.5),
        g.weights(count, gates * UNITS, UNITS, scale=0.5),
        g.weights(count, 2 * gates * UNITS, scale=0.5) if bias else "",
        g.constant(lengths, "i4") if lengths else "",
    ]
    for name in ("h", "c") if kind == "LSTM" else ("h",):
        dims = (count, BATCH, UNITS)
        inputs.append(
            {"computed": lambda n=name, d=dims: g.input(n, d), "none": lambda: ""}.get(
                states, lambda d=dims: g.weights(*d)
            )()
        )
    if peepholes:
        inputs.append(g.weights(count, 3 * UNITS, scale=0.5))
    outputs = 3 if kind == "LSTM" else 2
    return g.ops(
        kind, *inputs, outputs=outputs, hidden_size=UNITS, direction=direction, **attributes
    )


def read(g: Graph, outputs: Sequence[str], folder: Path) -> tuple[Conversion, Path]:
    path = folder / "model.onnx"
    path.write_bytes(g.model(*outputs).SerializeToString())
    return onnx.read_conversion(path.read_bytes(), path), path


def agree(conversion: Conversion, path: Path) -> None:
    inputs = inputs_for(conversion.inputs, 3)
    for wanted, found in zip(original(path, inputs), converted(conversion, inputs), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("states", ["computed", "constant", "none"])
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("kind", ["LSTM", "RNN", "GRU"])
def test_recurrent_network_agrees(kind: str, direction: str, states: str, tmp_path: Path) -> None:
    g = Graph(len(direction))
    conversion, path = read(g, network(g, kind, direction, states=states), tmp_path)
    assert [each.text() for each in conversion.unmapped] == []
    agree(conversion, path)


@pytest.mark.parametrize(("direction", "which"), [*product(DIRECTIONS, range(3))])
def test_outputs_may_be_left_out(direction: str, which: int, tmp_path: Path) -> None:
    g = Graph(which)
    conversion, path = read(g, [network(g, "LSTM", direction)[which]], tmp_path)
    assert not conversion.unmapped
    agree(conversion, path)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_peepholes_are_those_of_the_gates(direction: str, tmp_path: Path) -> None:
    g = Graph(8)
    conversion, path = read(g, network(g, "LSTM", direction, peepholes=True), tmp_path)
    assert not conversion.unmapped
    agree(conversion, path)


@pytest.mark.parametrize("kind", ["LSTM", "RNN", "GRU"])
@pytest.mark.parametrize("opset", [7, 14, 22])
def test_versions_agree(kind: str, opset: int, tmp_path: Path) -> None:
    g = Graph(opset, opset)
    conversion, path = read(g, network(g, kind, "reverse", bias=False), tmp_path)
    assert not conversion.unmapped
    agree(conversion, path)


def test_one_step_and_whole_lengths_agree(tmp_path: Path) -> None:
    g = Graph(6)
    outputs = network(g, "LSTM", "bidirectional", steps=1, lengths=[1, 1])
    conversion, path = read(g, outputs, tmp_path)
    assert not conversion.unmapped
    agree(conversion, path)


@pytest.mark.parametrize("linear", [0, 1])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_gru_resets_before_or_behind_its_product(
    direction: str, linear: int, tmp_path: Path
) -> None:
    g = Graph(6)
    outputs = network(g, "GRU", direction, linear_before_reset=linear)
    conversion, path = read(g, outputs, tmp_path)
    assert not conversion.unmapped
    agree(conversion, path)


@pytest.mark.parametrize("activation", ["Relu", "Sigmoid", "Tanh"])
def test_activations_of_an_rnn_agree(activation: str, tmp_path: Path) -> None:
    g = Graph(6)
    outputs = network(g, "RNN", "bidirectional", activations=[activation, "Tanh"])
    conversion, path = read(g, outputs, tmp_path)
    assert not conversion.unmapped
    agree(conversion, path)


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_batches_may_come_first(kind: str, tmp_path: Path) -> None:
    """Which ONNX Runtime does not do: it is asked with its axes in the other order."""
    plain, turned = Graph(9), Graph(9)
    expected = network(plain, kind, "bidirectional")
    _, path = read(plain, expected, tmp_path)
    names = network(turned, kind, "bidirectional", layout=1)
    for info in turned.inputs:
        dims = [info.type.tensor_type.shape.dim[axis].dim_value for axis in (1, 0, 2)]
        for dim, extent in zip(info.type.tensor_type.shape.dim, dims, strict=True):
            dim.dim_value = extent
    folder = tmp_path / "turned"
    folder.mkdir()
    conversion, _ = read(turned, names, folder)
    assert not conversion.unmapped
    inputs = inputs_for(conversion.inputs, 3)
    steps, *states = original(path, [array.transpose(1, 0, 2) for array in inputs])
    expected_values = [steps.transpose(2, 0, 1, 3), *(each.transpose(1, 0, 2) for each in states)]
    for actual, wanted in zip(converted(conversion, inputs), expected_values, strict=True):
        np.testing.assert_allclose(actual, wanted, rtol=1e-4, atol=1e-5)


def test_lstm_is_one_operation_for_each_direction(tmp_path: Path) -> None:
    g = Graph(6)
    conversion, _ = read(g, network(g, "LSTM", "bidirectional"), tmp_path)
    assert operations(conversion).count("UNIDIRECTIONAL_SEQUENCE_LSTM") == 2


REFUSED = {
    "clip": (
        {"kind": "LSTM", "clip": 0.5},
        "it limits what comes to its gates, and NNAPI limits the cell",
    ),
    "coupled": (
        {"kind": "LSTM", "input_forget": 1},
        "its forget gate follows its input gate, and NNAPI's the other way",
    ),
    "lengths": (
        {"kind": "LSTM", "lengths": [STEPS, 2]},
        "its sequences differ in length, and NNAPI's do not",
    ),
    "activations": (
        {"kind": "LSTM", "activations": ["Sigmoid", "Relu", "Tanh"]},
        "its activations are sigmoid, relu, tanh, and NNAPI's sigmoid, tanh, tanh",
    ),
    "activation": (
        {"kind": "RNN", "activations": ["Softsign"]},
        "its activation is softsign, which NNAPI has not",
    ),
    "gru": (
        {"kind": "GRU", "steps": 129},
        "it has 129 steps, and NNAPI has no operation for it: no more than 128 are composed",
    ),
    "gru_of_another_activation": (
        {"kind": "GRU", "activations": ["Sigmoid", "Relu"]},
        "its activations are sigmoid, relu, and NNAPI's sigmoid, tanh",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_nnapi_does_not_do_runs_on_the_host(name: str, tmp_path: Path) -> None:
    given, reason = REFUSED[name]
    g = Graph(6)
    conversion, path = read(g, network(g, **given), tmp_path)  # type: ignore[arg-type]
    assert [each.reason for each in conversion.unmapped] == [reason]
    agree(conversion, path)
