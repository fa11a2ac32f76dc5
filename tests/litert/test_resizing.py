# SPDX-License-Identifier: Apache-2.0
"""Interpreters whose inputs change their extents, tensors whose extents only a run tells, variables
that stay, and several interpreters of one delegate."""

from __future__ import annotations

import gc
import threading
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert.interpreter")

from halyard import tflite, zoo
from halyard.model import Array, DataType
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

_ROUNDS = 1000


def _layer() -> bytes:
    """Rows as many as there are."""
    graph = GraphFile()
    source = graph.tensor((1, 8), signature=(-1, 8))
    graph.inputs.append(source)
    hidden, last = (graph.tensor((1, 4), signature=(-1, 4)) for _ in range(2))
    weights = graph.constant(tflite_models.weights(4, 8))
    graph.add("FULLY_CONNECTED", [source, weights, -1], [hidden], "FullyConnectedOptions")
    graph.add("TANH", [hidden], [last])
    return graph.content(last)


def _kilobytes_held() -> int:
    text = Path("/proc/self/status").read_text()
    [line] = [each for each in text.splitlines() if each.startswith("VmRSS:")]
    return int(line.split()[1])


def test_a_thousand_resizes_hold_no_more_memory(tmp_path: Path) -> None:
    content = _layer()
    ours = interpreter(content, new_delegate(report=tmp_path / "report.json"))
    theirs = interpreter(content)
    random = np.random.default_rng(1)

    def resize_once(number: int) -> None:
        rows = number % 17 + 1
        values = random.uniform(-1, 1, (rows, 8)).astype(np.float32)
        for each in (ours, theirs):
            each.resize_tensor_input(0, (rows, 8))
            each.allocate_tensors()
        assert apart(run(ours, [values]), run(theirs, [values])) == ""

    for number in range(_ROUNDS // 5):
        resize_once(number)
    gc.collect()
    before = _kilobytes_held()
    for number in range(_ROUNDS):
        resize_once(number)
    gc.collect()
    assert _kilobytes_held() - before < 3000
    assert "DELEGATE" in plan(ours)


def test_a_thousand_interpreters_hold_no_more_memory() -> None:
    content = _layer()
    delegate = new_delegate()
    values = [np.ones((1, 8), np.float32)]
    expected = run(interpreter(content), values)

    def live(times: int) -> int:
        for _ in range(times):
            assert apart(run(interpreter(content, delegate), values), expected) == ""
        gc.collect()
        return _kilobytes_held()

    before = live(_ROUNDS // 5)
    assert live(_ROUNDS) - before < 3000


@pytest.mark.parametrize("kernels", [PLAIN, WITH_XNNPACK])
def test_behind_tensors_whose_shape_only_a_run_tells(kernels: object, tmp_path: Path) -> None:
    """WHERE tells how many elements are not zero; what is computed of them knows it before it is
    run, none at all included."""
    graph = GraphFile()
    source = graph.input((6,), "bool")
    found = graph.tensor((1, 1), "int64", signature=(-1, 1))
    graph.add("WHERE", [source], [found])
    floats, doubled = (graph.tensor((1, 1), signature=(-1, 1)) for _ in range(2))
    graph.add("CAST", [found], [floats], "CastOptions", inDataType=4, outDataType=0)
    graph.add("MUL", [floats, graph.constant([2.0])], [doubled], "MulOptions")
    content = graph.content(doubled)
    report = tmp_path / "report.json"
    ours = interpreter(content, new_delegate(report=report), kernels)
    said = report_of(report)
    assert [part["operations"] for part in said["parts"] if part["runs_on"] == "Halyard"] == [
        ["MUL"]
    ]
    for bits in (0b000001, 0b111111, 0b101010, 0, 0b000110, 0b111111):
        flags = np.array([bits >> place & 1 for place in range(6)], np.bool_)
        [values] = run(ours, [flags])
        assert values.ravel().tolist() == [2.0 * place for place in range(6) if flags[place]]


def _recurrent(steps: int, units: int) -> bytes:
    """An SVDF, whose state is a variable."""
    graph = GraphFile()
    source = graph.input((2, 3))
    random = np.random.default_rng(6)
    features = graph.constant(random.uniform(-1, 1, (units, 3)).astype(np.float32))
    times = graph.constant(random.uniform(-1, 1, (units, steps)).astype(np.float32))
    state = graph.tensor((2, units * steps), variable=True)
    last = graph.tensor((2, units))
    graph.add("SVDF", [source, features, times, -1, state], [last], "SVDFOptions", rank=1)
    return graph.content(last)


def test_variables_stay_from_run_to_run() -> None:
    content = _recurrent(4, 5)
    ours, theirs = interpreter(content, new_delegate(backends="CpuRef")), interpreter(content)
    assert plan(ours)[-1] == "DELEGATE"
    random = np.random.default_rng(2)
    for turn in range(3):
        for _ in range(6):
            values = [random.uniform(-1, 1, (2, 3)).astype(np.float32)]
            assert apart(run(ours, values), run(theirs, values)) == "", turn
        for each in (ours, theirs):
            each.reset_all_variables()


def test_variables_are_each_interpreters_own() -> None:
    content = _recurrent(4, 5)
    delegate = new_delegate(backends="CpuRef")
    first, second = interpreter(content, delegate), interpreter(content, delegate)
    assert plan(second)[-1] == "DELEGATE"
    values = [np.ones((2, 3), np.float32)]
    for _ in range(3):
        run(first, values)
    assert apart(run(second, values), run(interpreter(content), values)) == ""


def test_a_tuned_kernels_variables_stay_as_well() -> None:
    model = zoo.build("lstm_speech", DataType.FLOAT32, size=8, width=0.35, classes=20)
    content = tflite.write(model.model)
    ours, theirs = interpreter(content, new_delegate()), interpreter(content)
    for turn in range(4):
        values = inputs_of(ours, turn)
        assert apart(run(ours, values), run(theirs, values)) == "", turn


def test_interpreters_of_one_delegate_run_in_several_threads() -> None:
    """With threads of their own, and resizing all the while."""
    graph, outputs = tflite_models.conv_net()
    contents = [graph.content(*outputs), _layer()]
    delegate = new_delegate()
    problems: list[str] = []

    def work(number: int) -> None:
        content = contents[number % 2]
        ours, theirs = interpreter(content, delegate, threads=2), interpreter(content)
        for turn in range(20):
            if number % 2:
                for each in (ours, theirs):
                    each.resize_tensor_input(0, (turn % 5 + 1, 8))
                    each.allocate_tensors()
            values: list[Array] = inputs_of(ours, turn)
            if problem := apart(run(ours, values), run(theirs, values)):
                problems.append(f"{number}, {turn}: {problem}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


def test_the_delegate_may_end_before_the_interpreter() -> None:
    content = _layer()
    ours = interpreter(content, new_delegate())
    gc.collect()
    ours.resize_tensor_input(0, (3, 8))
    ours.allocate_tensors()
    assert run(ours, [np.zeros((3, 8), np.float32)])[0].shape == (3, 4)


def test_errors_name_operator_and_rule() -> None:
    """Extents that do not go together, which only the resizing tells."""
    graph = GraphFile()
    left, right = (graph.input((2, 3)) for _ in range(2))
    last = graph.tensor((2, 3))
    graph.add("ADD", [left, right], [last], "AddOptions")
    ours = interpreter(graph.content(last), new_delegate())
    ours.resize_tensor_input(0, (2, 4))
    with pytest.raises(RuntimeError):
        ours.allocate_tensors()
    ours.resize_tensor_input(1, (2, 4))
    ours.allocate_tensors()
    ones = np.ones((2, 4), np.float32)
    assert run(ours, [ones, ones])[0].tolist() == (2 * ones).tolist()
