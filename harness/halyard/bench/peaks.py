# SPDX-License-Identifier: Apache-2.0
"""This machine's peak rates, measured before and after all models."""

from __future__ import annotations

from collections.abc import Sequence

from halyard.bench.bench_report import Report
from halyard.terminal.console import Terminal
from halyard.timing import machine
from halyard.timing.machine import Peak


def measure(terminal: Terminal, counts: Sequence[int]) -> dict[int, Peak]:
    """By the number of threads."""
    with terminal.step("Measuring the machine's peak"):
        return machine.measure_peaks(counts)


def none(counts: Sequence[int]) -> dict[int, Peak]:
    """Of a device that is not this machine: it has no loop for it."""
    return {count: Peak(count, "", 0.0, "", 0.0, 0.0, 0.0) for count in counts}


def measure_again(terminal: Terminal, report: Report) -> None:
    """The better one counts."""
    with terminal.step("Measuring the machine's peak again"):
        for count, peak in report.peaks.items():
            report.peaks[count] = peak.better(machine.measure_peak(count))
