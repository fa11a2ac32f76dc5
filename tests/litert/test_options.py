# SPDX-License-Identifier: Apache-2.0
"""The options of the delegate, and what is said of those that are none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert.interpreter")

from ai_edge_litert.interpreter import load_delegate

import halyard.litert
from halyard.errors import ConfigError, ProgramMissing
from tests.harness import tflite_models
from tests.harness.tflite_file import GraphFile
from tests.litert.interpreting import inputs_of, interpreter, new_delegate, plan, report_of, run


def _conv_net() -> bytes:
    graph, outputs = tflite_models.conv_net()
    return graph.content(*outputs)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"backends": "Colour"}, r"Colour"),
        ({"backends": "CpuAcc:colour=blue"}, r"colour"),
        ({"backends": ""}, r"the option backends: "),
        ({"threads": -1}, r'the option threads: it is "-1", and may be 0 to 1024'),
        ({"min_nodes": 0}, r'the option min_nodes: it is "0"'),
        ({"log": "loud"}, r"the option log: .*silent, error, warning, info or verbose"),
        ({"permit": ["everything"]}, r"the option permit: .*tiles or processes"),
        ({"cache_dir": "/proc/nothing/here"}, r"/proc/nothing/here: it can't be made"),
    ],
)
def test_wrong_values_are_refused(options: dict[str, Any], said: str) -> None:
    new_delegate()
    with pytest.raises(ConfigError, match=said):
        halyard.litert.delegate(**options)


def test_unknown_options_are_refused_with_those_there_are() -> None:
    new_delegate()
    library = str(halyard.litert.delegate_library())
    with pytest.raises(ValueError, match=r'no option "colour"; there are backends, threads,'):
        load_delegate(library, {"colour": "blue"})


def test_a_folder_that_others_may_write_to_is_no_cache(tmp_path: Path) -> None:
    new_delegate()
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(ConfigError, match="cache"):
        halyard.litert.delegate(cache_dir=folder)


def test_backends_are_those_of_the_list(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    ours = interpreter(_conv_net(), new_delegate(backends=["CpuRef"], report=report))
    assert plan(ours)[-1] == "DELEGATE"
    assert report_of(report)["backends"] == ["CpuRef"]
    assert {name for part in report_of(report)["parts"] for name in part["nodes"]} == {"CpuRef"}


def test_what_only_the_reference_runs_is_left_unless_it_is_named(tmp_path: Path) -> None:
    """SVDF has no tuned kernel."""
    graph = GraphFile()
    source, state = graph.input((2, 3)), graph.tensor((2, 20), variable=True)
    random = np.random.default_rng(6)
    features, times = (
        graph.constant(random.uniform(-1, 1, (5, columns)).astype(np.float32)) for columns in (3, 4)
    )
    last = graph.tensor((2, 5))
    graph.add("SVDF", [source, features, times, -1, state], [last], "SVDFOptions", rank=1)
    content = graph.content(last)
    report = tmp_path / "report.json"
    kept = interpreter(content, new_delegate(report=report))
    assert plan(kept) == ["SVDF"]
    [left] = report_of(report)["unmapped"]
    assert left["reason"] == "CpuAcc has no tuned kernel for Svdf"
    taken = interpreter(content, new_delegate(report=report, backends="CpuAcc,CpuRef"))
    assert plan(taken)[-1] == "DELEGATE"
    assert report_of(report)["unmapped"] == []


def test_small_partitions_are_left(tmp_path: Path) -> None:
    graph = GraphFile()
    source = graph.input((2, 3))
    one, two, three, four = (graph.tensor((2, 3)) for _ in range(4))
    graph.add("ADD", [source, source], [one], "AddOptions")
    graph.add("ATAN2", [one, source], [two])
    graph.add("MUL", [two, two], [three], "MulOptions")
    graph.add("ADD", [three, two], [four], "AddOptions")
    content = graph.content(four)
    report = tmp_path / "report.json"
    ours = interpreter(content, new_delegate(min_nodes=2, report=report))
    said = report_of(report)
    assert [part["operations"] for part in said["parts"]] == [["ADD", "ATAN2"], ["MUL", "ADD"]]
    reasons = {each["operator"]: each["reason"] for each in said["unmapped"]}
    assert reasons["operator 0 (ADD)"] == "its partition has 1 operator, and min_nodes is 2"
    inputs = inputs_of(ours, 1)
    assert np.allclose(run(ours, inputs)[0], run(interpreter(content), inputs)[0])


def test_the_report_is_text_or_json_by_its_name(tmp_path: Path) -> None:
    text = tmp_path / "report.txt"
    ours = interpreter(_conv_net(), new_delegate(report=text))
    assert "8 of 8 operators in 1 partition\n" in text.read_text()
    assert "copied" not in text.read_text()
    run(ours, inputs_of(ours, 1))
    assert "0 bytes copied by a run" in text.read_text()


def test_the_profile_has_a_line_for_each_node(tmp_path: Path) -> None:
    profile = tmp_path / "profile.txt"
    ours = interpreter(_conv_net(), new_delegate(profile=profile))
    for _ in range(3):
        run(ours, inputs_of(ours, 1))
    assert not profile.exists()
    del ours
    lines = profile.read_text().splitlines()
    assert lines[0].startswith("3 runs, ")
    assert any("operator 0 (CONV_2D)" in line for line in lines)


def test_threads_of_the_interpreter_are_taken_unless_told(tmp_path: Path) -> None:
    for threads in (None, 0, 1, 2):
        ours = interpreter(_conv_net(), new_delegate(threads=threads), threads=2)
        assert run(ours, inputs_of(ours, 1))[0].shape == (1, 10)


def test_a_library_that_there_is_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HALYARD_NATIVE_DIR", str(tmp_path))
    with pytest.raises(ProgramMissing, match=r"libhalyard_delegate\.so is missing"):
        halyard.litert.delegate()


def test_without_a_runtime_the_module_is_there_and_says_so() -> None:
    new_delegate()
    program = (
        "import sys, importlib.util\n"
        "found = importlib.util.find_spec\n"
        "runtimes = 'ai_edge_litert', 'tflite_runtime', 'tensorflow'\n"
        "importlib.util.find_spec = "
        "lambda name, *more: None if name in runtimes else found(name, *more)\n"
        "import halyard.litert\n"
        "assert not any(name in sys.modules for name in runtimes)\n"
        "try:\n    halyard.litert.delegate()\n"
        "except halyard.errors.PackageMissing as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert "pip install" in done.stdout, done.stderr
