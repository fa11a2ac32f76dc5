# SPDX-License-Identifier: Apache-2.0
"""halyard.litert.environment(): LiteRT finds both libraries, and what was taken is told."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ai_edge_litert.compiled_model")

from ai_edge_litert.compiled_model import CompiledModel
from ai_edge_litert.hardware_accelerator import HardwareAccelerator

import halyard.litert
from halyard.errors import ConfigError, HalyardError, PackageMissing, ProgramMissing
from halyard.litert import npu_environment
from tests.harness import tflite_models
from tests.harness.tflite_file import GraphFile
from tests.litert.compiling import new_environment, run
from tests.litert.interpreting import apart, inputs_of, interpreter
from tests.litert.interpreting import run as run_interpreter


def _conv_net() -> bytes:
    graph, outputs = tflite_models.conv_net()
    return graph.content(*outputs)


def _in_parts() -> bytes:
    """An operator in the midst that the engine has not."""
    graph = GraphFile()
    source = graph.input((2, 3))
    before, middle, after = (graph.tensor((2, 3)) for _ in range(3))
    graph.add("ADD", [source, source], [before], "AddOptions")
    graph.add("ATAN2", [before, source], [middle])
    graph.add("MUL", [middle, middle], [after], "MulOptions")
    return graph.content(after)


def _of_litert_alone() -> bytes:
    graph = GraphFile()
    source, last = graph.input((2, 3)), graph.tensor((2, 3))
    graph.add("ATAN2", [source, source], [last])
    return graph.content(last)


def test_a_whole_model_is_taken() -> None:
    with new_environment() as npu:
        found = npu.compile(_conv_net(), whole=True)
    assert (found.islands, found.operators, found.left) == (1, 8, ())
    assert found.loaded.packed_constants == 0
    assert found.loaded.compiled_when_loaded == 0


def test_an_environment_that_is_closed_leaves_no_options_behind(tmp_path: Path) -> None:
    before = os.environ.get(npu_environment.OPTIONS)
    with new_environment(report=tmp_path / "report.json"):
        assert "report=" in os.environ[npu_environment.OPTIONS]
    assert os.environ.get(npu_environment.OPTIONS) == before


def test_a_report_that_can_not_be_written_is_told(tmp_path: Path) -> None:
    said = r"the report .*gone/report.json: No such file"
    with (
        new_environment(report=tmp_path / "gone" / "report.json") as npu,
        pytest.raises(HalyardError, match=said),
    ):
        npu.compile(_conv_net())


def test_what_is_left_is_told_with_its_reason() -> None:
    content = _in_parts()
    with new_environment() as npu:
        found = npu.compile(content)
    assert (found.islands, found.operators) == (2, 2)
    assert found.left is not None
    assert [each.operator for each in found.left] == ["operator 1 (ATAN2)"]
    assert "no such operator" in found.left[0].reason
    inputs = inputs_of(interpreter(content), 1)
    assert apart(run(found.model, inputs), run_interpreter(interpreter(content), inputs)) == ""


def test_what_fell_back_is_an_error() -> None:
    """LiteRT runs such a model all the same."""
    with new_environment() as npu:
        with pytest.raises(
            halyard.litert.NotAccelerated, match=r"operator 1 \(ATAN2\): the engine"
        ):
            npu.compile(_in_parts(), whole=True)
        with pytest.raises(halyard.litert.NotAccelerated, match=r"LiteRT runs all.*\(ATAN2\)"):
            npu.compile(_of_litert_alone())


def test_it_stands_for_an_environment_of_litert() -> None:
    with new_environment() as npu:
        before = halyard.litert.counts()
        model = CompiledModel.from_buffer(
            _conv_net(),
            hardware_accel=HardwareAccelerator.NPU | HardwareAccelerator.CPU,
            environment=npu,
        )
        loaded = halyard.litert.counts().since(before)
        assert (loaded.contexts, loaded.live_contexts, loaded.operators) == (1, 1, 8)
        model.close()
        del model
        assert halyard.litert.counts().since(before).live_contexts == 0


def test_files_are_taken_as_bytes_are(tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(_conv_net())
    with new_environment() as npu:
        assert npu.compile(path).operators == 8
        assert npu.compile(str(path)).operators == 8


def test_the_report_gets_a_line_for_each_subgraph(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    with new_environment(report=report) as npu:
        npu.compile(_conv_net())
        npu.compile(_in_parts())
        with pytest.raises(halyard.litert.NotAccelerated):
            npu.compile(_of_litert_alone())
    lines = [json.loads(line) for line in report.read_text().splitlines()]
    assert [(each["taken"], each["operators"]) for each in lines] == [(8, 8), (2, 3), (0, 1)]
    assert {each["processor"] for each in lines} == {"host"}


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"threads": 0}, 'option threads is 1 to 64, not "0"'),
        ({"threads": 65}, 'option threads is 1 to 64, not "65"'),
        ({"processor": "z80"}, 'there is no processor "z80"; there are host, x86_64-sse4'),
        ({"log": "loud"}, "option log is verbose, info, warning or error"),
        ({"report": "a,b"}, "option report can't have a comma"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, object], reason: str) -> None:
    new_environment()
    with pytest.raises(ConfigError) as error:
        halyard.litert.environment(**options)  # type: ignore[arg-type]
    assert reason in str(error.value)


def test_options_of_the_variable_hold_where_nothing_is_given(tmp_path: Path) -> None:
    """The last of two counts, and what is no option at all is refused by both libraries."""
    new_environment()
    program = (
        "import sys, halyard.litert\n"
        "npu = halyard.litert.environment(threads=1)\n"
        "npu.compile(sys.argv[1])\n"
    )
    path = tmp_path / "model.tflite"
    path.write_bytes(_conv_net())

    def run_with(options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", program, str(path)],
            capture_output=True,
            text=True,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(sys.path),
                "HALYARD_LITERT_OPTIONS": options,
            },
        )

    report = tmp_path / "report.json"
    done = run_with(f"report={report},threads=2")
    assert done.returncode == 0, done.stderr[-2000:]
    assert "threads=1" in done.stderr  # in LiteRT's line about the plugin
    assert json.loads(report.read_text())["taken"] == 8
    done = run_with("speed=11")
    assert 'there is no option "speed"' in done.stderr


def test_libraries_that_there_are_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HALYARD_NATIVE_DIR", str(tmp_path))
    with pytest.raises(ProgramMissing, match=r"libLiteRtCompilerPlugin_Halyard\.so is missing"):
        halyard.litert.environment()


@pytest.mark.parametrize("version", ["2.1.6", "1.4.0"])
def test_older_runtimes_are_not_told_of_the_libraries(
    version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_environment().close()
    monkeypatch.setattr(importlib.metadata, "version", lambda _: version)
    with pytest.raises(PackageMissing, match=f"LiteRT {version} has an older vendor interface"):
        halyard.litert.environment()


@pytest.mark.parametrize("version", ["2.2.0", "2.10.0rc1", "3.0"])
def test_newer_runtimes_are(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda _: version)
    new_environment().close()
