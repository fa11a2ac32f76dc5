# SPDX-License-Identifier: Apache-2.0
"""The command line: what it refuses, and its exit codes."""

import functools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from halyard import cli, measurement, native, terminal
from halyard.devices import Device
from halyard.errors import ConfigError
from halyard.proto import halyard_pb2 as pb
from halyard.runner import Target

Invoke = Callable[..., Result]


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    runner = CliRunner()
    return lambda *words: runner.invoke(cli.cli, [str(word) for word in words])


@pytest.mark.parametrize(
    "words",
    [
        ["run", "--type", "float64"],
        ["run", "--model", "unknown"],
        ["run", "--repeat", "0"],
        ["run", "--size", "32", "--width", "0.1", "--hal", "1.4"],
        ["run", "--size", "32", "--width", "0.1", "--type", "quant8_signed", "--hal", "1.2"],
        ["run", "--size", "1"],
        ["run", "--width", "-1"],
        ["run", "--size", "32", "--width", "0.1", "--device", "no:device:x"],
        ["run", "--size", "32", "--width", "0.1", "--backends", "CpuRef,"],
        ["push", "/no/such/file", "/data/x"],
        ["vm", "start", "--memory", "1"],
        ["no-such-command"],
    ],
    ids=" ".join,
)
def test_a_wrong_command_line_exits_with_2(invoke: Invoke, words: list[str]) -> None:
    result = invoke(*words)
    assert result.exit_code == 2, result.output
    assert "Error: " in result.output


def test_a_virtual_device_that_does_not_run_is_told(invoke: Invoke) -> None:
    for words in (["vm", "status"], ["vm", "shell", "true"]):
        result = invoke(*words)
        assert result.exit_code == 1
        assert "does not run" in result.output
    assert invoke("vm", "stop").exit_code == 0


def test_devices_lists_host_vm_and_configurations(invoke: Invoke) -> None:
    result = invoke("devices")
    assert result.exit_code == 0
    for word in ("host", "vm", "virtual.yaml"):
        assert word in result.output


@pytest.mark.parametrize("columns", [None, 80])
def test_a_long_path_is_told_in_one_line(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int | None
) -> None:
    folder = tmp_path / ("long" * 40) / ("[er] :x:" * 20)
    folder.mkdir(parents=True)
    path = folder / "phone.yaml"
    path.touch()
    monkeypatch.setattr(native, "device_configs", lambda: folder)
    if columns is not None:
        narrow(monkeypatch, columns)
    assert str(path) in invoke("devices").output.splitlines()


def narrow(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    """A terminal of that many columns."""
    console = functools.partial(Console, width=columns)
    monkeypatch.setattr(terminal, "Console", lambda *_, width, **more: console(**more))


@pytest.mark.parametrize("command", ["devices", "operations"])
def test_tables_fit_80_columns(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str
) -> None:
    monkeypatch.setattr(native, "device_configs", lambda: tmp_path)
    lines = invoke(command).output.splitlines()
    narrow(monkeypatch, 80)
    folded = invoke(command).output.splitlines()
    assert max(map(len, folded)) <= 80
    # Nothing is cut off.
    assert sorted(" ".join(folded).split()) == sorted(" ".join(lines).split())


def test_push_copies_with_the_name_into_a_folder(invoke: Invoke, tmp_path: Path) -> None:
    local = tmp_path / "model.bin"
    local.write_bytes(b"12345")
    result = invoke("push", local, "/data/local/tmp/", "--device", "host")
    assert result.exit_code == 0
    assert "/data/local/tmp/model.bin: 5 bytes" in result.output


@pytest.mark.parametrize(
    ("text", "required", "chosen"),
    [
        (None, 13, [0]),
        ("all", 10, [10, 11, 12, 13]),
        ("all", 12, [12, 13]),
        ("1.1", 10, [11]),
        ("1.0..1.3", 10, [10, 11, 12, 13]),
        ("1.0..1.3", 13, [13]),
    ],
)
def test_hal_versions_are_chosen(text: str | None, required: int, chosen: list[int]) -> None:
    assert cli.select_versions(text, required) == chosen


@pytest.mark.parametrize(
    ("text", "required"), [("1.2", 13), ("1.0..1.1", 12), ("1.3..1.0", 10), ("2.0", 10), ("", 10)]
)
def test_hal_versions_that_can_not_be_are_refused(text: str, required: int) -> None:
    with pytest.raises(ConfigError, match="--hal"):
        cli.select_versions(text, required)


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
    monkeypatch.setattr(measurement, "run_cases", FakeRuns(failed))
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


def test_several_hal_versions_give_a_list(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = FakeRuns(failed)
    monkeypatch.setattr(measurement, "run_cases", runs)
    path = tmp_path / "result.json"
    invoke(*SMALL, "--hal", "1.2..1.3", "--mode", "sync", "--repeat", "4", "--json", path)
    assert len(json.loads(path.read_text())) == 2
    assert [options.hal_version for options in runs.options] == [12, 13]
    assert {(options.mode, options.repeat) for options in runs.options} == {(1, 4)}


def test_json_that_can_not_be_written_is_told(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measurement, "run_cases", FakeRuns(failed))
    result = invoke(*SMALL, "--json", tmp_path / "missing/result.json")
    assert result.exit_code == 1
    assert "No such file" in result.output


def test_a_missing_program_is_told_with_the_way_out(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HALYARD_NATIVE_DIR", str(tmp_path))
    result = invoke(*SMALL)
    assert result.exit_code == 1
    assert "halyard-runner is missing" in result.output
