# SPDX-License-Identifier: Apache-2.0
"""The demo's verdict, with a device whose answers are made here."""

import io
from collections.abc import Callable, Mapping
from typing import Any, Self

import pytest
from rich.console import Console

from halyard.benchmark_model import BenchmarkModel
from halyard.cli import demo
from halyard.cli.options import device as cli_device
from halyard.devices import CommandResult
from halyard.engines.halyard import HalyardDevice
from halyard.errors import ProgramMissing
from halyard.measurement.measurement import Measurement
from halyard.programs import native
from halyard.proto import halyard_pb2 as pb
from halyard.terminal.console import Terminal


class FakeService:
    instance = "fake"
    pid = 1
    interfaces = ("IDevice/fake",)

    def __init__(self, exit_code: int) -> None:
        self.exit_code = exit_code

    def log(self) -> str:
        return "W/halyard: GpuAcc is not here\n"

    def stop(self) -> int:
        return self.exit_code

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return


class FakeDevice:
    serial = "fake"

    def __init__(self, exit_code: int) -> None:
        self.exit_code = exit_code

    def shell(self, command: str, timeout: float = 60.0) -> CommandResult:
        return CommandResult(command, 0, "", "", 0.0, self.serial)

    def start_service(self, options: object) -> FakeService:
        return FakeService(self.exit_code)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return


Show = Callable[..., tuple[bool, str]]


@pytest.fixture
def show(monkeypatch: pytest.MonkeyPatch) -> Show:
    """Runs the demo; `problem` is that of the run with this number."""
    try:
        native.program("service")
    except ProgramMissing as missing:
        pytest.skip(str(missing))

    def run(problem: Mapping[int, str], exit_code: int = 0) -> tuple[bool, str]:
        count = 0

        def measured(
            engine: HalyardDevice, benchmark_model: BenchmarkModel, **_: Any
        ) -> Measurement:
            nonlocal count
            count += 1
            result = pb.CaseResult(hal_version=engine.options.hal_version)
            problems = [problem[count]] if count in problem else []
            return Measurement(
                benchmark_model, engine.device.serial, {}, result, None, problems=problems
            )

        monkeypatch.setattr(demo, "measure", measured)
        monkeypatch.setattr(cli_device, "open_config", lambda *_: FakeDevice(exit_code))
        shown = io.StringIO()
        terminal = Terminal(Console(file=shown, width=1000, highlight=False))
        return demo.run(terminal, "vm", 32, 0.1).ok, shown.getvalue()

    return run


def test_all_that_went_well_is_said_to(show: Show) -> None:
    ok, text = show({})
    assert ok
    assert "All went well" in text
    assert "FAILED" not in text
    assert "GpuAcc is not here" in text


@pytest.mark.parametrize("number", [1, 4, 11])
def test_one_run_that_failed_is_enough_for_another_verdict(show: Show, number: int) -> None:
    """float32 and quant8 run through four HAL versions, float16 through two, signed through one."""
    ok, text = show({number: "out of luck"})
    assert not ok
    assert "Something went wrong" in text
    assert "All went well" not in text
    assert "out of luck" in text
    # In its step and in the summary.
    assert text.count("FAILED") == 2
    assert text.count("✗") == 1


def test_a_service_that_ends_badly_is_no_success(show: Show) -> None:
    ok, text = show({}, exit_code=139)
    assert not ok
    assert "Something went wrong" in text
    assert "exit code 139" in text
