# SPDX-License-Identifier: Apache-2.0
"""What the delegate takes it computes as LiteRT does, and the rest is LiteRT's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert.interpreter")

from halyard import tflite, zoo
from halyard.errors import NotExpressible
from halyard.model import DataType
from tests import random_tflite
from tests.harness import tflite_models
from tests.harness.tflite_file import GraphFile
from tests.litert.interpreting import (
    PLAIN,
    WITH_XNNPACK,
    apart,
    inputs_of,
    interpreter,
    new_delegate,
    plan,
    report_of,
    run,
)
from tests.random_tflite import KINDS
from tests.random_tflite.sketch import Refused

_SMALL = [tflite_models.conv_net, tflite_models.per_channel, tflite_models.half_weights]
_GRAPHS = 2


@pytest.mark.parametrize("kernels", [PLAIN, WITH_XNNPACK])
@pytest.mark.parametrize("make", _SMALL)
def test_small_models_are_taken_whole(
    make: Callable[[], tuple[GraphFile, list[int]]], kernels: object
) -> None:
    """As XNNPACK computes them, whichever kernels the interpreter has: those without it round MEAN
    of INT8 otherwise, and a layer behind it makes more than a step of that."""
    graph, outputs = make()
    content = graph.content(*outputs)
    ours = interpreter(content, new_delegate(), kernels)
    assert plan(ours)[-1] == "DELEGATE"
    inputs = inputs_of(ours, 1)
    expected = run(interpreter(content, kernels=WITH_XNNPACK), inputs)
    assert apart(run(ours, inputs), expected) == ""


def test_the_rest_is_the_runtimes(tmp_path: Path) -> None:
    """An operator in the midst that the engine has not, with one on each side that it has."""
    graph = GraphFile()
    source = graph.input((2, 3))
    before, middle, after = (graph.tensor((2, 3)) for _ in range(3))
    graph.add("ADD", [source, source], [before], "AddOptions")
    graph.add("ATAN2", [before, source], [middle])
    graph.add("MUL", [middle, middle], [after], "MulOptions")
    content = graph.content(after)
    report = tmp_path / "report.json"
    ours = interpreter(content, new_delegate(report=report))
    inputs = inputs_of(ours, 2)
    assert apart(run(ours, inputs), run(interpreter(content), inputs)) == ""
    said = report_of(report)
    assert (said["operators"], said["taken"]) == (3, 2)
    assert [part["runs_on"] for part in said["parts"]] == ["Halyard", "host", "Halyard"]
    assert [part["operations"] for part in said["parts"]] == [["ADD"], ["ATAN2"], ["MUL"]]
    assert [part["outputs"] for part in said["parts"]] == [["t1"], ["t2"], ["t3"]]
    [left] = said["unmapped"]
    assert left["operator"] == "operator 1 (ATAN2)"
    assert "no such operator" in left["reason"]


def test_an_output_inside_of_a_partition_is_there() -> None:
    """What the graph gives and an operator of the partition reads as well."""
    graph = GraphFile()
    source = graph.input((4,))
    inner, last = graph.tensor((4,)), graph.tensor((4,))
    graph.add("ADD", [source, source], [inner], "AddOptions")
    graph.add("MUL", [inner, source], [last], "MulOptions")
    content = graph.content(inner, last)
    ours = interpreter(content, new_delegate())
    assert plan(ours) == ["ADD", "MUL", "DELEGATE"]
    assert [each.tolist() for each in run(ours, [np.array([1, 2, 3, 4], np.float32)])] == [
        [2, 4, 6, 8],
        [2, 8, 18, 32],
    ]


def test_what_follows_from_shapes_is_a_constant() -> None:
    """Of a partition that computes nothing else, too."""
    graph = GraphFile()
    source = graph.input((4, 5))
    shape, last = graph.tensor((2,), "int32"), graph.tensor((4, 5))
    graph.add("SHAPE", [source], [shape], "ShapeOptions", outType=2)
    graph.add("ATAN2", [source, source], [last])
    content = graph.content(shape, last)
    ours = interpreter(content, new_delegate())
    found = run(ours, inputs_of(ours, 1))
    assert found[0].tolist() == [4, 5]
    ours.resize_tensor_input(0, (3, 2))
    ours.allocate_tensors()
    assert run(ours, [np.ones((3, 2), np.float32)])[0].tolist() == [3, 2]


def test_hybrid_weights_are_taken() -> None:
    """LiteRT rounds activations there; Halyard computes what the weights say."""
    random = np.random.default_rng(3)
    graph = GraphFile()
    source = graph.input((3, 8))
    steps = random.integers(-127, 128, (5, 8)).astype(np.int8)
    weights = graph.constant(steps, "int8", 0.01)
    last = graph.tensor((3, 5))
    graph.add("FULLY_CONNECTED", [source, weights, -1], [last], "FullyConnectedOptions")
    ours = interpreter(graph.content(last), new_delegate())
    assert plan(ours)[-1] == "DELEGATE"
    [values] = inputs_of(ours, 4)
    exact = values @ (steps.astype(np.float32) * np.float32(0.01)).T
    assert np.allclose(run(ours, [values])[0], exact, rtol=1e-4, atol=1e-5)


_ZOO = [
    (name, kind)
    for name in zoo.NAMES
    for kind in zoo.data_types(name)
    if kind in (DataType.FLOAT32, DataType.QUANT8_SIGNED)
]


@pytest.mark.parametrize(("name", "kind"), _ZOO)
def test_the_zoos_models(name: str, kind: DataType, tmp_path: Path) -> None:
    sizes = {"qlstm_speech": 8, "lstm_speech": 12, "transformer_encoder": 12}
    model = zoo.build(name, kind, size=sizes.get(name, 32), width=0.35, classes=20)
    try:
        content = tflite.write(model.model)
    except NotExpressible as error:
        pytest.skip(f"no .tflite file: {error}")
    report = tmp_path / "report.json"
    ours = interpreter(content, new_delegate(report=report))
    inputs = inputs_of(ours, 5)
    found = run(ours, inputs)
    said = report_of(report)
    assert said["taken"] >= 0.9 * said["operators"], said["unmapped"]
    # Variables are read and written in one run, by way of a copy; all else is where it lies.
    if "lstm" not in name:
        assert {part["copied_bytes"] for part in said["parts"] if "nodes" in part} == {0}
    expected = run(interpreter(content, kernels=WITH_XNNPACK), inputs)
    if kind is DataType.FLOAT32:
        assert apart(found, expected) == ""
        return
    # A step of one layer decides many of the last.
    for left, right in zip(found, expected, strict=True):
        if left.dtype.itemsize == 1:
            assert np.abs(left.astype(int) - right.astype(int)).mean() < 1.5


def test_random_graphs_give_what_litert_gives(
    steady_seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every kind of operator, some times."""
    report = tmp_path / "report.json"
    delegate = new_delegate(report=report, log="silent")
    taken, left, wrong, reasons = 0, 0, [], set()
    with random_tflite.silence():
        for number in range(_GRAPHS * len(KINDS)):
            try:
                made = random_tflite.graph(steady_seed, number, KINDS[number % len(KINDS)])
            except Refused:
                continue
            label = f"graph {number} ({', '.join(made.kinds)})"
            try:
                found = run(interpreter(made.content, delegate), made.inputs)
            except (RuntimeError, ValueError) as error:
                wrong.append(f"{label}: {error}")
                continue
            said = report_of(report)
            taken, left = taken + said["taken"], left + len(said["unmapped"])
            reasons |= {f"{each['operator']}: {each['reason']}" for each in said["unmapped"]}
            wanted = [made.expected, made.by_xnnpack or made.expected]
            compared = tflite.read_conversion(made.content, Path("random.tflite")).source.compared
            if compared is not None:
                # LiteRT's hybrid kernels round activations, which this file has not.
                wanted.append(run(interpreter(compared), made.inputs))
            problems = [apart(found, each) for each in wanted]
            if all(problems):
                wrong.append(f"{label}: {problems[0]}")
    with capsys.disabled():
        print(f" seed {steady_seed}: {taken} operators taken, {left} left, {len(wrong)} wrong ")
    assert wrong == [], "\n".join(wrong[:8])
    assert taken > left, sorted(reasons)
