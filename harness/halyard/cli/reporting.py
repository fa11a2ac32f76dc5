# SPDX-License-Identifier: Apache-2.0
"""The common part of conformance and vts: how they open a driver, and how they end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from halyard.cli.group import INTERRUPTED
from halyard.cli.options.written import WrittenFiles
from halyard.conformance.driver import Driver
from halyard.devices import Wire
from halyard.devices.config import DeviceConfig
from halyard.errors import HalyardError
from halyard.terminal.console import Terminal


@dataclass(frozen=True)
class Opening:
    """A device of the command line, and the driver that is wanted there."""

    name: str
    config: DeviceConfig
    backends: Sequence[str]
    instance: str | None
    wires: Sequence[Wire]

    def open(self, terminal: Terminal, more: Callable[[Driver], str] = lambda _: "") -> Driver:
        """Shows what takes long. `more`: what is told of the driver once it is there."""
        with terminal.step(f"Opening {self.name}") as step:
            driver = Driver.open(
                self.config,
                backends=self.backends,
                instance=self.instance,
                wires=self.wires,
                on_stage=lambda stage, seconds: step.now(f"{stage} {seconds:.1f} s"),
            )
            step.outcome = f"{driver.device.serial}, {driver.targets}{more(driver)}"
        return driver


def ended_by(error: BaseException | None) -> str:
    """A report's note on a run that did not come to its end; empty where it did."""
    if error is None:
        return ""
    return str(error).partition("\n")[0] if isinstance(error, HalyardError) else "interrupted"


def write_reports(
    terminal: Terminal,
    written: WrittenFiles,
    write_json: Callable[[Path], None],
    write_junit: Callable[[Path], None],
) -> None:
    for write, path in ((write_json, written.json_path), (write_junit, written.junit_path)):
        if path is not None:
            write(path)
            terminal.line(f"report: {path}")


def conclude(error: BaseException | None, *, is_good: bool) -> None:
    """The exit code: that of what ended the run, else 1 unless all is good."""
    if isinstance(error, KeyboardInterrupt):
        sys.exit(INTERRUPTED)
    if error is not None:
        raise error
    if not is_good:
        sys.exit(1)
