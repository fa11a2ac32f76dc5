# SPDX-License-Identifier: Apache-2.0
"""Halyard in LiteRT's runtime as an engine: what it took is told, and a process that dies, too."""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert.interpreter")

from halyard import zoo
from halyard.benchmark_model import FileModel
from halyard.devices import LiteRtDevice
from halyard.engines import libraries, litert_delegate
from halyard.engines.engine import EngineMissing, EngineRefused
from halyard.engines.in_litert import InLiteRt
from halyard.engines.litert_delegate import LiteRtDelegate
from halyard.engines.litert_options import LiteRtOptions
from halyard.engines.litert_report import Report
from halyard.engines.litert_runs import LiteRtRuns
from halyard.engines.placement import refusals, shares
from halyard.engines.served import EngineDied
from halyard.engines.workload import Workload
from halyard.errors import ConfigError, HalyardError, ProgramMissing
from halyard.litert import delegate_library
from halyard.measurement.measurement import measure
from halyard.model import DataType
from halyard.programs.driver_options import DEFAULT, DriverOptions
from halyard.proto import halyard_pb2 as pb
from tests.harness.in_litert import STRANGE, chain, integers

try:
    delegate_library()
except ProgramMissing as missing:
    pytest.skip(str(missing), allow_module_level=True)

DOOR = "litert-delegate"
ONE_THREAD = DriverOptions(threads=1)


def runs(driver: DriverOptions = ONE_THREAD, **options: Any) -> LiteRtRuns:
    return LiteRtRuns(LiteRtDevice(DOOR), pb.RunOptions(**options), driver)


@pytest.fixture(scope="module")
def work() -> Iterator[Workload]:
    model = zoo.build("small_classifier", DataType.FLOAT32, size=16, width=0.35)
    with Workload.seeded(model, 3) as made:
        yield made


# ---- what was taken -----------------------------------------------------------------------------


def test_operators_that_halyard_has_not_are_rows_of_the_host_with_the_reason(
    tmp_path: Path,
) -> None:
    model = FileModel(chain(tmp_path, "ABS", STRANGE, "NEG", "ABS"))
    found = measure(runs(), model, count=3)
    assert found.ok, found.problems
    rows = found.result.placement
    assert [row.node for row in rows] == ["ABS", STRANGE, "NEG", "ABS"]
    assert [row.backend for row in rows] == ["CpuAcc", "host", "CpuAcc", "CpuAcc"]
    assert [row.partition for row in rows] == [0, 1, 2, 2]
    assert found.result.partitions == 3
    [(backend, reason, count)] = refusals(rows)
    assert (backend, count) == ("Halyard", 1)
    assert reason
    assert rows[1].label == f"operator 1 ({STRANGE})"
    assert found.result.version_string.startswith("Halyard ")
    assert ", LiteRT " in found.result.version_string
    assert found.differences is not None
    assert max(each.max_abs_error for each in found.differences) < 1e-5
    assert found.wall is not None
    assert len(found.wall.values) == 3
    assert (found.hal, found.device) == ("", DOOR)


def test_a_model_of_which_nothing_is_taken_is_a_failure_with_the_reasons(tmp_path: Path) -> None:
    found = measure(runs(), FileModel(chain(tmp_path, STRANGE, STRANGE)), count=2)
    [problem] = found.problems
    assert problem.startswith("prepare: Halyard did not take any of the model's 2 operators: "), (
        problem
    )
    assert STRANGE in problem
    assert found.wall is None
    assert not found.result.examples
    assert [row.backend for row in found.result.placement] == ["host", "host"]


def test_inputs_and_outputs_are_those_of_the_file(tmp_path: Path) -> None:
    """Also of one whose int64 no part of NNAPI's has."""
    model = FileModel(integers(tmp_path))
    found = measure(runs(), model)
    assert found.ok, found.problems
    [given], [outputs] = model.input_arrays(), found.outputs or []
    assert given.dtype == np.int64
    np.testing.assert_array_equal(outputs, 2 * given.astype(np.float32))


def report(**graph: Any) -> Report:
    return Report.decode(json.dumps({"halyard": "1.0", "graphs": [graph]}).encode())


PART = {"runs_on": "Halyard", "operations": ["ADD", "MUL"], "nodes": {"GpuAcc": 1, "CpuAcc": 1}}


def test_a_part_of_two_backends_is_told_as_that(work: Workload) -> None:
    result = pb.CaseResult(version_string="2.3")
    report(operators=2, taken=2, parts=[{**PART, "copied_bytes": 24}]).into(result, [])
    [share] = shares(result.placement)
    assert (share.backend, share.nodes) == ("GpuAcc+CpuAcc", 2)
    assert result.bytes_between_partitions == 24


def test_a_backend_that_is_asked_for_and_not_there_refuses_all(work: Workload) -> None:
    result = pb.CaseResult()
    there = {"operators": 2, "backends": ["CpuAcc"]}
    part = {**PART, "nodes": {"CpuAcc": 2}}
    report(**there, taken=2, parts=[part]).into(result, ["GpuAcc:device=1", "CpuAcc"])
    reason = "it is not in this build, or not on this machine"
    assert refusals(result.placement) == [("GpuAcc", reason, 2)]
    nothing = pb.CaseResult(examples=[pb.ExampleResult()])
    left = [{"operator": "operator 0 (ADD)", "reason": "no backend runs it"}] * 2
    host = {"runs_on": "host", "operations": ["ADD", "ADD"]}
    report(**there, taken=0, parts=[host], unmapped=left).into(nothing, ["GpuAcc"])
    assert nothing.message == (
        f"Halyard did not take any of the model's 2 operators: GpuAcc: {reason}; "
        "ADD: no backend runs it"
    )
    assert nothing.failed_stage == pb.STAGE_PREPARE


def test_a_run_without_a_report_is_no_result_however_often_it_is_asked(
    work: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be LiteRT's own."""
    monkeypatch.setattr(Report, "read", _no_report)
    with InLiteRt(DOOR, ONE_THREAD).prepare(work) as process:
        for _ in range(2):
            assert process.prepared().message == "report.json: no report"
            with pytest.raises(EngineRefused, match="no report"):
                process.run()


def _no_report(path: Path) -> Report:
    raise HalyardError(f"{path.name}: no report")


@pytest.mark.parametrize("content", ["", "[]", '{"halyard": "1"}', '{"halyard": 1, "graphs": []}'])
def test_a_report_that_is_none_is_refused(content: str, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(content)
    with pytest.raises(HalyardError, match="gave no report of what it took"):
        Report.read(path)
    with pytest.raises(HalyardError, match="gave no report of what it took"):
        Report.read(tmp_path / "nowhere")


# ---- options ------------------------------------------------------------------------------------


def test_options_reach_the_delegate(
    work: Workload, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the process is told them, and by the process."""
    driver = DriverOptions(("CpuRef", "CpuAcc"), threads=3, fast_math=True)
    words = [*map(str, InLiteRt(DOOR, driver, "kept").command(*[tmp_path] * 3))]
    assert words[1:4] == ["-m", "halyard.engines.worker", DOOR]
    given: dict[str, Any] = {}

    def stand_in(**options: Any) -> Any:
        given.update(options)
        raise ConfigError("enough")

    monkeypatch.setattr(litert_delegate, "delegate", stand_in)
    library = libraries.library(DOOR, int(words[6]), words[7])
    with pytest.raises(EngineRefused, match="enough"):
        library.load(work.tflite())
    given.pop("runtime")
    assert given == {
        "backends": ("CpuRef", "CpuAcc"),
        "threads": 3,
        "fast_math": True,
        "cache_dir": str(Path("kept").absolute()),
        "report": str(tmp_path),
    }


def test_threads_that_are_not_told_are_one_for_each_core(tmp_path: Path) -> None:
    words = InLiteRt(DOOR).command(*[tmp_path] * 3)
    assert words[6] == str(os.cpu_count())


def test_the_backend_that_is_asked_for_runs_it(work: Workload) -> None:
    for names in (["CpuRef"], ["CpuAcc"]):
        with InLiteRt(DOOR, DriverOptions(names, threads=1)).prepare(work) as process:
            assert {row.backend for row in process.prepared().placement} == {*names}


def test_what_does_not_reach_into_the_runtime_is_refused() -> None:
    with pytest.raises(ConfigError, match="has no way for ADD"):
        InLiteRt(DOOR, DriverOptions(unsupported=["ADD"]))
    with pytest.raises(ConfigError, match="has no way for --gpu-profiling"):
        InLiteRt(DOOR, DriverOptions(more=["--gpu-profiling"]))


def test_words_that_the_delegate_does_not_know_are_a_failure_with_its_own(work: Workload) -> None:
    with InLiteRt(DOOR, DriverOptions(["Nix"], threads=1)).prepare(work) as process:
        found = process.prepared()
    assert found.failed_stage == pb.STAGE_PREPARE
    assert 'there is no backend "Nix"' in found.message


def test_a_library_that_is_not_there_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HALYARD_NATIVE_DIR", str(tmp_path))
    with pytest.raises(EngineMissing, match=r"libhalyard_delegate\.so"):
        InLiteRt(DOOR)


# ---- processes that die -------------------------------------------------------------------------


def dying(code: str) -> Callable[..., Sequence[str]]:
    return lambda *_: [sys.executable, "-c", code]


def test_a_process_that_dies_as_it_prepares_is_a_result(
    work: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = (
        "import os, sys; print('a bad graph', file=sys.stderr, flush=True); "
        "os.kill(os.getpid(), 11)"
    )
    monkeypatch.setattr(InLiteRt, "command", dying(code))
    with runs().prepare(work) as prepared:
        result = prepared.report(1)
    assert result.failed_stage == pb.STAGE_PREPARE
    assert result.message.endswith("killed by signal 11: a bad graph")


def test_a_process_that_dies_as_it_executes_is_a_result(work: Workload) -> None:
    with runs().prepare(work) as prepared:
        process = prepared.process
        assert process.prepared().failed_stage == pb.STAGE_NONE
        os.kill(process.pid, signal.SIGKILL)
        result = prepared.report(3)
    assert result.failed_stage == pb.STAGE_EXECUTE
    assert "signal 9" in result.message
    assert not result.examples, "its first execution is no answer"


def test_its_files_are_gone_with_it(work: Workload) -> None:
    process = InLiteRt(DOOR, ONE_THREAD).prepare(work)
    with process:
        process.prepared()
        folder = process.folder
        assert {each.name for each in folder.iterdir()} == {"inputs", "report.json"}
    assert not folder.exists()


# ---- files, as libraries load them --------------------------------------------------------------


def test_a_file_is_loaded_bound_and_run_again_with_other_inputs(tmp_path: Path) -> None:
    path = chain(tmp_path, "NEG", extents=(2, 3))
    with InLiteRt(DOOR, ONE_THREAD).load(path, [(4, 3)]) as loaded:
        assert [info.shape for info in loaded.tensors.inputs] == [(4, 3)]
        with pytest.raises(EngineRefused, match="it has no inputs"):
            loaded.run()
        with pytest.raises(EngineRefused, match="LiteRT does not take the inputs"):
            loaded.bind([b"12345678"])
        for value in (1.0, 2.0):
            loaded.bind([np.full((4, 3), value, np.float32).tobytes()])
            [found] = loaded.run()
            assert found.shape == (4, 3)
            assert {*found.flat} == {-value}
        assert len(loaded.time(2)) == 2


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.tflite"
    path.write_bytes(b"nonsense")
    with pytest.raises(EngineRefused, match="LiteRT does not take the model"):
        InLiteRt(DOOR, DEFAULT).load(path)


def test_in_this_process_it_is_a_library(work: Workload, tmp_path: Path) -> None:
    asked = LiteRtOptions(report=str(tmp_path / "report.json"))
    library = LiteRtDelegate(1, asked)
    assert library.otherwise() is None
    with library.prepare(work) as loaded:
        loaded.run()
        assert Report.read(tmp_path / "report.json").graphs


def test_an_execution_that_fails_is_told(work: Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    with runs().prepare(work) as prepared:
        result = pb.CaseResult(failed_stage=pb.STAGE_EXECUTE, message="no")
        monkeypatch.setattr(prepared.process, "_answer", lambda *_: result)
        good = pb.CaseResult(examples=[pb.ExampleResult()])
        monkeypatch.setattr(prepared.process, "_prepared", good)
        found = prepared.report(1)
        assert found.failed_stage == pb.STAGE_EXECUTE
        assert "an execution failed: no" in found.message
        with pytest.raises(EngineDied):
            prepared.time(1)
