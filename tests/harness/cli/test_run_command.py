# SPDX-License-Identifier: Apache-2.0
"""halyard run and save, of models of the zoo and in files, with a device that is made up."""

import json
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from halyard import benchmark_model, reference
from halyard.comparison.reference import Reference
from halyard.devices import Device
from halyard.engines import halyard as halyard_engine
from halyard.engines import litert
from halyard.measurement import measurement
from halyard.model import DataType
from halyard.proto import halyard_pb2 as pb
from halyard.runner.execution import Target
from tests.harness.invoking import Invoke


class FakeRuns:
    """Stands for run_cases: what the device would answer."""

    def __init__(self, answer: Callable[[pb.TestCase], pb.CaseResult]) -> None:
        self.answer = answer
        self.options: list[pb.RunOptions] = []

    def __call__(
        self,
        device: Device,
        cases: Sequence[pb.TestCase],
        options: pb.RunOptions,
        target: Target,
        **_: Any,
    ) -> list[pb.CaseResult]:
        self.options.append(pb.RunOptions.FromString(options.SerializeToString()))
        return [self.answer(case) for case in cases]


SMALL = ("run", "--model", "small_classifier", "--size", "16", "--width", "0.5")


BENCHMARK_MODEL = ("small_classifier", DataType.FLOAT32, 16, 0.5)
needs_litert = pytest.mark.skipif(
    not litert.available(), reason="LiteRT (ai-edge-litert) is not installed"
)


def unknown(case: pb.TestCase) -> pb.CaseResult:
    """Executed, whatever came out."""
    result = pb.CaseResult(name=case.name, prepare_ns=1, hal_version=pb.HAL_VERSION_1_3)
    example = result.examples.add()
    example.timings.add(wall_ns=4_000_000, time_in_driver_ns=3_000_000, time_on_device_ns=2_000_000)
    for buffer in case.examples[0].outputs:
        example.outputs.add(data=bytes(buffer.byte_size))
    return result


def right(case: pb.TestCase) -> pb.CaseResult:
    """The result as numpy computes it."""
    result = unknown(case)
    inputs = benchmark_model.BenchmarkModel(*BENCHMARK_MODEL).runnable.input_arrays(0)
    values = reference.trace(case.model, inputs)
    for output, index in zip(
        result.examples[0].outputs, case.model.main.output_indexes, strict=True
    ):
        output.data = values[index].tobytes()
    return result


def model_with(
    shape: tuple[int, ...] = (2, 4),
    operand_type: int = pb.OPERAND_TYPE_TENSOR_FLOAT32,
    input_index: int = 0,
) -> bytes:
    """A serialised model of one RELU, with something wrong."""
    model = pb.Model()
    for lifetime in (pb.OPERAND_LIFE_TIME_SUBGRAPH_INPUT, pb.OPERAND_LIFE_TIME_SUBGRAPH_OUTPUT):
        model.main.operands.add(type=operand_type, dimensions=shape, lifetime=lifetime)
    model.main.operations.add(type=pb.OPERATION_TYPE_RELU, inputs=[0], outputs=[1])
    model.main.input_indexes.append(input_index)
    model.main.output_indexes.append(1)
    return model.SerializeToString()


def failed(case: pb.TestCase) -> pb.CaseResult:
    return pb.CaseResult(
        name=case.name,
        failed_stage=pb.STAGE_EXECUTE,
        status=pb.ERROR_STATUS_GENERAL_FAILURE,
        message="out of luck",
        hal_version=pb.HAL_VERSION_1_3,
    )


def test_a_failure_on_the_device_exits_with_1_and_is_in_the_json(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(halyard_engine, "run_cases", FakeRuns(failed))
    path = tmp_path / "result.json"
    result = invoke(*SMALL, "--json", path)
    assert result.exit_code == 1
    assert "out of luck" in result.output
    written = json.loads(path.read_text())
    assert (written["ok"], written["failed_stage"], written["status"]) == (
        False,
        "EXECUTE",
        "GENERAL_FAILURE",
    )
    assert written["message"] == "out of luck"
    assert "PROBLEM    execute: GENERAL_FAILURE: out of luck" in result.output


def test_several_hal_versions_give_a_list(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = FakeRuns(failed)
    monkeypatch.setattr(halyard_engine, "run_cases", runs)
    path = tmp_path / "result.json"
    invoke(*SMALL, "--hal", "1.2..1.3", "--mode", "sync", "--repeat", "4", "--json", path)
    assert len(json.loads(path.read_text())) == 2
    assert [options.hal_version for options in runs.options] == [12, 13]
    assert {(options.mode, options.repeat) for options in runs.options} == {(1, 4)}


def test_one_hal_version_that_fails_fails_the_run(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    def first_fails(case: pb.TestCase) -> pb.CaseResult:
        return failed(case) if len(runs.options) == 1 else right(case)

    runs = FakeRuns(first_fails)
    monkeypatch.setattr(halyard_engine, "run_cases", runs)
    result = invoke(*SMALL, "--hal", "1.2..1.3")
    assert result.exit_code == 1
    assert [line[0] for line in result.output.splitlines() if "Running" in line] == ["✗", "✓"]


def test_a_run_that_agrees_exits_with_0_and_says_its_times(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(halyard_engine, "run_cases", FakeRuns(right))
    path = tmp_path / "result.json"
    result = invoke(*SMALL, "--repeat", "1", "--threads", "1", "--json", path)
    assert result.exit_code == 0, result.output
    assert "; 1 run), of which in the driver 3.00 ms, in its backends 2.00 ms" in result.output
    written = json.loads(path.read_text())
    assert written["driver_timings_ms"]["median"] == 3.0
    assert written["device_timings_ms"]["median"] == 2.0
    constants = benchmark_model.BenchmarkModel(*BENCHMARK_MODEL).runnable.constant_bytes
    assert constants > 100_000
    assert written["memory"]["model_constant_bytes"] == constants
    if litert.available():
        assert "LiteRT on this machine" in result.output
        assert written["peer_timings_ms"]["count"] == 1


@needs_litert
def test_a_wrong_result_is_a_failure(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    """The device's result is compared with LiteRT's."""

    def wrong(case: pb.TestCase) -> pb.CaseResult:
        result = right(case)
        values = np.frombuffer(result.examples[0].outputs[1].data, np.float32).copy()
        values[7] += 0.01
        result.examples[0].outputs[1].data = values.tobytes()
        return result

    monkeypatch.setattr(halyard_engine, "run_cases", FakeRuns(wrong))
    result = invoke(*SMALL)
    assert result.exit_code == 1
    assert "PROBLEM    disagrees with LiteRT by more than" in result.output
    assert "logits: max error 0.01" in result.output


def test_a_wrong_result_is_told_with_the_name_of_the_reference(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    shapes = benchmark_model.BenchmarkModel(*BENCHMARK_MODEL).runnable.outputs
    others = [np.full(info.shape, 7, info.dtype) for info in shapes]
    word = Reference("ONNX Runtime", outputs=others, milliseconds=[1.0], threads=1)
    monkeypatch.setattr(measurement, "reference", lambda *_: word)
    result = invoke(*SMALL)
    assert result.exit_code == 1
    assert "PROBLEM    disagrees with ONNX Runtime by more than" in result.output
    assert "LiteRT" not in result.output


def test_without_litert_it_is_said_how_to_get_it(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ai_edge_litert", None)
    monkeypatch.setattr(halyard_engine, "run_cases", FakeRuns(unknown))
    # Of a seed of its own, as references are kept.
    result = invoke(*SMALL, "--seed", "91")
    assert "not compared: LiteRT is not installed: pip install 'halyard[peers]'" in result.output


@pytest.mark.parametrize(
    ("asked", "exit_code", "said"),
    [
        ("GpuAcc", 1, "CpuRef ran 1 of 1 nodes, and only GpuAcc was asked for (GpuAcc is not in"),
        ("GpuAcc,CpuRef", 0, "note       GpuAcc is not in this build of the driver"),
        ("CpuRef", 0, "placement  CpuRef: 1 node in 1 partition"),
        ("CpuRef,GpuAcc", 0, "placement  CpuRef: 1 node in 1 partition"),
    ],
)
def test_the_backend_that_ran_is_one_that_was_asked_for(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, asked: str, exit_code: int, said: str
) -> None:
    def on_cpu_ref(case: pb.TestCase) -> pb.CaseResult:
        result = right(case)
        result.placement.add(label="operation 0", node="Conv2d", backend="CpuRef")
        return result

    monkeypatch.setattr(halyard_engine, "run_cases", FakeRuns(on_cpu_ref))
    result = invoke(*SMALL, "--backends", asked)
    assert result.exit_code == exit_code, result.output
    assert said in result.output
    assert ("not in this build" in result.output) == asked.startswith("GpuAcc")


def test_a_profile_and_the_placement_are_printed(invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    words = ["--repeat", "2", "--profile", "--placement", "--json", str(path)]
    result = invoke(*SMALL, "--device", "host", *words)
    assert result.exit_code == 0, result.output
    assert "all nodes: " in result.output
    assert "0 CONV_2D" in result.output
    assert re.search(r"^lost +bf16 split GEMM on AMX: \d+ nodes: \S", result.output, re.MULTILINE)
    content = json.loads(path.read_text())
    assert len(content["profile"]) == len(content["placement"]) > 1
    assert content["profile"][0]["share_of_peak"] > 0
    assert content["partitions"] == 1
    assert content["bytes_between_partitions"] == 0
    assert content["placement"][0]["kernel"]
    assert any(
        "bf16 split GEMM on AMX: " in row.get("lost_forms", "") for row in content["placement"]
    )


@pytest.mark.parametrize("place", ["missing/result.json", "."])
def test_json_that_can_not_be_written_is_told_before_the_run(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    runs = FakeRuns(failed)
    monkeypatch.setattr(halyard_engine, "run_cases", runs)
    result = invoke(*SMALL, "--json", tmp_path / place)
    assert result.exit_code == 2
    assert runs.options == []


def test_a_full_folder_for_json_is_told(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(halyard_engine, "run_cases", FakeRuns(failed))
    result = invoke(*SMALL, "--json", "/dev/full")
    assert result.exit_code == 1
    assert "Error: /dev/full: No space left on device" in result.output


def test_a_full_temporary_folder_is_told_without_a_traceback(
    invoke: Invoke,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    full_disk: Callable[[Path], Callable[[], None]],
) -> None:
    fill = full_disk(tmp_path / "small")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "small"))
    fill()
    result = invoke(*SMALL)
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    assert "No space left on device" in result.output


@pytest.mark.parametrize(
    "words",
    [
        ["--instance", "x", "--threads", "2"],
        ["--instance", "x"],
        ["--service-name", "x"],
        ["-u", "ADD"],
        ["-d", "/data/dump"],
        ["--device", "vm", "-d", "/data/dump"],
        ["--device", "vm", "--instance", "x", "-n", "y"],
        ["--device", "vm", "-u", "ADD,"],
        ["--device", "vm", "--profile"],
        ["--model", "/no/such/file"],
    ],
    ids=" ".join,
)
def test_options_that_have_no_say_are_refused(invoke: Invoke, words: list[str]) -> None:
    result = invoke("run", "--size", "16", *words)
    assert result.exit_code == 2, result.output


# ---- models in files ----------------------------------------------------------------------------


def test_a_saved_model_is_run_like_the_zoos(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases: list[pb.TestCase] = []

    def remember(case: pb.TestCase) -> pb.CaseResult:
        cases.append(case)
        return right(case)

    monkeypatch.setattr(halyard_engine, "run_cases", FakeRuns(remember))
    path = tmp_path / "model.pb"
    assert invoke("save", *SMALL[1:], path).exit_code == 0
    for words in (SMALL, ("run", "--model", path)):
        result = invoke(*words, "--repeat", "1")
        assert result.exit_code == 0, result.output
    zoos, loaded = cases
    assert zoos.model == loaded.model
    assert zoos.examples == loaded.examples


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff\xff\xff", "no serialised halyard.Model"),
        (b"", "the file is empty"),
        (pb.Model(name="a").SerializeToString(), "without operations"),
        (model_with(shape=(4, 0)), "the extents of these dimensions are not known"),
        (model_with(shape=(2**31, 4)), "which is too much"),
        (model_with(operand_type=pb.OPERAND_TYPE_OEM), "of a type without values"),
        (model_with(input_index=77), "input 0 is operand 77, which is not there"),
    ],
    ids=["garbage", "nothing", "no operations", "unknown shape", "huge", "no values", "no operand"],
)
def test_a_file_that_holds_no_good_model_is_refused(
    invoke: Invoke, tmp_path: Path, content: bytes, said: str
) -> None:
    path = tmp_path / "model.pb"
    path.write_bytes(content)
    result = invoke("run", "--model", path)
    assert result.exit_code == 1
    assert said in result.output


def test_options_of_the_zoo_do_not_go_with_a_file(invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "model.pb"
    path.write_bytes(model_with())
    result = invoke("run", "--model", path, "--type", "quant8")
    assert result.exit_code == 2
    assert "--type is for models of the zoo" in result.output


def test_save_leaves_what_was_there_where_the_disk_is_full(
    invoke: Invoke, tmp_path: Path, full_disk: Callable[[Path], Callable[[], None]]
) -> None:
    fill = full_disk(tmp_path / "small")
    path = tmp_path / "small/model"
    path.write_bytes(b"before")
    fill()
    result = invoke("save", *SMALL[1:], path)
    assert (result.exit_code, "No space left" in result.output) == (1, True)
    assert path.read_bytes() == b"before"
    assert sorted(each.name for each in path.parent.iterdir()) == ["filling", "model"]


def test_save_tells_a_folder_that_is_not_there(invoke: Invoke, tmp_path: Path) -> None:
    assert invoke("save", *SMALL[1:], tmp_path / "missing/model.pb").exit_code == 2


def test_a_missing_program_is_told_with_the_way_out(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HALYARD_NATIVE_DIR", str(tmp_path))
    result = invoke(*SMALL)
    assert result.exit_code == 1
    assert "halyard-runner is missing" in result.output
