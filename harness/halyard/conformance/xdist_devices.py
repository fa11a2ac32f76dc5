# SPDX-License-Identifier: Apache-2.0
"""pytest-xdist with a device for each worker. `halyard.pytest_plugin` brings it in where --device
names several.

A worker whose device drops out ends. xdist replaces it, and its replacement has no device and is
given no test; the test that ran runs on another device.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest
from xdist.scheduler import LoadScheduling

from halyard import paths
from halyard.terminal.console import printable

# Where a worker finds its device, and the file that takes its last words.
INPUT = "halyard_device"
_LAST_WORDS = "halyard_last_words"
# Of a worker whose device has dropped out: EX_UNAVAILABLE of sysexits.h.
_UNAVAILABLE = 69
# Devices that one test may bring down.
_DEVICES_PER_TEST = 2


class DeviceScheduling(LoadScheduling):  # type: ignore[misc]
    """Gives tests to the workers that have a device, and ends the others."""

    def add_node(self, node: Any) -> None:
        if node.workerinput[INPUT]:
            super().add_node(node)
        else:
            node.shutdown()

    def _send_tests(self, node: Any, num: int) -> None:
        # One that has gone a moment ago is not known to be down: its tests go to others once it is.
        with contextlib.suppress(OSError):
            super()._send_tests(node, num)

    def add_node_collection(self, node: Any, collection: Sequence[str]) -> None:
        if node in self.node2pending:
            super().add_node_collection(node, collection)


class DeviceWorkers:
    """The pytest plugin, of the process that the workers report to."""

    def __init__(self, config: pytest.Config, devices: Sequence[str]) -> None:
        self._config = config
        self._free = list(devices)
        self._lost: list[tuple[str, str]] = []  # and why
        self._words = paths.Temporary("workers")
        self._crashes: Counter[str] = Counter()

    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[INPUT] = self._free.pop(0) if self._free else ""
        node.workerinput[_LAST_WORDS] = str(self._words.path / node.gateway.id)

    def pytest_testnodedown(self, node: Any, error: object) -> None:
        device = node.workerinput[INPUT]
        if error and device:
            words = Path(node.workerinput[_LAST_WORDS])
            self._lost.append((device, words.read_text() if words.exists() else str(error)))
            left = self._config.option.numprocesses - len(self._lost)
            if not left:
                session: Any = self._config.pluginmanager.get_plugin("dsession")
                session.shouldstop = "all devices have dropped out"

    def pytest_handlecrashitem(self, crashitem: str, report: Any, sched: Any) -> None:
        """The test that ran is run on another device, unless it has brought down two."""
        self._crashes[crashitem] += 1
        if self._crashes[crashitem] < _DEVICES_PER_TEST and sched.nodes:
            sched.mark_test_pending(crashitem)
            report.outcome = "rerun"

    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        return DeviceScheduling(config, log) if config.getvalue("dist") == "load" else None

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for device, reason in self._lost:
            terminalreporter.write_line(f"halyard: {device} has dropped out: {reason}", red=True)

    def pytest_unconfigure(self) -> None:
        self._words.close()


def use_workers(config: pytest.Config, count: int) -> None:
    """A worker for each device, whatever -n says."""
    config.option.numprocesses = count


def drop_out(config: pytest.Config, reason: str, close: Callable[[], object]) -> NoReturn:
    """Ends this worker, as its device is gone. The test that runs has no outcome."""
    words: str = config.workerinput[_LAST_WORDS]  # type: ignore[attr-defined]
    Path(words).write_text(printable(reason.partition("\n")[0]))
    close()
    os._exit(_UNAVAILABLE)
